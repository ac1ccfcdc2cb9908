// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/flow/accuracy.hpp"
#include "aperture/media/flow_file.hpp"
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
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr float infinity = std::numeric_limits<float>::infinity();

std::string little_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

std::string flo_header(std::int32_t width, std::int32_t height) {
    return "PIEH" + little_endian(static_cast<std::uint32_t>(width)) +
           little_endian(static_cast<std::uint32_t>(height));
}

/// A .flo file composed byte by byte; `values` are u, v, u, v, ...
std::string flo(std::int32_t width, std::int32_t height, const std::vector<float>& values) {
    std::string bytes = flo_header(width, height);
    for (const float value : values) bytes += little_endian(std::bit_cast<std::uint32_t>(value));
    return bytes;
}

TEST(Flo, PlanesAreUAndVRowByRow) {
    const TemporaryFolder folder;
    EXPECT_EQ(std::bit_cast<float>(std::uint32_t{0x48454950}), 202021.25F);  // "PIEH"
    write_bytes(folder / "a.flo", flo(3, 2, {1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6.5, -6.5}));
    const Array<float, 3> flow = read_flow(folder / "a.flo");
    EXPECT_EQ(flow.extent(), (core::Extents<3>{2, 2, 3}));
    EXPECT_THAT(std::vector<float>(flow.begin(), flow.end()),
                ElementsAre(1, 2, 3, 4, 5, 6.5, -1, -2, -3, -4, -5, -6.5));
}

TEST(Flo, ComesBackByteForByteUnknownPixelsIncluded) {
    const TemporaryFolder folder;
    const auto quiet = std::bit_cast<float>(std::uint32_t{0xffc12345});
    const std::string bytes = flo(2, 3,
                                  {1.666666752e9F, 1.666666752e9F, NAN, 0, 1e-42F, -0.0F, quiet,
                                   infinity, -3.25F, 1e9F, unknown_flow, unknown_flow});
    write_bytes(folder / "a.flo", bytes);
    const Array<float, 3> flow = read_flow(folder / "a.flo");
    std::vector<bool> known;
    for (index_t row = 0; row < 3; ++row) {
        for (index_t x = 0; x < 2; ++x)
            known.push_back(flow::is_known(flow(0, row, x), flow(1, row, x)));
    }
    EXPECT_THAT(known, ElementsAre(false, false, true, false, true, false));
    write_flow(folder / "b.flo", flow);
    EXPECT_EQ(read_bytes(folder / "b.flo"), bytes);
    EXPECT_THAT(folder.entries(), testing::UnorderedElementsAre("a.flo", "b.flo"));
}

TEST(Flo, IsWrittenFromAnyStrides) {
    const TemporaryFolder folder;
    const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    // The file's own interleaved order, and a view of its second column.
    const View<const float, 3, Host> interleaved(values.data(), {2, 2, 3}, {1, 6, 2});
    write_flow(folder / "a.flo", interleaved);
    EXPECT_EQ(read_bytes(folder / "a.flo"), flo(3, 2, values));
    write_flow(folder / "b.flo", interleaved.slice(2, 1, 2));
    EXPECT_EQ(read_bytes(folder / "b.flo"), flo(1, 2, {3, 4, 9, 10}));
}

TEST(Flo, TheContentDecidesNotTheExtension) {
    const TemporaryFolder folder;
    write_bytes(folder / "flow.dat", flo(1, 1, {2, 3}));
    EXPECT_EQ(read_flow(folder / "flow.dat")(1, 0, 0), 3);
}

struct BadFlow {
    std::string name;
    std::string bytes;
    std::string reason;  ///< end of the message
};
void PrintTo(const BadFlow& bad, std::ostream* stream) { *stream << bad.name; }

class RefusedFlow : public testing::TestWithParam<BadFlow> {};

