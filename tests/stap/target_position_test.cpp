// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/stap/problem_with_statistic.hpp"

namespace aperture::stap {
namespace {

float power_of(double db) { return static_cast<float>(std::pow(10, db / 10)); }

TEST(Interpolation, IsExactForParabolas) {
    ProblemWithStatistic made;
    // Peaks of 30 dB less the square of the distance to cell 12.3, bin 4.8, -4 degrees, 2 degrees.
    const auto decibels = [&](int d, int k, index_t r) {
        const Direction& at = made.grid.directions[std::size_t(d)];
        return 30 - 8 * std::pow(double(r) - 12.3, 2) - 6 * std::pow(k - 4.8, 2) -
               std::pow((at.azimuth_degrees + 4) / 5, 2) -
               std::pow((at.elevation_degrees - 2) / 5, 2);
    };
    for (int d = 0; d < 12; ++d)
        for (int k = 0; k < 8; ++k)
            for (index_t r = 0; r < 30; ++r)
                made.results.statistic(d, k, r) = power_of(decibels(d, k, r));
    const EstimatedTarget target = made.target(6, 5, 12);
    EXPECT_NEAR(target.range_cell, 12.3, 1e-5);
    EXPECT_NEAR(target.doppler, 4.8 / 8 - 1, 1e-6);
    EXPECT_NEAR(target.azimuth_degrees, -4, 1e-4);
    EXPECT_NEAR(target.elevation_degrees, 2, 1e-4);
    EXPECT_NEAR(target.statistic, 1000, 1e-2);
    // From a cell beside the peak, it stays half way to the neighbour.
    const EstimatedTarget beside = made.target(6, 5, 10);
    EXPECT_EQ(beside.range_cell, 10.5);
    EXPECT_EQ(made.target(6, 5, 15).range_cell, 14.5);
    EXPECT_EQ(made.target(5, 5, 12).azimuth_degrees, -5);
    // The last row has no neighbour.
    EXPECT_EQ(made.target(10, 5, 12).elevation_degrees, 10);
}

TEST(Interpolation, WrapsInDopplerOnly) {
    ProblemWithStatistic made;
    auto& statistic = made.results.statistic;
    statistic(5, 0, 0) = 100;
    statistic(5, 7, 0) = 10;
    statistic(5, 0, 29) = 50;
    statistic(5, 4, 3) = 100;
    statistic(5, 5, 3) = 10;
    // 20 dB above one neighbour, 10 dB above the other: one sixth of a bin.
    const EstimatedTarget first = made.target(5, 0, 0);
    EXPECT_NEAR(first.doppler, -1.0 / 6 / 8, 1e-7);
    EXPECT_EQ(first.range_cell, 0);
    // Half a turn is the same to either side.
    EXPECT_NEAR(made.target(5, 4, 3).doppler, (4 + 1.0 / 6) / 8 - 1, 1e-7);
    EXPECT_EQ(made.target(5, 0, 29).range_cell, 29);
}

TEST(Interpolation, EndsWithTheRowOfAGrid) {
    ProblemWithStatistic made;
    auto& statistic = made.results.statistic;
    statistic(7, 3, 9) = 100;  // the last azimuth of the second row
    statistic(6, 3, 9) = 50;
    statistic(8, 3, 9) = 90;  // the first of the third row
    statistic(11, 3, 9) = 50;
    const EstimatedTarget target = made.target(7, 3, 9);
    EXPECT_EQ(target.azimuth_degrees, 20);
    EXPECT_GT(target.elevation_degrees, 0);
    statistic(1, 3, 9) = 100;
    EXPECT_EQ(made.target(1, 3, 9).elevation_degrees, -20);
    made.grid.row_length = 0;
    made.grid.directions[8].azimuth_degrees = 30;
    EXPECT_GT(made.target(7, 3, 9).azimuth_degrees, 21);
    EXPECT_EQ(made.target(7, 3, 9).elevation_degrees, 0);
}

TEST(Interpolation, NeedsNeighboursAndAMaximum) {
    for (const float neighbour : {0.0f, -1.0f, float(NAN), float(INFINITY)}) {
        ProblemWithStatistic made;
        made.grid = {};
        made.results.statistic(5, 3, 9) = 100;
        made.results.statistic(5, 3, 8) = 50;
        made.results.statistic(5, 3, 10) = neighbour;
        const EstimatedTarget target = made.target(5, 3, 9);
        EXPECT_EQ(target.range_cell, 9) << neighbour;
        EXPECT_NEAR(target.statistic, 100, 1e-9);
    }
    ProblemWithStatistic flat;
    EXPECT_EQ(flat.target(5, 3, 9).range_cell, 9);
    EXPECT_EQ(flat.target(5, 3, 9).doppler, 3.0 / 8);
    flat.results.statistic(5, 3, 8) = 2;
    flat.results.statistic(5, 3, 10) = 2;
    EXPECT_EQ(flat.target(5, 3, 9).range_cell, 9);
}

}  // namespace
}  // namespace aperture::stap
