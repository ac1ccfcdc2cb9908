// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "aperture/core/error.hpp"
#include "aperture/media/image_file.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/shared_data.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace aperture::media::tests {
namespace {

using core::Array;
using core::Host;
using core::View;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::EndsWith;
using testing::FloatEq;
using testing::HasSubstr;

Image read(const std::string& bytes) {
    const TemporaryFolder folder;
    write_bytes(folder / "image", bytes);
    return read_image(folder / "image");
}

std::vector<float> values_of(const Image& image) {
    return {image.planes.begin(), image.planes.end()};
}

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
    "not PNM (P2, P3, P5, P6), which is all that a build without OpenCV reads";
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
        BadImage{"MaximumZero", "P5 1 1 0 a", "PNM with a maximum of 0, expected 1 to 65535"},
        BadImage{"Maximum65536", "P5 1 1 65536 aa",
                 "PNM with a maximum of 65536, expected 1 to 65535"},
        BadImage{"NoSpaceAfterMaximum", "P5 1 1 255abc", "damaged PNM: no space after the maximum"},
        BadImage{"AboveMaximum", "P2 1 1 15 16", "damaged PNM: sample 16 above its maximum of 15"},
        BadImage{"BinaryAboveMaximum", "P5 1 1 15 \x10",
                 "damaged PNM: sample 16 above its maximum of 15"},
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

TEST(ToGrey, IsTheLumaOfRec601) {
    const Array<float, 2> luma = to_grey(read("P3 4 1 255  255 0 0  0 255 0  0 0 255  90 90 90"));
    EXPECT_EQ(luma.extent(), (core::Extents<2>{1, 4}));
    EXPECT_NEAR(luma(0, 0), 76.245, 1e-4);
    EXPECT_NEAR(luma(0, 1), 149.685, 1e-4);
    EXPECT_NEAR(luma(0, 2), 29.07, 1e-4);
    EXPECT_NEAR(luma(0, 3), 90, 1e-4);
    const Array<float, 2> grey = to_grey(read("P2 1 3 255 5 6 7"));
    EXPECT_EQ(grey.extent(), (core::Extents<2>{3, 1}));
    EXPECT_THAT(std::vector<float>(grey.begin(), grey.end()), ElementsAre(5, 6, 7));
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

#if APERTURE_OPENCV

/// A picture of `type` in which every sample differs: 1, 2, 3, ... in OpenCV's order, times `step`.
cv::Mat counting(int type, int step = 1) {
    cv::Mat picture(2, 3, type);
    const int samples = 6 * picture.channels();
    for (int i = 0; i < samples; ++i) {
        if (picture.depth() == CV_8U) {
            picture.ptr<std::uint8_t>()[i] = static_cast<std::uint8_t>((i + 1) * step);
        } else {
            picture.ptr<std::uint16_t>()[i] = static_cast<std::uint16_t>((i + 1) * step);
        }
    }
    return picture;
}

std::string encode(const std::string& extension, const cv::Mat& picture,
                   const std::vector<int>& options = {}) {
    std::vector<std::uint8_t> bytes;
    EXPECT_TRUE(cv::imencode(extension, picture, bytes, options));
    return {bytes.begin(), bytes.end()};
}

struct Stored {
    std::string extension;
    int type;
    int step;
    int bits;
    std::vector<float> planes;  ///< of 3x2 pixels
};
void PrintTo(const Stored& stored, std::ostream* stream) {
    *stream << stored.extension << " of type " << stored.type;
}

class ReadStored : public testing::TestWithParam<Stored> {};

const std::vector<float> grey_planes = {1, 2, 3, 4, 5, 6};
const std::vector<float> colour_planes = {3,  6,  9,  12, 15, 18, 2,  5,  8,
                                          11, 14, 17, 1,  4,  7,  10, 13, 16};
const std::vector<float> alpha_planes = {3,  7,  11, 15, 19, 23, 2,  6,  10,
                                         14, 18, 22, 1,  5,  9,  13, 17, 21};

INSTANTIATE_TEST_SUITE_P(All, ReadStored,
                         testing::Values(Stored{".png", CV_8UC1, 1, 8, grey_planes},
                                         Stored{".png", CV_8UC3, 1, 8, colour_planes},
                                         Stored{".png", CV_8UC4, 1, 8, alpha_planes},
                                         Stored{".png", CV_16UC1, 257, 16, grey_planes},
                                         Stored{".png", CV_16UC3, 257, 16, colour_planes},
                                         Stored{".png", CV_16UC4, 257, 16, alpha_planes},
                                         Stored{".tif", CV_8UC1, 1, 8, grey_planes},
                                         Stored{".tif", CV_16UC3, 257, 16, colour_planes},
                                         Stored{".bmp", CV_8UC3, 1, 8, colour_planes},
                                         Stored{".ppm", CV_8UC3, 1, 8, colour_planes},
                                         Stored{".ppm", CV_16UC3, 257, 16, colour_planes},
                                         Stored{".pgm", CV_16UC1, 257, 16, grey_planes}));

TEST_P(ReadStored, GivesRedGreenBluePlanes) {
    const Image image =
        read(encode(GetParam().extension, counting(GetParam().type, GetParam().step)));
    EXPECT_EQ(image.planes.extent(),
              (core::Extents<3>{static_cast<core::index_t>(GetParam().planes.size() / 6), 2, 3}));
    EXPECT_EQ(image.bits, GetParam().bits);
    EXPECT_THAT(values_of(image), ElementsAreArray(GetParam().planes));
}

TEST(ReadImage, SixteenBitsAreNotRoundedToEight) {
    EXPECT_THAT(values_of(read(encode(".png", counting(CV_16UC1, 1000)))),
                ElementsAre(FloatEq(1000 / 257.F), FloatEq(2000 / 257.F), FloatEq(3000 / 257.F),
                            FloatEq(4000 / 257.F), FloatEq(5000 / 257.F), FloatEq(6000 / 257.F)));
}

TEST(ReadImage, OneRowOrOneColumn) {
    for (const char* extension : {".png", ".jpg", ".ppm"}) {
        const cv::Mat row(1, 17, CV_8UC3, cv::Scalar(200, 200, 200));
        EXPECT_EQ(read(encode(extension, row)).planes.extent(), (core::Extents<3>{3, 1, 17}));
        EXPECT_EQ(read(encode(extension, row.t())).planes.extent(), (core::Extents<3>{3, 17, 1}));
    }
}

std::uint32_t crc(const std::string& bytes) {
    std::uint32_t remainder = 0xffffffff;
    for (const char byte : bytes) {
        remainder ^= static_cast<std::uint8_t>(byte);
        for (int bit = 0; bit < 8; ++bit) {
            remainder = remainder >> 1 ^ ((remainder & 1U) != 0 ? 0xedb88320 : 0);
        }
    }
    return ~remainder;
}

std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

std::string chunk(const std::string& type, const std::string& body) {
    return big_endian(static_cast<std::uint32_t>(body.size())) + type + body +
           big_endian(crc(type + body));
}

const std::string png_signature = "\x89PNG\r\n\x1a\n";

std::string header_chunk(std::uint32_t width, std::uint32_t height, char bits, char colour_type) {
    return chunk(
        "IHDR", big_endian(width) + big_endian(height) + bits + colour_type + std::string(3, '\0'));
}

/// Uncompressed zlib data, up to 64 KiB.
std::string stored_zlib(const std::string& bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    std::uint32_t a = 1;
    std::uint32_t b = 0;
    for (const char byte : bytes) {
        a = (a + static_cast<std::uint8_t>(byte)) % 65521;
        b = (b + a) % 65521;
    }
    std::string out = "\x78\x01\x01";
    for (const std::uint32_t part : {size, ~size}) {
        out += static_cast<char>(part & 0xff);
        out += static_cast<char>(part >> 8 & 0xff);
    }
    return out + bytes + big_endian(b << 16 | a);
}

/// A PNG file that OpenCV cannot write, composed by hand.
std::string png(std::uint32_t width, std::uint32_t height, char bits, char colour_type,
                const std::string& rows, const std::string& before_data = "") {
    return png_signature + header_chunk(width, height, bits, colour_type) + before_data +
           chunk("IDAT", stored_zlib(rows)) + chunk("IEND", "");
}

TEST(ReadPng, GreyWithAlphaIsGrey) {
    const Image image =
        read(png(2, 2, 8, 4, std::string("\0\x07\x80\x09\x01\0\x0b\x00\x0d\xff", 10)));
    EXPECT_EQ(image.planes.extent(), (core::Extents<3>{1, 2, 2}));
    EXPECT_THAT(values_of(image), ElementsAre(7, 9, 11, 13));
    const Image wide = read(png(1, 1, 16, 4, std::string("\0\x05\x05\x12\x34", 5)));
    EXPECT_EQ(wide.bits, 16);
    EXPECT_THAT(values_of(wide), ElementsAre(5));
}

TEST(ReadPng, BitsAndPalettesAreSpreadOut) {
    EXPECT_THAT(values_of(read(png(3, 1, 1, 0, std::string("\0\xa0", 2)))),
                ElementsAre(255, 0, 255));
    EXPECT_THAT(values_of(read(png(2, 1, 4, 0, std::string("\0\x1f", 2)))), ElementsAre(17, 255));
    const std::string palette = chunk("PLTE", std::string("\x01\x02\x03\x04\x05\x06", 6));
    const Image image = read(png(2, 1, 8, 3, std::string("\0\x01\x00", 3), palette));
    EXPECT_THAT(values_of(image), ElementsAre(4, 1, 5, 2, 6, 3));
    // Transparency is ignored.
    const Image clear =
        read(png(2, 1, 8, 3, std::string("\0\x01\x00", 3), palette + chunk("tRNS", "\x01")));
    EXPECT_EQ(values_of(clear), values_of(image));
}

TEST(ReadPng, WhatIsNotPixelsIsNotLookedAt) {
    // libpng would print warnings about these on stderr.
    const std::string odd = chunk("iCCP", "nonsense") + chunk("gAMA", "x") + chunk("tEXt", "");
    testing::internal::CaptureStderr();
    EXPECT_THAT(values_of(read(png(1, 1, 8, 0, std::string("\0\x2a", 2), odd))), ElementsAre(42));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ReadPng, RefusesEveryTruncationInSilence) {
    const std::string whole = encode(".png", counting(CV_8UC3));
    testing::internal::CaptureStderr();
    for (std::size_t size = png_signature.size(); size < whole.size(); ++size) {
        EXPECT_THAT(error_of([&] { read(whole.substr(0, size)); }), EndsWith(": truncated PNG"))
            << size;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ReadPng, RefusesEveryDamagedByteInSilence) {
    const std::string whole = encode(".png", counting(CV_8UC3));
    testing::internal::CaptureStderr();
    for (std::size_t at = png_signature.size(); at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        EXPECT_THAT(error_of([&] { read(damaged); }), HasSubstr("PNG")) << at;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ReadPng, RefusesDamageBehindRightChecksumsInSilence) {
    const std::string header = header_chunk(2, 2, 8, 0);
    const std::string no_palette = header_chunk(2, 2, 8, 3);
    const std::string end = chunk("IEND", "");
    const std::string good = stored_zlib(std::string(6, '\0'));
    const std::string bad_filter = stored_zlib(std::string("\x09\0\0\0\0\0", 6));
    std::string bad_sum = good;
    bad_sum.back() = static_cast<char>(bad_sum.back() ^ 1);
    const auto file = [&](const std::string& head, const std::string& data) {
        return png_signature + head + chunk("IDAT", data) + end;
    };
    EXPECT_EQ(error_of([&] { read(file(header, good)); }), "");
    testing::internal::CaptureStderr();
    for (const std::string& damaged :
         {file(header, "no stream of zlib's"), file(header, stored_zlib("abc")),
          file(header, bad_filter), file(no_palette, good)}) {
        EXPECT_THAT(error_of([&] { read(damaged); }), EndsWith(": not an image, or a damaged one"));
    }
    error_of([&] { read(file(header, bad_sum)); });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ReadPng, RefusesSizesThatItsDataCannotHold) {
    const auto error = [](std::uint32_t width, std::uint32_t height, char bits, char colour_type) {
        return error_of([&] {
            read(png_signature + header_chunk(width, height, bits, colour_type) +
                 chunk("IDAT", stored_zlib("abc")) + chunk("IEND", ""));
        });
    };
    EXPECT_THAT(error(100000, 10000, 16, 2),
                EndsWith("damaged PNG: 100000x10000 pixels in 14 bytes"));
    EXPECT_THAT(error(0, 5, 8, 0), EndsWith("image of 0x5 pixels"));
    EXPECT_THAT(error(0x7fffffff, 0x7fffffff, 8, 0),
                EndsWith("image of 2147483647x2147483647 pixels is too large"));
    EXPECT_THAT(error(0xffffffff, 1, 8, 0), EndsWith("image of 4294967295x1 pixels is too large"));
    EXPECT_THAT(error(1 << 20, 1 << 11, 8, 0),
                EndsWith("image of 1048576x2048 pixels is too large"));
    EXPECT_THAT(error(1, 1, 3, 0), EndsWith("damaged PNG (header)"));
    EXPECT_THAT(error(1, 1, 8, 5), EndsWith("damaged PNG (header)"));
    EXPECT_THAT(error(1, 1, 8, 7), EndsWith("damaged PNG (header)"));
}

TEST(ReadPng, RefusesChunksOutOfPlace) {
    const std::string header = header_chunk(1, 1, 8, 0);
    const std::string data = chunk("IDAT", stored_zlib(std::string(2, '\0')));
    const std::string end = chunk("IEND", "");
    EXPECT_EQ(error_of([&] { read(png_signature + header + data + end); }), "");
    EXPECT_THAT(error_of([&] { read(png_signature + data + end); }),
                EndsWith("damaged PNG (header)"));
    EXPECT_THAT(error_of([&] { read(png_signature + header + header + data + end); }),
                EndsWith("damaged PNG (header)"));
    EXPECT_THAT(error_of([&] { read(png_signature + end); }), EndsWith("damaged PNG (header)"));
}

TEST(ReadJpeg, RefusesEveryTruncation) {
    cv::Mat picture(33, 47, CV_8UC3);
    for (int row = 0; row < picture.rows; ++row) {
        for (int x = 0; x < picture.cols; ++x) {
            picture.at<cv::Vec3b>(row, x) =
                cv::Vec3b(static_cast<std::uint8_t>(5 * x), static_cast<std::uint8_t>(7 * row), 90);
        }
    }
    const std::vector<std::vector<int>> kinds = {
        {}, {cv::IMWRITE_JPEG_PROGRESSIVE, 1}, {cv::IMWRITE_JPEG_RST_INTERVAL, 2}};
    for (const std::vector<int>& options : kinds) {
        const std::string whole = encode(".jpg", picture, options);
        const Image image = read(whole);
        EXPECT_EQ(image.planes.extent(), (core::Extents<3>{3, 33, 47}));
        EXPECT_EQ(image.bits, 8);
        EXPECT_NEAR(image.planes(2, 16, 20), 100, 12);
        EXPECT_NEAR(image.planes(0, 16, 20), 90, 12);
        testing::internal::CaptureStderr();
        for (std::size_t size = 3; size < whole.size(); ++size) {
            EXPECT_THAT(error_of([&] { read(whole.substr(0, size)); }),
                        EndsWith(": truncated JPEG"))
                << size;
        }
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_EQ(values_of(read(whole + "what follows the end")), values_of(image));
    }
}

TEST(ReadJpeg, GreyIsGrey) {
    const Image image = read(encode(".jpg", cv::Mat(9, 9, CV_8UC1, cv::Scalar(77))));
    EXPECT_EQ(image.planes.extent(), (core::Extents<3>{1, 9, 9}));
    EXPECT_NEAR(image.planes(0, 4, 4), 77, 2);
}

TEST(ReadJpeg, OrientationIsNotApplied) {
    const std::string whole = encode(".jpg", cv::Mat(8, 24, CV_8UC3, cv::Scalar(1, 2, 3)));
    // Exif with one entry: orientation (0x0112), one short of value 6, a rotation by 90 degrees.
    const std::string exif = std::string(
        "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0", 32);
    const std::string turned = whole.substr(0, 2) + "\xff\xe1" +
                               big_endian(static_cast<std::uint32_t>(exif.size() + 2)).substr(2) +
                               exif + whole.substr(2);
    // OpenCV applies the rotation, so the entry is valid.
    const cv::Mat raw(1, static_cast<int>(turned.size()), CV_8U, const_cast<char*>(turned.data()));
    ASSERT_EQ(cv::imdecode(raw, cv::IMREAD_COLOR).rows, 24);
    EXPECT_EQ(read(turned).planes.extent(), (core::Extents<3>{3, 8, 24}));
}

TEST(ReadImage, RefusesTruncatedBmpAndTiff) {
    testing::internal::CaptureStderr();
    for (const char* extension : {".bmp", ".tif"}) {
        const std::string whole = encode(extension, counting(CV_8UC3));
        EXPECT_NE(error_of([&] { read(whole.substr(0, whole.size() - 1)); }), "") << extension;
        EXPECT_NE(error_of([&] { read(whole.substr(0, whole.size() / 2)); }), "") << extension;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ReadImage, RefusesFloatingPoint) {
    const cv::Mat picture(2, 2, CV_32FC3, cv::Scalar(0.5, 0.5, 0.5));
    for (const char* extension : {".tif", ".pfm", ".hdr"}) {
        EXPECT_THAT(error_of([&] { read(encode(extension, picture)); }),
                    HasSubstr("floating-point"))
            << extension;
    }
}

TEST(ToPicture, ComesBackAsPng) {
    const TemporaryFolder folder;
    const Image colour = read(encode(".png", counting(CV_8UC3)));
    write_picture(folder / "a.png", to_picture(colour.planes));
    EXPECT_EQ(values_of(read_image(folder / "a.png")), colour_planes);
    const Image grey = read(encode(".png", counting(CV_8UC1)));
    write_picture(folder / "b.png", to_picture(grey.planes));
    EXPECT_EQ(values_of(read_image(folder / "b.png")), grey_planes);
}

TEST(MeasuredImage, RubberWhale) {
    const auto path = aperture::tests::shared_data("middlebury/RubberWhale/frame10.png");
    if (!path) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
    const Image image = read_image(*path);
    EXPECT_EQ(image.planes.extent(), (core::Extents<3>{3, 388, 584}));
    EXPECT_EQ(image.bits, 8);
    const Array<float, 2> grey = to_grey(image);
    double sum = 0;
    for (const float value : grey) sum += value;
    EXPECT_GT(sum / (388 * 584), 60);
    EXPECT_LT(sum / (388 * 584), 200);
    const cv::Mat bgr = cv::imread(path->string(), cv::IMREAD_COLOR);
    EXPECT_EQ(image.planes(0, 300, 500), bgr.at<cv::Vec3b>(300, 500)[2]);
    EXPECT_EQ(image.planes(2, 17, 3), bgr.at<cv::Vec3b>(17, 3)[0]);
}

#endif

}  // namespace
}  // namespace aperture::media::tests
