// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Images that OpenCV encodes, and PNG files composed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "aperture/core/error.hpp"
#include "aperture/signal/grey.hpp"
#include "tests/media/image_bytes.hpp"
#include "tests/shared_data.hpp"

namespace aperture::media::tests {
namespace {

using core::Array;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::EndsWith;
using testing::FloatEq;
using testing::HasSubstr;

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
    const Array<float, 2> grey = signal::to_grey(image.planes);
    double sum = 0;
    for (const float value : grey) sum += value;
    EXPECT_GT(sum / (388 * 584), 60);
    EXPECT_LT(sum / (388 * 584), 200);
    const cv::Mat bgr = cv::imread(path->string(), cv::IMREAD_COLOR);
    EXPECT_EQ(image.planes(0, 300, 500), bgr.at<cv::Vec3b>(300, 500)[2]);
    EXPECT_EQ(image.planes(2, 17, 3), bgr.at<cv::Vec3b>(17, 3)[0]);
}

}  // namespace
}  // namespace aperture::media::tests
