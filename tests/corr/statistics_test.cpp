// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "aperture/core/error.hpp"
#include "tests/corr/oracle.hpp"

namespace aperture::corr {
namespace {

using testing::ElementsAre;

Surface surface_of(const std::vector<std::vector<double>>& rows) {
    Surface surface({std::ssize(rows), std::ssize(rows.front())});
    auto* to = surface.begin();
    for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
    return surface;
}

template <class Value>
Surface surface_of(const Lags& lags, const Value& value) {
    Surface surface({lags.extent().rows, lags.extent().columns});
    for (index_t i = 0; i < lags.extent().rows; ++i) {
        for (index_t j = 0; j < lags.extent().columns; ++j) {
            surface(i, j) = value(static_cast<double>(lags.first_row() + i),
                                  static_cast<double>(lags.first_column() + j));
        }
    }
    return surface;
}

TEST(CorrelationLengths, AreWhereTheSurfaceFallsToOneOverE) {
    for (const bool both_signs : {false, true}) {
        const Lags lags{9, 12, both_signs};
        // Linear, so that interpolation is exact: falls by 1 - 1/e after 4.25 and 6.5 pixels.
        const double fall = 1 - std::exp(-1.0);
        const auto lengths = correlation_lengths(
            surface_of(lags,
                       [&](double dy, double dx) {
                           return 7 * (1 - fall * (std::abs(dy) / 6.5 + std::abs(dx) / 4.25));
                       }),
            lags);
        ASSERT_TRUE(lengths.x && lengths.y);
        EXPECT_NEAR(*lengths.x, 4.25, 1e-12);
        EXPECT_NEAR(*lengths.y, 6.5, 1e-12);
    }
}

TEST(CorrelationLengths, AreNoneWhereItNeverFallsOrHasNoHeight) {
    const Lags lags{3, 4};
    const auto flat = correlation_lengths(surface_of(lags, [](double, double) { return 2; }), lags);
    EXPECT_FALSE(flat.x || flat.y);
    const auto zero = correlation_lengths(surface_of(lags, [](double, double) { return 0; }), lags);
    EXPECT_FALSE(zero.x || zero.y);
    const auto row = correlation_lengths(surface_of({{5, 0, 0}}), {1, 3});
    EXPECT_TRUE(row.x);
    EXPECT_FALSE(row.y);
    const double nan = std::nan("");
    EXPECT_EQ(correlation_lengths(surface_of({{nan, 0, 0}}), {1, 3}).x, std::nullopt);
    EXPECT_EQ(correlation_lengths(surface_of({{5, nan, 0}}), {1, 3}).x, 2);
}

TEST(CorrelationLengths, AboutAPeakAreThoseOfThePeakWhereverItIs) {
    const Lags lags{40, 50, true};
    for (const auto& [dy, dx] : {std::pair{0.0, 0.0}, {-17.3, 4.25}, {12.4, -30.6}}) {
        const Peak peak{dy, dx, 5};
        const auto lengths = correlation_lengths(
            surface_of(lags,
                       [peak](double y, double x) {
                           const double down = std::pow((y - peak.dy) / 9, 2);
                           return 5 * std::exp(-down) * std::exp(-std::pow((x - peak.dx) / 6, 2));
                       }),
            lags, peak);
        ASSERT_TRUE(lengths.x && lengths.y);
        EXPECT_NEAR(*lengths.x, 6, 0.1) << dx;
        EXPECT_NEAR(*lengths.y, 9, 0.1) << dy;
    }
    const Surface surface({79, 99});
    EXPECT_THROW(correlation_lengths(surface, lags, {40, 0, 1}), core::InvalidArgument);
}

TEST(Peaks, OnTheBorderOfWhatWasSearchedAreSaidToBe) {
    // The maximum is at dy = -3, dx = 7.
    const auto towards = [](double dy, double dx) { return 20 - std::hypot(dy + 3, dx - 7); };
    const auto largest = [&](const Lags& lags) {
        return largest_on_border(surface_of(lags, towards), lags);
    };
    EXPECT_FALSE(largest({5, 9, true}));
    const auto one_sign = largest({5, 9});
    ASSERT_TRUE(one_sign);
    EXPECT_EQ(one_sign->dy, 0);
    EXPECT_EQ(one_sign->dx, 7);
    EXPECT_EQ(one_sign->value, 17);
    const auto few_columns = largest({5, 6, true});
    ASSERT_TRUE(few_columns);
    EXPECT_EQ(few_columns->dy, -3);
    EXPECT_EQ(few_columns->dx, 5);
    // A single row has no border above or below.
    EXPECT_FALSE(largest({1, 9, true}));
    EXPECT_FALSE(largest_on_border(surface_of({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}), {3, 3}));
    const double nan = std::nan("");
    EXPECT_FALSE(largest_on_border(surface_of({{nan, nan}, {nan, nan}}), {2, 2}));
}

TEST(Peaks, AreFoundBetweenEntries) {
    for (const bool both_signs : {false, true}) {
        const Lags lags{12, 20, both_signs};
        const auto surface = surface_of(lags, [&](double dy, double dx) {
            const double off = std::max(0.0, 3 - std::pow(dy - 6.25, 2) - std::pow(dx - 9.6, 2));
            const double at_centre = std::max(0.0, 9 - dy * dy - dx * dx);
            return off + at_centre;
        });
        const auto peak = strongest_peak(surface, lags, Centre::excluded);
        ASSERT_TRUE(peak);
        EXPECT_NEAR(peak->dy, 6.25, 1e-12);
        EXPECT_NEAR(peak->dx, 9.6, 1e-12);
        EXPECT_NEAR(peak->value, 3, 1e-12);
        const auto centre = strongest_peak(surface, lags, Centre::counts);
        ASSERT_TRUE(centre);
        EXPECT_NEAR(centre->dy, 0, 1e-12);
        EXPECT_NEAR(centre->dx, 0, 1e-12);
        EXPECT_EQ(centre->value, 9);
    }
}

TEST(Peaks, OfBothSignsAreFoundWhereTheyAre) {
    const Lags lags{5, 5, true};
    Surface surface({9, 9});
    std::fill(surface.begin(), surface.end(), 0.0);
    surface(4 - 3, 4 + 2) = 2;
    surface(4 + 3, 4 - 2) = 1;
    const auto peak = strongest_peak(surface, lags, Centre::excluded);
    ASSERT_TRUE(peak);
    EXPECT_EQ(peak->dy, -3);
    EXPECT_EQ(peak->dx, 2);
}

TEST(Peaks, OnTheAxesAreFoundAtWholePixelsAcross) {
    const auto peak =
        strongest_peak(surface_of({{9, 1, 1, 4, 2, 0}, {5, 1, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 0}}),
                       {3, 6}, Centre::excluded);
    ASSERT_TRUE(peak);
    EXPECT_EQ(peak->dy, 0);
    EXPECT_NEAR(peak->dx, 3 + 0.1, 1e-12);
    EXPECT_NEAR(peak->value, 4.025, 1e-12);
    const auto row = strongest_peak(surface_of({{9, 1, 4, 1}}), {1, 4}, Centre::excluded);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->dx, 2);
}

TEST(Peaks, AreNoneOnSlopesPlateausAndTheOuterEdge) {
    const auto none = [](const Surface& surface, const Lags& lags) {
        return !strongest_peak(surface, lags, Centre::excluded);
    };
    EXPECT_TRUE(none(surface_of({{9, 8, 7}, {8, 7, 6}, {7, 6, 5}}), {3, 3}));
    EXPECT_TRUE(none(surface_of({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}), {3, 3}));
    EXPECT_TRUE(none(surface_of({{9, 1, 8}, {1, 1, 1}, {8, 1, 8}}), {3, 3}));
    EXPECT_TRUE(none(
        surface_of(
            {{8, 1, 8, 1, 8}, {1, 1, 1, 1, 1}, {8, 1, 9, 1, 8}, {1, 1, 1, 1, 1}, {8, 1, 8, 1, 8}}),
        {3, 3, true}));
    EXPECT_TRUE(none(surface_of({{1}}), {1, 1}));
    const double nan = std::nan("");
    EXPECT_TRUE(none(surface_of({{nan, nan, nan, nan}, {nan, nan, nan, nan}}), {2, 4}));
    EXPECT_FALSE(strongest_peak(surface_of({{nan}}), {1, 1}, Centre::counts));
}

/// Entries above all neighbours, as strongest_peak defines them: the first of the largest.
std::optional<std::pair<index_t, index_t>> defined_peak(const Surface& surface, const Lags& lags,
                                                        Centre centre) {
    const auto [rows, columns] = surface.extent();
    std::optional<std::pair<index_t, index_t>> found;
    for (index_t y = 0; y < rows; ++y) {
        for (index_t x = 0; x < columns; ++x) {
            const index_t dy = lags.first_row() + y;
            const index_t dx = lags.first_column() + x;
            const bool at_end = (lags.rows > 1 && std::abs(dy) == lags.rows - 1) ||
                                (lags.columns > 1 && std::abs(dx) == lags.columns - 1);
            bool counts = !at_end && !std::isnan(surface(y, x)) &&
                          (dy != 0 || dx != 0 || centre == Centre::counts);
            for (index_t j = 0; j < rows; ++j) {
                for (index_t i = 0; i < columns; ++i) {
                    const index_t apart = std::max(std::abs(j - y), std::abs(i - x));
                    counts = counts && (apart != 1 || surface(y, x) > surface(j, i));
                }
            }
            if (!counts) continue;
            if (!found || surface(y, x) > surface(found->first, found->second)) found = {y, x};
        }
    }
    return found;
}

/// The first of the largest positive entries if it is on the border, and all others are below.
std::optional<std::pair<index_t, index_t>> defined_on_border(const Surface& surface) {
    const auto [rows, columns] = surface.extent();
    std::optional<std::pair<index_t, index_t>> found;
    for (const bool border : {true, false}) {
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                const bool at_end = (rows > 1 && (y == 0 || y == rows - 1)) ||
                                    (columns > 1 && (x == 0 || x == columns - 1));
                if (at_end != border) continue;
                if (!border && found && surface(y, x) >= surface(found->first, found->second)) {
                    return std::nullopt;
                }
                const double largest = found ? surface(found->first, found->second) : 0;
                if (border && surface(y, x) > largest) found = {y, x};
            }
        }
    }
    return found;
}

