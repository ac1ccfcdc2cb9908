// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "aperture/core/error.hpp"
#include "aperture/media/plot.hpp"
#include "aperture/signal/colour_map.hpp"

namespace aperture::media::tests {
namespace {

using core::Array;
using core::index_t;
using signal::colour_at;
using testing::DoubleEq;
using testing::ElementsAre;

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
    EXPECT_EQ(common_range(panels, "dB").low, -20);
    EXPECT_EQ(common_range(panels, "dB").high, 31);
    const auto nothing = constant_map(2, 2, std::numeric_limits<float>::quiet_NaN());
    const std::array<HeatMap, 1> undefined = {HeatMap{nothing, {}, {}, ""}};
    EXPECT_EQ(common_range(undefined, "dB").low, -1);
}

TEST(Plot, ACellIsAWholeNumberOfPixelsAndRowZeroIsAtTheBottom) {
    auto map = constant_map(8, 16, 0);
    map(0, 0) = 10;
    const std::array<HeatMap, 1> panels = {
        HeatMap{map, {"range", 0, 15}, {"doppler", 0, 7}, "one"}};
    const Picture picture = plot(panels, {-20, 10}).pixels();
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
        const Picture picture = plot(panels, {-10, 1}).pixels();
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
    const Picture picture = plot(panels, {-40, 0}).pixels();
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
    const Picture plain = plot(std::span(&panel, 1), {0, 1}).pixels();
    panel.markers = {{107, 1}};
    const Picture marked = plot(std::span(&panel, 1), {0, 1}).pixels();
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
    const Picture picture = plot(panels, {-1, 0}).pixels();
    const auto [columns, rows] = places_of(picture, {150, 150, 150});
    EXPECT_EQ(columns.size(), 160U);
    EXPECT_EQ(rows.size(), 100U);
    EXPECT_GE(places_of(picture, colour_at(0)).first.size(), 160U);
}

TEST(Plot, RefusesNothingToShow) {
    EXPECT_THROW(plot(std::span<const HeatMap>(), {0, 1}), core::InvalidArgument);
    const auto map = constant_map(2, 2, 0);
    const std::array<HeatMap, 1> panels = {HeatMap{map, {}, {}, ""}};
    EXPECT_THROW(plot(panels, {1, 1}), core::InvalidArgument);
    const Array<float, 2> empty({0, 2});
    const std::array<HeatMap, 1> none = {HeatMap{empty, {}, {}, ""}};
    EXPECT_THROW(plot(none, {0, 1}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::media::tests
