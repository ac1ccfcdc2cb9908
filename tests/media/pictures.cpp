// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "aperture/core/error.hpp"
#include "aperture/media/picture.hpp"
#include "aperture/media/plot.hpp"
#include "tests/media/cube_files.hpp"

#if APERTURE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

namespace aperture::media::tests {
namespace {

using core::Array;
using testing::DoubleEq;
using testing::ElementsAre;

double luminance(const Colour& colour) {
    const auto linear = [](std::uint8_t value) {
        const double v = value / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

/// Columns and rows of a picture that contain `colour`.
std::pair<std::set<int>, std::set<int>> places_of(const Picture& picture, Colour colour) {
    std::set<int> columns;
    std::set<int> rows;
    for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
            if (picture.at(x, y) == colour) {
                columns.insert(x);
                rows.insert(y);
            }
        }
    }
    return {columns, rows};
}

Array<float, 2> constant_map(index_t rows, index_t columns, float value) {
    Array<float, 2> map({rows, columns});
    for (float& cell : map) cell = value;
    return map;
}

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

TEST(Picture, DrawingStaysInside) {
    Picture picture(4, 3, {0, 0, 0});
    picture.fill(-5, 1, 7, 100, {9, 9, 9});
    EXPECT_EQ(picture.at(1, 2), (Colour{9, 9, 9}));
    EXPECT_EQ(picture.at(2, 2), (Colour{0, 0, 0}));
    EXPECT_EQ(picture.at(0, 0), (Colour{0, 0, 0}));
    picture.ring(0, 0, 2, 1, {255, 255, 255});
    EXPECT_EQ(picture.at(2, 0), (Colour{255, 255, 255}));
    draw_text(picture, "far too long a text", -3, 1, 10, {255, 0, 0});
    picture.blend(3, 2, {200, 100, 0}, 0.5F);
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

TEST(Picture, LinesAreAsLongAndAsWideAsAsked) {
    const auto covered = [](float x0, float y0, float x1, float y1) {
        Picture picture(60, 60, {0, 0, 0});
        picture.line(x0, y0, x1, y1, 3, {200, 200, 200});
        double sum = 0;
        for (const Colour& pixel : picture.pixels) sum += pixel[0] / 200.0;
        return sum;
    };
    // In every direction: length times width, plus a disc for the two round ends.
    const double area = 40 * 3 + 1.5 * 1.5 * 3.14159;
    EXPECT_NEAR(covered(10, 30, 50, 30), area, 0.02 * area);
    EXPECT_NEAR(covered(30, 50, 30, 10), area, 0.02 * area);
    EXPECT_NEAR(covered(15, 15, 15 + 28.28F, 15 + 28.28F), area, 0.02 * area);
    EXPECT_NEAR(covered(10, 20, 10 + 37.08F, 35), area, 0.02 * area);
    EXPECT_NEAR(covered(30, 30, 30, 30), 1.5 * 1.5 * 3.14159, 0.3);
    // A line that starts far outside covers 20 pixels of the middle row.
    EXPECT_NEAR(covered(-1e6F, 30, 19.5F, 30), 20 * 3 + 4, 2);
    EXPECT_EQ(covered(-30, -30, -20, 90), 0);
    EXPECT_EQ(covered(0, 0, std::numeric_limits<float>::infinity(), 0), 0);
    EXPECT_EQ(covered(std::nanf(""), 0, 5, 5), 0);
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

TEST(Picture, TextIsDrawnWhereItIsAnchored) {
    const auto extent = [](Anchor anchor, bool upward) {
        Picture picture(200, 200, {255, 255, 255});
        draw_text(picture, "Range", 100, 100, 12, {0, 0, 0}, anchor, upward);
        auto [columns, rows] = std::pair<std::set<int>, std::set<int>>{};
        for (int y = 0; y < 200; ++y) {
            for (int x = 0; x < 200; ++x) {
                if (luminance(picture.at(x, y)) < 0.5) {
                    columns.insert(x);
                    rows.insert(y);
                }
            }
        }
        return std::array<int, 4>{*columns.begin(), *columns.rbegin(), *rows.begin(),
                                  *rows.rbegin()};
    };
    EXPECT_GE(extent(Anchor::left, false)[0], 100);
    EXPECT_LT(extent(Anchor::right, false)[1], 100);
    EXPECT_NEAR(extent(Anchor::centre, false)[0] + extent(Anchor::centre, false)[1], 200, 6);
    const auto upward = extent(Anchor::centre, true);
    EXPECT_LT(upward[1] - upward[0], 20);
    EXPECT_GT(upward[3] - upward[2], 25);
}
#else
TEST(Picture, WithoutOpenCvPngBecomesPpm) {
    const TemporaryFolder folder;
    EXPECT_EQ(write_picture(folder / "a.png", Picture(1, 1, {})), folder / "a.ppm");
    EXPECT_THAT(folder.entries(), ElementsAre("a.ppm"));
}
#endif

// Lightness must rise evenly: CIE L* of neighbouring colours differ by about the same everywhere.
TEST(ColourMap, IsMonotonicAndEven) {
    const auto lightness = [](double position) {
        return 116 * std::cbrt(luminance(colour_at(position))) - 16;
    };
    const double mean = (lightness(1) - lightness(0.1)) / 9;
    for (int i = 1; i < 10; ++i) {
        EXPECT_NEAR(lightness(i / 10.0 + 0.1) - lightness(i / 10.0), mean, 0.35 * mean) << i;
    }
    for (int i = 0; i < 64; ++i) EXPECT_GT(lightness((i + 1) / 64.0), lightness(i / 64.0)) << i;
    EXPECT_EQ(colour_at(-1), colour_at(0));
    EXPECT_EQ(colour_at(2), colour_at(1));
}

TEST(Ticks, AreRoundNumbersInside) {
    EXPECT_THAT(ticks(0, 303, 8), ElementsAre(0, 50, 100, 150, 200, 250, 300));
    EXPECT_THAT(ticks(-0.5, 0.5, 5), ElementsAre(DoubleEq(-0.4), DoubleEq(-0.2), DoubleEq(0),
                                                 DoubleEq(0.2), DoubleEq(0.4)));
    EXPECT_THAT(ticks(10, 0, 2), ElementsAre(0, 10));
    EXPECT_THAT(ticks(3, 3, 5), ElementsAre(3));
    for (int most = 1; most < 20; ++most) {
        EXPECT_LE(static_cast<int>(ticks(-17.3, 941.8, most).size()), most);
    }
}

TEST(Decibels, ArePowers) {
    const std::array<std::complex<float>, 3> values = {{{10, 0}, {0, -1}, {0, 0}}};
    const Array<float, 2> db =
        decibels(core::View<const std::complex<float>, 2, core::Host>(values.data(), {1, 3}));
    EXPECT_FLOAT_EQ(db(0, 0), 20);
    EXPECT_FLOAT_EQ(db(0, 1), 0);
    EXPECT_EQ(db(0, 2), -std::numeric_limits<float>::infinity());
}

TEST(Plot, CommonRangeSpansBothPanels) {
    const auto weak = constant_map(10, 10, -20);
    auto strong = constant_map(10, 10, 5);
    strong(3, 3) = 31;
    strong(4, 4) = std::numeric_limits<float>::quiet_NaN();
    strong(5, 5) = std::numeric_limits<float>::infinity();
    const std::array<HeatMap, 2> panels = {HeatMap{weak, {}, {}, ""}, HeatMap{strong, {}, {}, ""}};
    EXPECT_EQ(common_range(panels).low, -20);
    EXPECT_EQ(common_range(panels).high, 31);
    const auto nothing = constant_map(2, 2, std::numeric_limits<float>::quiet_NaN());
    const std::array<HeatMap, 1> undefined = {HeatMap{nothing, {}, {}, ""}};
    EXPECT_EQ(common_range(undefined).low, -1);
}

TEST(Plot, ACellIsAWholeNumberOfPixelsAndRowZeroIsAtTheBottom) {
    auto map = constant_map(8, 16, 0);
    map(0, 0) = 10;
    const std::array<HeatMap, 1> panels = {
        HeatMap{map, {"range", 0, 15}, {"doppler", 0, 7}, "one"}};
    const Picture picture = plot(panels, ColourScale{-20, 10});
    // 640 / 16 = 40 and 400 / 8 = 50 pixels a cell. The first pixel of a cell's colour is the
    // panel's top left corner; the colour bar is to the right.
    const auto [columns, rows] = places_of(picture, colour_at(170.0 / 255));
    const int left = *columns.begin();
    const int top = *rows.begin();
    const Colour bright = colour_at(1);
    EXPECT_EQ(picture.at(left, top + 399), bright);
    EXPECT_EQ(picture.at(left + 39, top + 350), bright);
    EXPECT_NE(picture.at(left + 40, top + 399), bright);
    EXPECT_NE(picture.at(left, top + 349), bright);
    EXPECT_EQ(picture.at(left + 639, top + 399), colour_at(170.0 / 255));
    EXPECT_NE(picture.at(left + 640, top + 399), colour_at(170.0 / 255));
    EXPECT_NE(picture.at(left, top + 400), bright);
}

TEST(Plot, SquareCellsAreSquareWhetherTheyAreEnlargedOrReduced) {
    const auto size_of = [](index_t rows, index_t columns) {
        const auto map = constant_map(rows, columns, 0);
        const std::array<HeatMap, 1> panels = {HeatMap{map, {}, {}, "", {}, true}};
        // A middle colour, which only a few rows of the colour bar have.
        const Colour shown = colour_at(std::lround(255 * 10 / 11.0) / 255.0);
        const Picture picture = plot(panels, ColourScale{-10, 1, ""});
        const int first = *places_of(picture, shown).second.begin();
        int row = 0;
        for (int x = 0; x < picture.width - 90; ++x) row += picture.at(x, first) == shown;
        return std::pair(row, picture.height);
    };
    const int margins = size_of(1, 1).second - 400;
    EXPECT_EQ(size_of(250, 250), std::pair(500, 500 + margins));
    EXPECT_EQ(size_of(8, 16), std::pair(640, 320 + margins));
    EXPECT_EQ(size_of(3, 5000), std::pair(625, 1 + margins));
    EXPECT_EQ(size_of(800, 400), std::pair(200, 400 + margins));
}

TEST(Plot, ReducingKeepsASingleBrightCell) {
    auto map = constant_map(3, 5000, -40);
    map(1, 3333) = 0;
    const std::array<HeatMap, 1> panels = {HeatMap{map, {"", 0, 4999}, {"", 0, 2}, ""}};
    const Picture picture = plot(panels, ColourScale{-40, 0});
    EXPECT_LT(picture.width, 1000);
    const auto [columns, rows] = places_of(picture, colour_at(1));
    // A pixel covers 8 cells, so the bright cell is in column 3333/8 of the panel. The panel starts
    // at the first dark column.
    const auto [all_columns, all_rows] = places_of(picture, colour_at(0));
    EXPECT_TRUE(columns.contains(*all_columns.begin() + 3333 / 8));
    EXPECT_GT(rows.size(), 100U);
}

TEST(Plot, MarkersCircleTheirCell) {
    const auto map = constant_map(8, 16, 0);
    HeatMap panel{map, {"", 100, 115}, {"", -4, 3}, ""};
    const Picture plain = plot(std::span(&panel, 1), ColourScale{0, 1});
    panel.markers = {{107, 1}};
    const Picture marked = plot(std::span(&panel, 1), ColourScale{0, 1});
    double x_sum = 0;
    double y_sum = 0;
    int changed = 0;
    for (int y = 0; y < plain.height; ++y) {
        for (int x = 0; x < plain.width; ++x) {
            if (plain.at(x, y) != marked.at(x, y)) {
                x_sum += x;
                y_sum += y;
                ++changed;
            }
        }
    }
    const auto [columns, rows] = places_of(plain, colour_at(0));
    ASSERT_GT(changed, 50);
    EXPECT_NEAR(x_sum / changed, *columns.begin() + 7.5 * 40 - 0.5, 0.1);
    EXPECT_NEAR(y_sum / changed, *rows.begin() + 2.5 * 50 - 0.5, 0.1);
}

TEST(Plot, NanIsNeitherHighNorLow) {
    auto map = constant_map(4, 4, 0);
    map(2, 2) = std::numeric_limits<float>::quiet_NaN();
    map(1, 1) = -std::numeric_limits<float>::infinity();
    const std::array<HeatMap, 1> panels = {HeatMap{map, {"", 0, 3}, {"", 0, 3}, ""}};
    const Picture picture = plot(panels, ColourScale{-1, 0});
    const auto [columns, rows] = places_of(picture, {150, 150, 150});
    EXPECT_EQ(columns.size(), 160U);
    EXPECT_EQ(rows.size(), 100U);
    EXPECT_GE(places_of(picture, colour_at(0)).first.size(), 160U);
}

TEST(Plot, RefusesNothingToShow) {
    EXPECT_THROW(plot(std::span<const HeatMap>()), core::InvalidArgument);
    const auto map = constant_map(2, 2, 0);
    const std::array<HeatMap, 1> panels = {HeatMap{map, {}, {}, ""}};
    EXPECT_THROW(plot(panels, ColourScale{1, 1}), core::InvalidArgument);
    const Array<float, 2> empty({0, 2});
    const std::array<HeatMap, 1> none = {HeatMap{empty, {}, {}, ""}};
    EXPECT_THROW(plot(none, ColourScale{0, 1}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::media::tests