INSTANTIATE_TEST_SUITE_P(
    All, RefusedFlow,
    testing::Values(BadFlow{"Empty", "", "file is empty"},
                    BadFlow{"BadMagic", "PIEI" + flo(1, 1, {1, 2}).substr(4),
                            "not a .flo file, which must start with 'PIEH'"},
                    BadFlow{"BigEndianMagic", "HEIP" + flo(1, 1, {1, 2}).substr(4),
                            "not a .flo file, which must start with 'PIEH'"},
                    BadFlow{"HalfAMagic", "PI", "not a .flo file, which must start with 'PIEH'"},
                    BadFlow{"MagicAlone", "PIEH", "truncated .flo: 4 bytes, but the header has 12"},
                    BadFlow{"HalfAHeader", flo_header(1, 1).substr(0, 11),
                            "truncated .flo: 11 bytes, but the header has 12"},
                    BadFlow{"HeaderAlone", flo_header(1, 1),
                            "truncated .flo: 1x1 pixels do not fit into 12 bytes"},
                    BadFlow{"OneByteShort", flo(3, 2, std::vector<float>(12)).substr(0, 59),
                            "truncated .flo: 3x2 pixels do not fit into 59 bytes"},
                    BadFlow{"OnePixelShort", flo(3, 2, std::vector<float>(10)),
                            "truncated .flo: 3x2 pixels do not fit into 52 bytes"},
                    BadFlow{"OneByteTooLong", flo(1, 1, {1, 2}) + "x",
                            "damaged .flo: 21 bytes are too many for 1x1 pixels"},
                    BadFlow{"OnePixelTooLong", flo(1, 1, {1, 2, 3, 4}),
                            "damaged .flo: 28 bytes are too many for 1x1 pixels"},
                    BadFlow{"WidthZero", flo(0, 1, {1, 2}), ".flo of 0x1 pixels"},
                    BadFlow{"HeightZero", flo(1, 0, {1, 2}), ".flo of 1x0 pixels"},
                    BadFlow{"WidthNegative", flo(-1, 1, {1, 2}), ".flo of -1x1 pixels"},
                    BadFlow{"BothNegative", flo(-1, -1, {1, 2}), ".flo of -1x-1 pixels"},
                    BadFlow{
                        "Largest", flo(2147483647, 2147483647, {1, 2}),
                        "truncated .flo: 2147483647x2147483647 pixels do not fit into 20 bytes"},
                    BadFlow{"Column", flo(1, 1 << 30, {1, 2}),
                            "truncated .flo: 1x1073741824 pixels do not fit into 20 bytes"},
                    // 8 * width * height is 0 modulo 2^32 and modulo 2^64.
                    BadFlow{"SizeWrapsIn32Bits", flo_header(1 << 16, 1 << 13),
                            "truncated .flo: 65536x8192 pixels do not fit into 12 bytes"},
                    BadFlow{"SizeWrapsIn64Bits", flo_header(-(1 << 30) - (1 << 30), 1 << 30),
                            ".flo of -2147483648x1073741824 pixels"}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(RefusedFlow, InOneLine) {
    const TemporaryFolder folder;
    write_bytes(folder / "a.flo", GetParam().bytes);
    EXPECT_EQ(error_of([&] { read_flow(folder / "a.flo"); }),
              (folder / "a.flo").string() + ": " + GetParam().reason);
}

TEST(FlowFile, RefusesWhatCannotBeRead) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "folder.flo");
    write_bytes(folder / "flow.txt", "u v");
    EXPECT_THAT(error_of([&] { read_flow(folder / "none.flo"); }), EndsWith(": no such file"));
    EXPECT_THAT(error_of([&] { read_flow(folder / "folder.flo"); }), EndsWith(": is a directory"));
    EXPECT_THAT(error_of([&] { read_flow(folder / "flow.txt"); }),
                EndsWith("expected Middlebury .flo or KITTI .png"));
}

