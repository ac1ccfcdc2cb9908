// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/media/output_mark.hpp"
#include "aperture/media/picture.hpp"
#include "tests/media/cube_files.hpp"

#if APERTURE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

namespace aperture::media::tests {
namespace {

using testing::ElementsAre;

TEST(Picture, PpmHoldsExactlyThePixels) {
    const TemporaryFolder folder;
    Picture picture(2, 1, {1, 2, 3});
    picture.at(1, 0) = {250, 0, 255};
    EXPECT_EQ(write_picture(folder / "a.ppm", picture), folder / "a.ppm");
    EXPECT_EQ(
        read_bytes(folder / "a.ppm"),
        std::string("P6\n# Aperture signal processing\n2 1\n255\n\x01\x02\x03\xfa\x00\xff", 46));
    EXPECT_THAT(folder.entries(), ElementsAre("a.ppm"));
}

TEST(Picture, BlendsInside) {
    Picture picture(4, 3, {0, 0, 0});
    picture.blend(3, 2, {200, 100, 0}, 0.5F);
    EXPECT_EQ(picture.at(3, 2), (Colour{100, 50, 0}));
    const Picture before = picture;
    picture.blend(4, 2, {200, 100, 0}, 1);
    picture.blend(-1, 0, {200, 100, 0}, 1);
    EXPECT_EQ(picture.pixels, before.pixels);
    EXPECT_THROW(Picture(0, 5, {}), core::InvalidArgument);
}

TEST(Picture, PgmHoldsTheLuma) {
    const TemporaryFolder folder;
    Picture picture(3, 1, {255, 0, 0});
    picture.at(1, 0) = {0, 255, 0};
    picture.at(2, 0) = {9, 9, 9};
    EXPECT_EQ(write_picture(folder / "a.pgm", picture), folder / "a.pgm");
    EXPECT_EQ(read_bytes(folder / "a.pgm"),
              "P5\n# Aperture signal processing\n3 1\n255\n\x4c\x96\x09");
    EXPECT_THAT(folder.entries(), ElementsAre("a.pgm"));
}

TEST(Picture, LevelsGiveTheSameFileAsTheirPicture) {
    const TemporaryFolder folder;
    constexpr core::index_t rows = 7;
    constexpr core::index_t columns = 5;
    std::vector<std::uint8_t> stored(std::size_t{rows * columns});
    std::iota(stored.begin(), stored.end(), std::uint8_t{100});
    // Columns one after the other.
    const core::View<const std::uint8_t, 2, core::Host> levels(stored.data(), {rows, columns},
                                                               {1, rows});
    for (const char* const name : {"a.png", "a.ppm", "a.pgm"}) {
        new_picture(folder / name, levels, "a clip").commit();
        const auto file = picture_name(folder / name);
        const std::string bytes = read_bytes(file);
        new_picture(folder / name, to_picture(levels), "a clip").commit();
        EXPECT_EQ(bytes, read_bytes(file)) << name;
        EXPECT_EQ(read_image(file).planes(0, 2, 3), levels(2, 3)) << name;
    }
}

TEST(Picture, WithACommentIsRecognisedIfItIsWhole) {
    const TemporaryFolder folder;
    const std::string comment = "first=0 window=20\nclip.avi";
    Picture picture(31, 17, {7, 7, 7});
    std::vector<const char*> names{"a.ppm", "a.pgm"};
#if APERTURE_OPENCV
    names.push_back("a.png");
#endif
    for (const char* const name : names) {
        const auto file = folder / name;
        new_picture(file, picture, comment).commit_unsynced();
        EXPECT_TRUE(is_output(file)) << name;
        EXPECT_TRUE(is_whole_picture(file, comment)) << name;
        EXPECT_FALSE(is_whole_picture(file, "first=0 window=2")) << name;
        const std::string bytes = read_bytes(file);
        for (const std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
            write_bytes(file, bytes.substr(0, size));
            EXPECT_FALSE(is_whole_picture(file, comment)) << name << ", " << size;
        }
        write_picture(file, picture);
        EXPECT_FALSE(is_whole_picture(file, comment)) << name;
    }
    EXPECT_FALSE(is_whole_picture(folder / "b.png", comment));
}

#if APERTURE_OPENCV
TEST(Picture, GreyPicturesBecomeGreyPngs) {
    const TemporaryFolder folder;
    Picture picture(2, 1, {7, 7, 7});
    write_picture(folder / "grey.png", picture);
    EXPECT_EQ(cv::imread((folder / "grey.png").string(), cv::IMREAD_UNCHANGED).type(), CV_8UC1);
    picture.at(1, 0) = {7, 7, 8};
    write_picture(folder / "colour.png", picture);
    EXPECT_EQ(cv::imread((folder / "colour.png").string(), cv::IMREAD_UNCHANGED).type(), CV_8UC3);
}

TEST(Picture, PngComesBack) {
    const TemporaryFolder folder;
    Picture picture(3, 2, {10, 20, 30});
    picture.at(2, 1) = {255, 128, 0};
    EXPECT_EQ(write_picture(folder / "a.png", picture), folder / "a.png");
    const cv::Mat read = cv::imread((folder / "a.png").string(), cv::IMREAD_COLOR);
    ASSERT_EQ(read.cols, 3);
    ASSERT_EQ(read.rows, 2);
    EXPECT_EQ(read.at<cv::Vec3b>(1, 2), cv::Vec3b(0, 128, 255));
    EXPECT_EQ(read.at<cv::Vec3b>(0, 0), cv::Vec3b(30, 20, 10));
    EXPECT_THROW(write_picture(folder / "a.nonsense", picture), core::InvalidArgument);
}

TEST(Picture, PngIsOfASizeThatCanBeRead) {
    const TemporaryFolder folder;
    const Picture wide((1 << 20) + 1, 1, {});
    EXPECT_THROW(write_picture(folder / "none.png", Picture()), core::InvalidArgument);
    EXPECT_THROW(write_picture(folder / "wide.png", wide), core::InvalidArgument);
    EXPECT_THAT(folder.entries(), ElementsAre());
}
#else
TEST(Picture, WithoutOpenCvPngBecomesPpm) {
    const TemporaryFolder folder;
    EXPECT_EQ(write_picture(folder / "a.png", Picture(1, 1, {})), folder / "a.ppm");
    EXPECT_THAT(folder.entries(), ElementsAre("a.ppm"));
}
#endif

}  // namespace
}  // namespace aperture::media::tests
