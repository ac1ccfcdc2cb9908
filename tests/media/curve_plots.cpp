// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "aperture/core/error.hpp"
#include "aperture/media/plot.hpp"

namespace aperture::media::tests {
namespace {

constexpr Colour first_curve = {0, 114, 178};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Curve falling(int points, double factor) {
    Curve curve{"", std::vector<double>(static_cast<std::size_t>(points)), {}};
    std::iota(curve.x.begin(), curve.x.end(), 0.0);
    for (const double x : curve.x) curve.y.push_back(std::pow(factor, x));
    return curve;
}

/// Whether a pixel has the colour but for some of the background at the edges of lines.
bool has(const Colour& pixel, const Colour& colour) {
    constexpr int tolerance = 60;
    for (std::size_t c = 0; c < 3; ++c) {
        if (std::abs(pixel[c] - colour[c]) > tolerance) return false;
    }
    return true;
}

/// The mean row of a colour in a column; nothing if the column does not contain it.
std::optional<double> middle(const Picture& picture, int column, Colour colour) {
    double sum = 0;
    int count = 0;
    for (int y = 0; y < picture.height; ++y) {
        if (!has(picture.at(column, y), colour)) continue;
        sum += y;
        ++count;
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
}

/// First and last column that contain a colour.
std::pair<int, int> reach(const Picture& picture, Colour colour) {
    int first = picture.width;
    int last = -1;
    for (int x = 0; x < picture.width; ++x) {
        if (!middle(picture, x, colour)) continue;
        first = std::min(first, x);
        last = x;
    }
    return {first, last};
}

/// Whether any of the columns contains a colour.
bool is_in(const Picture& picture, int first_column, int last_column, Colour colour) {
    for (int x = first_column; x <= last_column; ++x) {
        if (middle(picture, x, colour)) return true;
    }
    return false;
}

TEST(CurvePlot, APowerFallsInAStraightLine) {
    const Picture picture = plot(CurvePlot{"", "", "", {falling(11, 0.1)}}).pixels();
    const auto [left, right] = reach(picture, first_curve);
    EXPECT_GT(right - left, 600);
    const double top = *middle(picture, left + 1, first_curve);
    const double bottom = *middle(picture, right - 1, first_curve);
    EXPECT_GT(bottom - top, 370);
    for (const double share : {0.2, 0.5, 0.8}) {
        const auto column = static_cast<int>(std::lround(left + share * (right - left)));
        EXPECT_NEAR(*middle(picture, column, first_curve), top + share * (bottom - top), 2);
    }
}

TEST(CurvePlot, OneDecadeIsAsHighAsAnother) {
    Curve steps = falling(3, 0.01);
    steps.y = {1, 0.1, 0.001};
    const Picture picture = plot(CurvePlot{"", "", "", {steps}}).pixels();
    const auto [left, right] = reach(picture, first_curve);
    const double first = *middle(picture, left + 1, first_curve);
    const double second = *middle(picture, (left + right) / 2, first_curve);
    const double third = *middle(picture, right - 1, first_curve);
    EXPECT_NEAR(third - second, 2 * (second - first), 4);
}

TEST(CurvePlot, BreaksOffWhereThereIsNothingToDraw) {
    for (const double gap : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        Curve curve = falling(5, 0.1);
        curve.y[2] = gap;
        const Picture picture = plot(CurvePlot{"", "", "", {curve}}).pixels();
        const auto [left, right] = reach(picture, first_curve);
        const int centre = (left + right) / 2;
        EXPECT_FALSE(is_in(picture, centre - 100, centre + 100, first_curve)) << gap;
        EXPECT_TRUE(is_in(picture, left, left + 40, first_curve)) << gap;
        EXPECT_TRUE(is_in(picture, right - 40, right, first_curve)) << gap;
    }
}

TEST(CurvePlot, LaterCurvesAreDashed) {
    CurvePlot many;
    for (int i = 0; i < 8; ++i) many.curves.push_back(falling(3, 0.5 - 0.05 * i));
    many.curves[0].y = {1, 1, 1};
    const Picture picture = plot(many).pixels();
    // The eighth curve has the colour of the first, which is flat at the top.
    int there = 0;
    int gaps = 0;
    for (int x = 80; x < 700; ++x) {
        int lowest = 0;
        for (int y = 60; y < picture.height; ++y) {
            if (has(picture.at(x, y), first_curve)) lowest = y;
        }
        lowest > 0 ? ++there : ++gaps;
    }
    EXPECT_GT(there, 200);
    EXPECT_GT(gaps, 150);
}

TEST(CurvePlot, HasALegendForSeveral) {
    const Picture one = plot(CurvePlot{"", "", "", {falling(3, 0.5)}}).pixels();
    const Picture two = plot(CurvePlot{"", "", "", {falling(3, 0.5), falling(3, 0.4)}}).pixels();
    EXPECT_GT(two.width, one.width + 100);
    EXPECT_EQ(two.height, one.height);
}

TEST(CurvePlot, ALinearAxisReachesFromLeastToMostUnlessCutOff) {
    CurvePlot linear{"", "", "", {{"", {0, 1, 2, 3}, {-10, -5, 0, -1e5}}}};
    linear.logarithmic = false;
    linear.lowest = -20;
    linear.marked_x = {1};
    const Picture picture = plot(linear).pixels();
    const auto [left, right] = reach(picture, first_curve);
    const double at_0 = *middle(picture, left + 1, first_curve);
    const double at_1 = *middle(picture, left + (right - left) / 3, first_curve);
    const double at_2 = *middle(picture, left + 2 * (right - left) / 3 - 1, first_curve);
    EXPECT_NEAR(at_0 - at_1, at_1 - at_2, 5);
    // 20 dB are ten elevenths of the height.
    EXPECT_NEAR(at_0 - at_2, 400 * 10 / 22.0, 6);
    EXPECT_NEAR(*middle(picture, right - 1, first_curve) - at_2, 400 * 20 / 22.0, 20);
    // The marked line is dashed and dark.
    EXPECT_TRUE(
        is_in(picture, left + (right - left) / 3 - 1, left + (right - left) / 3 + 1, {38, 38, 42}));
}

TEST(CurvePlot, ALogarithmicXHasEqualRatiosEquallyFarApart) {
    CurvePlot plotted{"", "", "", {{"", {1, 8, 64}, {0, 1, 2}}}};
    plotted.logarithmic = false;
    plotted.logarithmic_x = true;
    const Picture picture = plot(plotted).pixels();
    const auto [left, right] = reach(picture, first_curve);
    const double first = *middle(picture, left + 1, first_curve);
    const double last = *middle(picture, right - 1, first_curve);
    EXPECT_NEAR(*middle(picture, (left + right) / 2, first_curve), (first + last) / 2, 2);
    plotted.curves[0].x[0] = 0;
    EXPECT_THROW(plot(plotted), core::InvalidArgument);
}

TEST(LogarithmicTicks, ArePowersOfTenAndBetweenFewOfThemTwoAndFive) {
    using testing::DoubleEq;
    using testing::ElementsAre;
    EXPECT_THAT(logarithmic_ticks(1, 64, 9), ElementsAre(1, 2, 5, 10, 20, 50));
    EXPECT_THAT(logarithmic_ticks(1e-6, 1e-2, 9),
                ElementsAre(DoubleEq(1e-6), DoubleEq(1e-5), DoubleEq(1e-4), DoubleEq(1e-3),
                            DoubleEq(1e-2)));
    EXPECT_LE(logarithmic_ticks(1e-30, 1, 9).size(), 11U);
    EXPECT_THAT(logarithmic_ticks(1.2, 1.9, 4),
                ElementsAre(DoubleEq(1.2), DoubleEq(1.4), DoubleEq(1.6), DoubleEq(1.8)));
}

TEST(CurvePlot, EndsWhateverTheNumbers) {
    EXPECT_GT(plot(CurvePlot{}).columns(), 0);
    EXPECT_GT(plot(CurvePlot{"", "", "", {{"", {0}, {1}}}}).columns(), 0);
    EXPECT_GT(plot(CurvePlot{"", "", "", {{"", {0, 1}, {nan, nan}}}}).columns(), 0);
    EXPECT_GT(plot(CurvePlot{"", "", "", {{"", {0, 1e300}, {1e-300, 1e300}}}}).columns(), 0);
}

TEST(CurvePlot, RefusesWhatIsNoCurve) {
    EXPECT_THROW(plot(CurvePlot{"", "", "", {{"", {0, 1}, {1}}}}), core::InvalidArgument);
    EXPECT_THROW(plot(CurvePlot{"", "", "", {{"", {0, nan}, {1, 1}}}}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::media::tests