TEST(FlowFile, RefusesWhatCannotBeWritten) {
    const TemporaryFolder folder;
    const Array<float, 3> flow({2, 0, 3});
    const std::vector<float> values(9);
    const View<const float, 3, Host> one(values.data(), {2, 1, 1});
    const View<const float, 3, Host> three(values.data(), {3, 1, 1});
    EXPECT_THAT(error_of([&] { write_flow(folder / "a.flo", flow); }),
                EndsWith("cannot write: flow of 2 planes of 3x0 pixels"));
    EXPECT_THAT(error_of([&] { write_flow(folder / "a.flo", three); }),
                EndsWith("cannot write: flow of 3 planes of 1x1 pixels"));
    EXPECT_THAT(error_of([&] { write_flow(folder / "a.pfm", one); }),
                AllOf(StartsWith((folder / "a.pfm").string()), HasSubstr(".flo (Middlebury)"),
                      HasSubstr(".png (KITTI)")));
    EXPECT_THAT(error_of([&] { write_flow("/dev/null/a.flo", one); }), EndsWith("not a directory"));
    EXPECT_THAT(folder.entries(), IsEmpty());
}

#if APERTURE_OPENCV

/// Writes a KITTI file from blue, green, red of every pixel, OpenCV's order.
void write_kitti(const std::filesystem::path& path, int width, const std::vector<cv::Vec3w>& bgr) {
    cv::Mat picture(static_cast<int>(bgr.size()) / width, width, CV_16UC3);
    std::copy(bgr.begin(), bgr.end(), picture.begin<cv::Vec3w>());
    ASSERT_TRUE(cv::imwrite(path.string(), picture));
}

TEST(Kitti, RedIsUGreenIsVBlueIsValid) {
    const TemporaryFolder folder;
    write_kitti(folder / "a.png", 2,
                {{1, 32768, 32768 + 64}, {1, 32768 - 32, 32768}, {0, 40000, 40000}, {7, 65535, 0}});
    const Array<float, 3> flow = read_flow(folder / "a.png");
    EXPECT_EQ(flow.extent(), (core::Extents<3>{2, 2, 2}));
    EXPECT_THAT(std::vector<float>(flow.begin(), flow.end()),
                ElementsAre(1, 0, unknown_flow, -512, 0, -0.5, unknown_flow, 511.984375));
}

TEST(Kitti, ComesBackWithinHalfAStep) {
    const TemporaryFolder folder;
    Array<float, 3> flow({2, 9, 13});
    for (index_t row = 0; row < 9; ++row) {
        for (index_t x = 0; x < 13; ++x) {
            flow(0, row, x) = -511.9F + 7.3F * static_cast<float>(13 * row + x);
            flow(1, row, x) = 100.01F / (1 + static_cast<float>(row)) - static_cast<float>(x);
        }
    }
    ASSERT_LT(flow(0, 8, 12), 511.98F);
    flow(0, 4, 4) = NAN;
    flow(1, 5, 5) = unknown_flow;
    write_flow(folder / "a.png", flow);
    const Array<float, 3> back = read_flow(folder / "a.png");
    ASSERT_EQ(back.extent(), flow.extent());
    double worst = 0;
    for (index_t row = 0; row < 9; ++row) {
        for (index_t x = 0; x < 13; ++x) {
            ASSERT_EQ(flow::is_known(back(0, row, x), back(1, row, x)),
                      flow::is_known(flow(0, row, x), flow(1, row, x)))
                << row << ' ' << x;
            if (!flow::is_known(flow(0, row, x), flow(1, row, x))) continue;
            for (index_t c = 0; c < 2; ++c) {
                worst = std::max<double>(worst, std::abs(back(c, row, x) - flow(c, row, x)));
            }
        }
    }
    EXPECT_LE(worst, 1.0 / 128 + 1e-4);
    EXPECT_GT(worst, 1.0 / 256);
    EXPECT_THAT(folder.entries(), ElementsAre("a.png"));
}

