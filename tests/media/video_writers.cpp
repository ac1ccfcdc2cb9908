// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/media/video_file.hpp"
#include "aperture/media/video_writer.hpp"
#include "tests/media/image_bytes.hpp"

namespace aperture::media::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if APERTURE_OPENCV

using Levels = core::View<const std::uint8_t, 2, core::Host>;

/// Colours of the left and the right half of a frame.
constexpr Colour left{200, 40, 40};
Colour right(int frame) {
    const auto level = static_cast<std::uint8_t>(60 + 20 * frame);
    return {level, level, level};
}

Picture halves(int width, int height, int frame) {
    Picture picture(width, height, left);
    for (int y = 0; y < height; ++y) {
        for (int x = width / 2; x < width; ++x) picture.at(x, y) = right(frame);
    }
    return picture;
}

void write_halves(const std::filesystem::path& file, int width, int height, int frames,
                  double rate) {
    VideoWriter writer(file, width, height, rate);
    for (int i = 0; i < frames; ++i) writer.write(halves(width, height, i));
    writer.finish().commit();
}

void expect_colour(const Image& image, index_t row, index_t column, Colour colour) {
    constexpr double loss = 8;  // of a flat surface in H.264 or MPEG-4, in levels
    for (index_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(image.planes(c, row, column), colour[static_cast<std::size_t>(c)], loss)
            << "channel " << c;
    }
}

TEST(VideoWriter, WritesWhatReadersRead) {
    const TemporaryFolder folder;
    constexpr int frames = 7;
    write_halves(folder / "a.mp4", 64, 48, frames, 12.5);
    EXPECT_THAT(folder.entries(), ElementsAre("a.mp4"));
    VideoReader reader(folder / "a.mp4");
    EXPECT_EQ(reader.claimed_frames(), frames);
    EXPECT_NEAR(reader.frames_per_second(), 12.5, 1e-6);
    for (int i = 0; i < frames; ++i) {
        const auto image = next_image(reader);
        ASSERT_TRUE(image.has_value()) << i;
        EXPECT_EQ(image->planes.extent(), (core::Extents<3>{3, 48, 64}));
        expect_colour(*image, 24, 12, left);
        expect_colour(*image, 24, 52, right(i));
    }
    EXPECT_FALSE(next_image(reader).has_value());
}

TEST(VideoWriter, MakesOddSizesOfColourEven) {
    const TemporaryFolder folder;
    for (const auto& [width, height] : {std::array{33, 21}, std::array{1, 1}, std::array{2, 3}}) {
        write_halves(folder / "a.mp4", width, height, 2, 0);
        VideoReader reader(folder / "a.mp4");
        EXPECT_EQ(reader.frames_per_second(), 25);
        const auto image = next_image(reader);
        ASSERT_TRUE(image.has_value()) << width << 'x' << height;
        EXPECT_EQ(image->planes.extent(),
                  (core::Extents<3>{3, height + height % 2, width + width % 2}));
        // Two neighbouring pixels share their chroma, so single pixels lose their colours.
        if (width > 2) expect_colour(*image, height, width, right(0));
    }
}

TEST(VideoWriter, LosslessGreyKeepsEveryGreyAndTheSize) {
    const TemporaryFolder folder;
    constexpr int frames = 9;
    constexpr auto grey = [](index_t i, index_t y, index_t x) {
        return static_cast<std::uint8_t>(x * 7 + y * 13 + i * 31 + x / 6 % 2 * 128);
    };
    for (const auto& [width, height] : {std::array{64, 48}, std::array{33, 21}, std::array{1, 1}}) {
        VideoWriter writer(folder / "a.mkv", width, height, 12.5, VideoCoding::lossless_grey);
        for (int i = 0; i < frames; ++i) {
            // Columns first, and more than the frame has.
            core::Array<std::uint8_t, 2> levels({width + 1, height + 2});
            for (int y = 0; y < height; ++y) {
                for (int x = 0; x < width; ++x) levels(x, y) = grey(i, y, x);
            }
            writer.write(Levels(levels.data(), {height, width}, {1, height + 2}));
        }
        writer.finish().commit();
        VideoReader reader(folder / "a.mkv");
        EXPECT_NEAR(reader.frames_per_second(), 12.5, 1e-6);
        for (index_t i = 0; i < frames; ++i) {
            const auto image = next_image(reader);
            ASSERT_TRUE(image.has_value()) << i;
            ASSERT_EQ(image->planes.extent(), (core::Extents<3>{3, height, width}));
            for (index_t y = 0; y < height; ++y) {
                for (index_t x = 0; x < width; ++x) {
                    for (index_t c = 0; c < 3; ++c) {
                        ASSERT_EQ(image->planes(c, y, x), grey(i, y, x))
                            << i << ' ' << y << ' ' << x;
                    }
                }
            }
        }
        EXPECT_FALSE(next_image(reader).has_value());
    }
}