TEST(Peaks, AreThoseOfTheDefinitionOnSurfacesOfAllShapes) {
    std::mt19937 random(3);
    const auto is_at = [](const Lags& lags, const std::optional<Peak>& peak,
                          const std::optional<std::pair<index_t, index_t>>& at) {
        if (!peak || !at) return !peak && !at;
        // Between entries by at most a half.
        return std::abs(peak->dy - static_cast<double>(lags.first_row() + at->first)) <= 0.5 &&
               std::abs(peak->dx - static_cast<double>(lags.first_column() + at->second)) <= 0.5;
    };
    int on_borders = 0;
    for (const auto& [rows, columns] : {std::pair<index_t, index_t>{1, 1},
                                        {1, 2},
                                        {1, 9},
                                        {2, 1},
                                        {9, 1},
                                        {2, 2},
                                        {3, 3},
                                        {4, 5},
                                        {7, 4},
                                        {5, 17},
                                        {12, 20}}) {
        for (int trial = 0; trial < 200; ++trial) {
            const Lags lags{rows, columns, trial % 2 == 1};
            // Few values, so that many are the same; or any.
            std::uniform_int_distribution<int> steps(-3, trial % 3 == 0 ? 4 : 100'000);
            std::uniform_int_distribution<int> one_in(0, 40);
            const auto surface = surface_of(lags, [&](double, double) {
                const int special = trial % 4 == 3 ? one_in(random) : 0;
                if (special == 1) return std::nan("");
                if (special == 2) return -1e300;
                return static_cast<double>(steps(random)) / 4;
            });
            for (const Centre centre : {Centre::counts, Centre::excluded}) {
                EXPECT_TRUE(is_at(lags, strongest_peak(surface, lags, centre),
                                  defined_peak(surface, lags, centre)))
                    << rows << 'x' << columns << ", trial " << trial;
            }
            const auto on_border = largest_on_border(surface, lags);
            const auto defined = defined_on_border(surface);
            EXPECT_TRUE(is_at(lags, on_border, defined))
                << rows << 'x' << columns << ", trial " << trial;
            if (on_border && defined) {
                EXPECT_EQ(on_border->value, surface(defined->first, defined->second));
                ++on_borders;
            }
        }
    }
    EXPECT_GT(on_borders, 100);
}

TEST(Findings, OfOneImageAreAboutTheCentreAndOfAPairAboutThePeak) {
    const Surface surface =
        surface_of({{0.9, 0, 0, 0}, {0, 0, 0, 0}, {0, 0.8, 1, 0}, {0, 0, 0, 0}});
    const SurfaceFindings one = find_out(surface, {4, 4}, Estimator::pearson, false);
    ASSERT_TRUE(one.peak);
    EXPECT_NEAR(one.peak->dx, 2 - 0.5 * 0.8 / 1.2, 1e-12);
    EXPECT_EQ(one.peak->value, 1);
    EXPECT_FALSE(one.on_border);
    EXPECT_EQ(one.lengths.x, correlation_lengths(surface, {4, 4}).x);
    EXPECT_GT(find_out(surface, {4, 4}, Estimator::raw, false).peak->value, 1);

    const SurfaceFindings pair = find_out(surface, {4, 4}, Estimator::raw, true);
    ASSERT_TRUE(pair.peak);
    EXPECT_EQ(pair.lengths.x, correlation_lengths(surface, {4, 4}, *pair.peak).x);
    EXPECT_NE(pair.lengths.x, one.lengths.x);
    EXPECT_FALSE(pair.on_border);
    EXPECT_TRUE(find_out(surface_of({{2, 1}, {1, 1}}), {2, 2}, Estimator::raw, true).on_border);
}

TEST(RadialAverages, AreMeansOverRings) {
    const auto [mean, counts] = radial_average(surface_of({{10, 1, 2}, {3, 4, 6}}), {2, 3});
    // Distances in the rings: 0; 1, 1, 1.41; 2, 2.24.
    EXPECT_THAT(mean, ElementsAre(10, (1.0 + 3 + 4) / 3, 4));
    EXPECT_THAT(counts, ElementsAre(1, 3, 2));
    const auto both = radial_average(surface_of({{1, 2, 3}, {4, 5, 6}, {7, 8, 18}}), {2, 2, true});
    EXPECT_THAT(both.mean, ElementsAre(5, (1.0 + 2 + 3 + 4 + 6 + 7 + 8 + 18) / 8));
    EXPECT_THAT(both.counts, ElementsAre(1, 8));
}

TEST(Ensembles, HaveMeanAndDeviation) {
    EnsembleStatistics ensemble;
    ensemble.add(surface_of({{1e9 + 1, 5}}));
    const auto of_one = ensemble.deviation();
    EXPECT_THAT(std::vector(of_one.begin(), of_one.end()), ElementsAre(0, 0));
    ensemble.add(surface_of({{1e9 + 2, 5}}));
    ensemble.add(surface_of({{1e9 + 6, 5}}));
    EXPECT_EQ(ensemble.count(), 3);
    EXPECT_EQ(ensemble.mean()(0, 0), 1e9 + 3);
    EXPECT_EQ(ensemble.mean()(0, 1), 5);
    const auto deviation = ensemble.deviation();
    EXPECT_NEAR(deviation(0, 0), std::sqrt(7.0), 1e-6);  // (4 + 1 + 9) / 2
    EXPECT_EQ(deviation(0, 1), 0);
    EXPECT_THROW(ensemble.add(surface_of({{1, 2, 3}})), core::InvalidArgument);
}

TEST(Statistics, OfOtherExtentsAreRefused) {
    const Surface surface({3, 4});
    EXPECT_THROW(radial_average(surface, {3, 5}), core::InvalidArgument);
    EXPECT_THROW(correlation_lengths(surface, {3, 4, true}), core::InvalidArgument);
    EXPECT_THROW(strongest_peak(surface, {4, 3}, Centre::counts), core::InvalidArgument);
    EXPECT_THROW(largest_on_border(surface, {4, 3}), core::InvalidArgument);
    const SurfaceView transposed(surface.data(), {4, 3}, {1, 4});
    EXPECT_THROW(strongest_peak(transposed, {4, 3}, Centre::counts), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::corr