TEST(Kitti, WhatItCannotHoldIsUnknown) {
    const TemporaryFolder folder;
    const std::vector<float> values = {-512, 511.984375F, 512, -512.1F, 600, 0,
                                       0,    0,           0,   0,       0,   -2000};
    write_flow(folder / "a.png", View<const float, 3, Host>(values.data(), {2, 1, 6}));
    const Array<float, 3> flow = read_flow(folder / "a.png");
    const float u = unknown_flow;
    EXPECT_THAT(std::vector<float>(flow.begin(), flow.end()),
                ElementsAre(-512, 511.984375F, u, u, u, u, 0, 0, u, u, u, u));
    const cv::Mat stored = cv::imread((folder / "a.png").string(), cv::IMREAD_UNCHANGED);
    EXPECT_EQ(stored.type(), CV_16UC3);
    EXPECT_EQ(stored.at<cv::Vec3w>(0, 0), cv::Vec3w(1, 32768, 0));
    EXPECT_EQ(stored.at<cv::Vec3w>(0, 2), cv::Vec3w(0, 0, 0));
}

TEST(Kitti, RefusesOtherPictures) {
    const TemporaryFolder folder;
    cv::imwrite((folder / "8.png").string(), cv::Mat(2, 2, CV_8UC3, cv::Scalar(1, 2, 3)));
    cv::imwrite((folder / "grey.png").string(), cv::Mat(2, 2, CV_16U, cv::Scalar(1)));
    EXPECT_THAT(error_of([&] { read_flow(folder / "8.png"); }),
                EndsWith(": an image of 8 bits, colour; KITTI flow requires 16 bits, colour"));
    EXPECT_THAT(error_of([&] { read_flow(folder / "grey.png"); }),
                EndsWith(": an image of 16 bits, grey; KITTI flow requires 16 bits, colour"));
    write_kitti(folder / "a.png", 1, {{1, 2, 3}});
    const std::string whole = read_bytes(folder / "a.png");
    write_bytes(folder / "short.png", whole.substr(0, whole.size() - 1));
    EXPECT_THAT(error_of([&] { read_flow(folder / "short.png"); }), EndsWith(": truncated PNG"));
}

#else

TEST(Kitti, NeedsOpenCv) {
    const TemporaryFolder folder;
    const std::vector<float> values(2);
    EXPECT_THAT(
        error_of([&] {
            write_flow(folder / "a.png", View<const float, 3, Host>(values.data(), {2, 1, 1}));
        }),
        EndsWith("KITTI flow (.png) requires a build with OpenCV; .flo does not"));
    EXPECT_THAT(folder.entries(), IsEmpty());
    write_bytes(folder / "a.png", "\x89PNG\r\n\x1a\n");
    EXPECT_THAT(error_of([&] { read_flow(folder / "a.png"); }),
                EndsWith("KITTI flow (.png) requires a build with OpenCV; .flo does not"));
}

#endif

TEST(MeasuredFlow, RubberWhale) {
    const auto path = aperture::tests::shared_data("middlebury/RubberWhale/flow10.flo");
    if (!path) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
    const Array<float, 3> flow = read_flow(*path);
    EXPECT_EQ(flow.extent(), (core::Extents<3>{2, 388, 584}));
    index_t known = 0;
    float longest = 0;
    for (index_t row = 0; row < 388; ++row) {
        for (index_t x = 0; x < 584; ++x) {
            if (!flow::is_known(flow(0, row, x), flow(1, row, x))) continue;
            ++known;
            longest = std::max(longest, std::hypot(flow(0, row, x), flow(1, row, x)));
        }
    }
    EXPECT_GT(known, 584 * 388 * 9 / 10);
    EXPECT_LT(known, 584 * 388);
    EXPECT_GT(longest, 1);
    EXPECT_LT(longest, 10);
    const TemporaryFolder folder;
    write_flow(folder / "a.flo", flow);
    EXPECT_TRUE(read_bytes(folder / "a.flo") == read_bytes(*path));
}

}  // namespace
}  // namespace aperture::media::tests