TEST(VideoWriter, SameFramesGiveTheSameBytes) {
    const TemporaryFolder folder;
    const auto bytes = [&](VideoCoding coding, const auto& frame) {
        VideoWriter writer(folder / "a", 64, 48, 25, coding);
        for (int i = 0; i < 9; ++i) writer.write(frame(i));
        writer.finish().commit();
        return read_bytes(folder / "a");
    };
    const auto picture = [](int frame) { return halves(64, 48, frame); };
    EXPECT_EQ(bytes(VideoCoding::lossy, picture), bytes(VideoCoding::lossy, picture));
    core::Array<std::uint8_t, 2> levels({48, 64});
    const auto filled = [&](int frame) {
        std::iota(levels.begin(), levels.end(), static_cast<std::uint8_t>(frame));
        return std::as_const(levels).view();
    };
    EXPECT_EQ(bytes(VideoCoding::lossless_grey, filled), bytes(VideoCoding::lossless_grey, filled));
}

TEST(VideoWriter, ReplacesOnCommitAndNotBefore) {
    const TemporaryFolder folder;
    write_bytes(folder / "a.mp4", "before");
    {
        VideoWriter writer(folder / "a.mp4", 32, 16, 25);
        writer.write(halves(32, 16, 0));
    }
    EXPECT_EQ(read_bytes(folder / "a.mp4"), "before");
    write_halves(folder / "a.mp4", 32, 16, 1, 25);
    EXPECT_NE(read_bytes(folder / "a.mp4"), "before");
    EXPECT_THAT(folder.entries(), ElementsAre("a.mp4"));
}

TEST(VideoWriter, RefusesWhatItCannotWrite) {
    const TemporaryFolder folder;
    EXPECT_THAT(error_of([&] { const VideoWriter writer("/dev/null/a.mp4", 32, 16, 25); }),
                HasSubstr("/dev/null/a.mp4: cannot write: "));
    EXPECT_THAT(error_of([&] { const VideoWriter writer(folder / "a.mp4", 0, 16, 25); }),
                HasSubstr("a video of 0x16 pixels"));
    EXPECT_THAT(error_of([&] { const VideoWriter writer(folder / "a.mp4", 32, 16, -1); }),
                HasSubstr("-1 frames/s"));
    EXPECT_THAT(error_of([&] { VideoWriter(folder / "a.mp4", 32, 16, 25).finish(); }),
                HasSubstr("a.mp4: cannot write: a video without frames"));
    EXPECT_THAT(
        error_of([&] { VideoWriter(folder / "a.mp4", 32, 16, 25).write(halves(32, 18, 0)); }),
        HasSubstr("a frame of 32x18 pixels in a video of 32x16"));
    VideoWriter grey(folder / "a.mkv", 32, 16, 25, VideoCoding::lossless_grey);
    EXPECT_THAT(error_of([&] { grey.write(halves(32, 16, 0)); }),
                HasSubstr("a frame in colour in a grey video"));
    const std::vector<std::uint8_t> levels(size_t{32} * 18);
    EXPECT_THAT(error_of([&] {
                    grey.write(Levels(levels.data(), {18, 32}));
                }),
                HasSubstr("a frame of 32x18 pixels in a video of 32x16"));
    EXPECT_THAT(
        error_of([&] {
            VideoWriter(folder / "a.mp4", 32, 16, 25).write(Levels(levels.data(), {16, 32}));
        }),
        HasSubstr("a frame in grey in a video in colour"));
    EXPECT_THAT(folder.entries(), IsEmpty());
}

#else

TEST(VideoWriter, NeedsOpenCv) {
    const TemporaryFolder folder;
    EXPECT_THAT(error_of([&] { const VideoWriter writer(folder / "a.mp4", 32, 16, 25); }),
                HasSubstr("a.mp4: cannot write: a video requires a build with OpenCV"));
}

#endif

}  // namespace
}  // namespace aperture::media::tests
