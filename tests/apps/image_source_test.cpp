// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// How `corr` reads the images of an ensemble ahead, and its results for them on the CPU.
#include <gmock/gmock.h>

#include <chrono>
#include <set>

#include "tests/apps/ensemble_suite.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {
namespace {

using std::filesystem::path;
using testing::HasSubstr;
using testing::IsEmpty;

class ImageSources : public testing::Test {
  protected:
    static constexpr std::size_t image_bytes = 8 * 10 * sizeof(float);

    std::vector<path> images(unsigned count) {
        std::vector<path> files;
        for (unsigned i = 0; i < count; ++i) {
            files.push_back(write_noise(folder_ / (std::to_string(i) + ".pgm"), i, {8, 10}, false));
        }
        return files;
    }
    /// The number of arrays that a source allocates before its first image is requested. Waits for
    /// `expected` arrays, then a little longer for unexpected ones.
    static std::uint64_t allocations_of(const std::vector<path>& files, const ReadAhead& ahead,
                                        std::uint64_t expected) {
        const std::uint64_t before = core::host_allocations();
        const ImageSource source(files, ahead);
        const core::Stopwatch watch;
        while (core::host_allocations() - before < expected && watch.seconds() < 10) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return core::host_allocations() - before;
    }
    aperture::tests::TemporaryFolder folder_;
};

TEST_F(ImageSources, KeepTheOrderOfFilesWhateverTheirSizes) {
    std::vector<path> files;
    for (unsigned i = 0; i < 60; ++i) {
        const corr::Shape shape = i % 5 == 0 ? corr::Shape{90, 100} : corr::Shape{3, 2};
        files.push_back(write_noise(folder_ / (std::to_string(i) + ".pgm"), i, shape, i % 2 == 0));
    }
    for (const int threads : {1, 3, 16}) {
        for (const std::size_t most_images : {std::size_t{1}, std::size_t{2}, std::size_t{50}}) {
            ImageSource source(files, {.threads = threads, .most_images = most_images});
            for (const path& file : files) {
                auto loaded = source.next();
                ASSERT_TRUE(loaded);
                EXPECT_EQ(loaded->file, file);
                EXPECT_THAT(loaded->fault, IsEmpty());
                const media::Image expected = media::read_image(file);
                EXPECT_EQ(loaded->image.planes.extent(), expected.planes.extent());
                EXPECT_TRUE(aperture::tests::same_bytes(loaded->image.planes, expected.planes));
                source.recycle(std::move(loaded->image));
            }
            EXPECT_FALSE(source.next());
            EXPECT_FALSE(source.next());
        }
    }
}

TEST_F(ImageSources, SayWhereAFaultIs) {
    std::vector<path> files = images(9);
    // Includes the first files, after which the size of images is still unknown.
    for (const std::size_t bad : {0u, 1u, 5u}) std::ofstream(files[bad]) << "no image";
    files.push_back(folder_ / "none.pgm");
    ImageSource source(files, {.threads = 4, .most_images = 8});
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto loaded = source.next();
        ASSERT_TRUE(loaded);
        EXPECT_EQ(loaded->file, files[i]);
        if (i == 0 || i == 1 || i == 5 || i == 9) {
            EXPECT_THAT(loaded->fault, HasSubstr(files[i].string() + ": "));
        } else {
            EXPECT_THAT(loaded->fault, IsEmpty());
            EXPECT_TRUE(aperture::tests::same_bytes(loaded->image.planes,
                                                    media::read_image(files[i]).planes));
        }
        source.recycle(std::move(loaded->image));
    }
    EXPECT_FALSE(source.next());
}

TEST_F(ImageSources, ReadAheadAsFarAsTheyMay) {
    const auto files = images(30);
    EXPECT_EQ(allocations_of(files, {.threads = 3, .most_images = 7}, 7), 7);
    EXPECT_EQ(allocations_of(files, {.threads = 7, .most_images = 3}, 3), 3);
    const ReadAhead four_fit{.threads = 3, .most_images = 30, .most_bytes = 5 * image_bytes - 1};
    EXPECT_EQ(allocations_of(files, four_fit, 4), 4);
    EXPECT_EQ(allocations_of(files, {.threads = 3, .most_images = 30, .most_bytes = 1}, 1), 1);
    EXPECT_EQ(allocations_of(files, {.threads = 3, .most_images = 50}, 30), 30);
}

TEST_F(ImageSources, UseMemoryAgain) {
    const auto files = images(40);
    const std::uint64_t before = core::host_allocations();
    ImageSource source(files, {.threads = 3, .most_images = 5});
    std::set<const float*> blocks;
    while (auto loaded = source.next()) {
        blocks.insert(loaded->image.planes.data());
        source.recycle(std::move(loaded->image));
    }
    // Five images read ahead, and the caller's.
    EXPECT_LE(core::host_allocations() - before, 6);
    EXPECT_LE(blocks.size(), 6);
}

TEST_F(ImageSources, MayEndBeforeTheirImages) {
    const auto files = images(40);
    for (std::size_t taken = 0; taken < 12; ++taken) {
        ImageSource source(files, {.threads = 4, .most_images = 6});
        for (std::size_t i = 0; i < taken; ++i) EXPECT_EQ(source.next()->file, files[i]);
    }
    EXPECT_FALSE(ImageSource({}, {.threads = 4, .most_images = 6}).next());
}

TEST_F(ImageSources, ThrowWhatIsNoFaultOfAnImage) {
    if (core::gpu_status().usable) GTEST_SKIP() << "pages can be locked here";
    ImageSource source(images(3), {.threads = 2, .most_images = 2, .pages = core::Pages::locked});
    for (int i = 0; i < 3; ++i) EXPECT_THROW(source.next(), core::DeviceError);
    EXPECT_FALSE(source.next());
}

TEST(Ensembles, AreOfTheirImages) {
    core::Cpu cpu(3);
    expect_ensembles_of_their_images(cpu, cpu);
}

}  // namespace
}  // namespace aperture::apps::tests
