// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "aperture/core/error.hpp"
#include "aperture/signal/grey.hpp"
#include "tests/media/image_bytes.hpp"

namespace aperture::media::tests {
namespace {

using core::Array;
using core::Host;
using core::View;
using testing::ElementsAre;
using testing::ElementsAreArray;

struct Pnm {
    std::string name;
    std::string bytes;
    core::Extents<3> extent;
    int bits;
    std::vector<float> planes;
};
void PrintTo(const Pnm& pnm, std::ostream* stream) { *stream << pnm.name; }

class ReadPnm : public testing::TestWithParam<Pnm> {};

INSTANTIATE_TEST_SUITE_P(
    All, ReadPnm,
    testing::Values(
        Pnm{"BinaryGrey",
            std::string("P5\n3 2\n255\n\x00\x01\x02\x0a\x20\xff", 17),
            {1, 2, 3},
            8,
            {0, 1, 2, 10, 32, 255}},
        Pnm{"BinaryColour",
            std::string("P6 1 2 255 \x00\x01\x02\x0a\x20\xff", 17),
            {3, 2, 1},
            8,
            {0, 10, 1, 32, 2, 255}},
        Pnm{"PlainGrey", "P2\n2 2\n255\n0 17\n 34\t255", {1, 2, 2}, 8, {0, 17, 34, 255}},
        Pnm{"PlainColour", "P3 2 1 255 1 2 3 4 5 6\n", {3, 1, 2}, 8, {1, 4, 2, 5, 3, 6}},
        Pnm{"BinaryGrey16",
            std::string("P5 2 1 65535\n\x01\x01\xff\xff", 17),
            {1, 1, 2},
            16,
            {1, 255}},
        Pnm{"BinaryColour16",
            std::string("P6 1 1 65535\n\x01\x01\x02\x02\xff\xff", 19),
            {3, 1, 1},
            16,
            {1, 2, 255}},
        Pnm{"PlainGrey16", "P2 3 1 65535 0 257 514", {1, 1, 3}, 16, {0, 1, 2}},
        Pnm{"PlainColour16", "P3 1 1 65535 65535 514 257", {3, 1, 1}, 16, {255, 2, 1}},
        Pnm{"SmallMaximum", "P2 4 1 15 0 1 8 15", {1, 1, 4}, 8, {0, 17, 136, 255}},
        Pnm{"Maximum1", std::string("P5 2 1 1\n\x00\x01", 11), {1, 1, 2}, 8, {0, 255}},
        Pnm{"Maximum1023",
            std::string("P5 2 1 1023\n\x03\xff\x00\x00", 16),
            {1, 1, 2},
            16,
            {255, 0}},
        Pnm{"Maximum256", std::string("P5 1 1 256\n\x00\x80", 13), {1, 1, 1}, 16, {127.5}},
        Pnm{"Comments", "P5#one\n# two\n2 # three\n# four\r1\n#\n255\n#!", {1, 1, 2}, 8, {35, 33}},
        Pnm{"DosLines", "P2\r\n2 1\r\n255\r\n7\r\n9\r\n", {1, 1, 2}, 8, {7, 9}},
        // A single separator ends the header, even if the samples are separators as well.
        Pnm{"SamplesLikeSpace", "P5 2 1 255\n\n ", {1, 1, 2}, 8, {10, 32}},
        Pnm{"FirstOfTwo", "P5 1 1 255\naP5 1 1 255\nb", {1, 1, 1}, 8, {97}},
        Pnm{"ARow", "P2 5 1 255 1 2 3 4 5", {1, 1, 5}, 8, {1, 2, 3, 4, 5}},
        Pnm{"AColumn", "P2 1 5 255 1 2 3 4 5", {1, 5, 1}, 8, {1, 2, 3, 4, 5}}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(ReadPnm, GivesPlanesFromBlackToWhite) {
    const Image image = read(GetParam().bytes);
    EXPECT_EQ(image.planes.extent(), GetParam().extent);
    EXPECT_EQ(image.bits, GetParam().bits);
    EXPECT_THAT(values_of(image), ElementsAreArray(GetParam().planes));
}

struct BadImage {
    std::string name;
    std::string bytes;
    std::string reason;  ///< end of the message
};
void PrintTo(const BadImage& bad, std::ostream* stream) { *stream << bad.name; }

class RefusedImage : public testing::TestWithParam<BadImage> {};

#if APERTURE_OPENCV
constexpr const char* no_image = "not an image, or a damaged one";
#else
constexpr const char* no_image =
    "not PNM (P2, P3, P5, P6); other images require a build with OpenCV";
#endif

INSTANTIATE_TEST_SUITE_P(
    All, RefusedImage,
    testing::Values(
        BadImage{"Empty", "", "file is empty"}, BadImage{"Text", "not at all an image", no_image},
        BadImage{"KindOnly", "P5", "truncated PNM"},
        BadImage{"UnknownKind", "P9 1 1 255 a", no_image},
        BadImage{"NoSize", "P5\n", "truncated PNM"}, BadImage{"NoHeight", "P5 1", "truncated PNM"},
        BadImage{"NoMaximum", "P5 1 1 ", "truncated PNM"},
        BadImage{"EndlessComment", "P5 # 1 1 255 a", "truncated PNM"},
        BadImage{"NoSamples", "P5 1 1 255", "truncated PNM: 1x1 pixels do not fit into 10 bytes"},
        BadImage{"OneByteShort", "P6 2 1 255\nabcde",
                 "truncated PNM: 2x1 pixels do not fit into 16 bytes"},
        BadImage{"OneByteShort16", "P5 2 1 256\nabc",
                 "truncated PNM: 2x1 pixels do not fit into 14 bytes"},
        BadImage{"PlainShort", "P2 3 1 255 100 200", "truncated PNM"},
        BadImage{"WidthZero", "P5 0 1 255 a", "image of 0x1 pixels"},
        BadImage{"HeightZero", "P5 1 0 255 a", "image of 1x0 pixels"},
        BadImage{"Negative", "P5 -1 1 255 a", "damaged PNM: no number at byte 3"},
        BadImage{"Letters", "P2 1 1 255 x", "damaged PNM: no number at byte 11"},
        BadImage{"MaximumZero", "P5 1 1 0 a", "PNM maximum is 0, expected 1 to 65535"},
        BadImage{"Maximum65536", "P5 1 1 65536 aa", "PNM maximum is 65536, expected 1 to 65535"},
        BadImage{"NoSpaceAfterMaximum", "P5 1 1 255abc", "damaged PNM: no space after the maximum"},
        BadImage{"AboveMaximum", "P2 1 1 15 16",
                 "damaged PNM: sample 16 exceeds the maximum of 15"},
        BadImage{"BinaryAboveMaximum", "P5 1 1 15 \x10",
                 "damaged PNM: sample 16 exceeds the maximum of 15"},
        BadImage{"Largest", "P5 2147483647 2147483647 255 a",
                 "truncated PNM: 2147483647x2147483647 pixels do not fit into 30 bytes"},
        BadImage{"LargestPlain", "P3 2147483647 2147483647 65535 1",
                 "truncated PNM: 2147483647x2147483647 pixels do not fit into 32 bytes"},
        BadImage{"Column", "P6 1 1073741824 65535 a",
                 "truncated PNM: 1x1073741824 pixels do not fit into 23 bytes"},
        BadImage{"BeyondInt", "P5 2147483648 1 255 a", "damaged PNM: number too large at byte 12"},
        BadImage{"BeyondAnyInt", "P5 99999999999999999999999 1 255 a",
                 "damaged PNM: number too large at byte 12"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedImage, InOneLine) {
    const TemporaryFolder folder;
    write_bytes(folder / "image", GetParam().bytes);
    EXPECT_EQ(error_of([&] { read_image(folder / "image"); }),
              (folder / "image").string() + ": " + GetParam().reason);
}

TEST(ReadImage, RefusesWhatIsNoFile) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "folder.png");
    EXPECT_EQ(error_of([&] { read_image(folder / "none.png"); }),
              (folder / "none.png").string() + ": no such file");
    EXPECT_EQ(error_of([&] { read_image(folder / "folder.png"); }),
              (folder / "folder.png").string() + ": is a directory");
    EXPECT_EQ(error_of([] { read_image("/dev/null"); }), "/dev/null: not a regular file");
}

TEST(StoredImage, HasTheValuesOfItsSamplesInTheMemoryOfOthers) {
    const TemporaryFolder folder;
    StoredImage stored;
    Picture picture;
    for (const char* const bytes :
         {"P3 2 2 255  1 2 3  4 5 6  7 8 9  10 11 255", "P2 3 1 65535  0 257 65535",
          "P3 1 2 1000  1 500 1000  0 3 999", "P2 1 3 15  0 7 15", "P2 2 2 255  9 8 7 6"}) {
        write_bytes(folder / "image", bytes);
        read_image(folder / "image", stored);
        const Image expected = read_image(folder / "image");
        EXPECT_EQ(stored.bits(), expected.bits);
        Image image;
        to_image(stored, image);
        EXPECT_EQ(image.planes.extent(), expected.planes.extent());
        EXPECT_EQ(values_of(image), values_of(expected));
        to_picture(stored, picture);
        EXPECT_EQ(picture.width, stored.width);
        EXPECT_EQ(picture.height, stored.height);
        EXPECT_EQ(picture.pixels, to_picture(expected.planes).pixels);
        const core::Array<float, 2> grey = signal::to_grey(expected.planes);
        core::Array<float, 2> direct(grey.extent());
        to_grey(stored, direct);
        EXPECT_TRUE(std::equal(grey.begin(), grey.end(), direct.begin())) << bytes;
        core::Array<float, 2> larger({stored.height + 1, stored.width});
        EXPECT_THROW(to_grey(stored, larger), core::InvalidArgument);
    }
}

TEST(ToPicture, RoundsAndClamps) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> values = {-3, 0.4F, 0.5F, 254.6F, 300, nan, infinity, -infinity, 7.2F};
    const Picture grey = to_picture(View<const float, 3, Host>(values.data(), {1, 1, 9}));
    EXPECT_EQ(grey.width, 9);
    EXPECT_EQ(grey.height, 1);
    std::vector<int> levels;
    for (const Colour& pixel : grey.pixels) {
        EXPECT_TRUE(pixel[0] == pixel[1] && pixel[1] == pixel[2]);
        levels.push_back(pixel[0]);
    }
    EXPECT_THAT(levels, ElementsAre(0, 0, 1, 255, 255, 0, 255, 0, 7));
    // Three channels: [3][1][3], and [3][3][1] with the strides of interleaved order.
    EXPECT_EQ(to_picture(View<const float, 3, Host>(values.data(), {3, 1, 3})).at(1, 0),
              (Colour{0, 255, 0}));
    const Picture column =
        to_picture(View<const float, 3, Host>(values.data(), {3, 3, 1}, {1, 3, 1}));
    EXPECT_EQ(column.height, 3);
    EXPECT_EQ(column.at(0, 1), (Colour{255, 255, 0}));
    EXPECT_THROW(to_picture(View<const float, 3, Host>(values.data(), {2, 1, 1})),
                 core::InvalidArgument);
    EXPECT_THROW(to_picture(View<const float, 3, Host>(values.data(), {1, 0, 1})),
                 core::InvalidArgument);
}

TEST(ToPicture, ComesBackAsAnImage) {
    const TemporaryFolder folder;
    const Image image = read("P3 3 2 255  1 2 3  4 5 6  7 8 9  10 11 12  13 14 15  16 17 18");
    write_picture(folder / "a.ppm", to_picture(image.planes));
    EXPECT_EQ(values_of(read_image(folder / "a.ppm")), values_of(image));
    const Image grey = read("P2 3 1 255  1 128 255");
    write_picture(folder / "a.pgm", to_picture(grey.planes));
    EXPECT_EQ(values_of(read_image(folder / "a.pgm")), values_of(grey));
}

}  // namespace
}  // namespace aperture::media::tests
