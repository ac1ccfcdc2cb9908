// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/pair_correlator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "aperture/core/error.hpp"
#include "aperture/core/memory.hpp"
#include "aperture/corr/pair_peaks.hpp"
#include "tests/corr/correlation_cases.hpp"

namespace aperture::corr {
namespace {

using Sums = core::Array<double, 3>;

Sums sums_for(const Problem& problem) {
    const Shape extent = problem.lags.extent();
    return Sums({problem.surfaces(), extent.rows, extent.columns});
}

using PairCase = std::tuple<Shape, bool, bool>;

std::string name_of(const PairCase& c) {
    const auto& [shape, both_signs, each_plane] = c;
    return std::to_string(shape.rows) + "x" + std::to_string(shape.columns) +
           (both_signs ? "_signed" : "") + (each_plane ? "_each_plane" : "");
}

class Pairs : public testing::TestWithParam<PairCase> {};
INSTANTIATE_TEST_SUITE_P(All, Pairs,
                         testing::Combine(testing::Values(Shape{1, 1}, Shape{17, 23},
                                                          Shape{33, 70}),
                                          testing::Bool(), testing::Bool()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(Pairs, AreTheOracles) {
    const auto& [shape, both_signs, each_plane] = GetParam();
    const Lags lags{(shape.rows + 1) / 2, shape.columns, both_signs};
    const Problem problem{2, shape, lags, Method::direct, each_plane};
    core::Cpu cpu(2);
    PairCorrelator<core::Cpu> correlator(cpu, problem, 3);
    expect_every_pair(
        problem,
        [&](index_t image, const Planes& planes) {
            correlator.load(image, FramedPlanes(planes).view());
        },
        [&](index_t a, index_t b) {
            Sums found = sums_for(problem);
            correlator.run(a, b, found);
            return found;
        });
}

TEST(Pairs, HaveTheSameBitsForEveryNumberOfThreads) {
    const Problem problem{3, {41, 53}, {20, 30, true}};
    const Planes a = planes_of(Content::contrast, 3, problem.image, 1);
    const Planes b = planes_of(Content::bright, 3, problem.image, 2);
    const auto found = [&](int threads) {
        core::Cpu cpu(threads);
        PairCorrelator<core::Cpu> correlator(cpu, problem, 2);
        correlator.load(0, a);
        correlator.load(1, b);
        Sums sums = sums_for(problem);
        correlator.run(0, 1, sums);
        return std::vector<double>(sums.begin(), sums.end());
    };
    EXPECT_EQ(found(1), found(3));
}

TEST(Pairs, ThatCannotBeAreRefused) {
    const Problem problem{1, {8, 9}, {4, 4}};
    core::Cpu cpu(1);
    EXPECT_THROW(PairCorrelator<core::Cpu>(cpu, {1, {8, 9}, {9, 4}}, 2), core::InvalidArgument);
    EXPECT_THROW(PairCorrelator<core::Cpu>(cpu, {0, {8, 9}, {4, 4}}, 2), core::InvalidArgument);
    EXPECT_THROW(PairCorrelator<core::Cpu>(cpu, problem, 0), core::InvalidArgument);
    PairCorrelator<core::Cpu> correlator(cpu, problem, 2);
    const Planes image = planes_of(Content::contrast, 1, problem.image, 1);
    Sums sums = sums_for(problem);
    correlator.load(0, image);
    EXPECT_THROW(correlator.load(2, image), core::InvalidArgument);
    EXPECT_THROW(correlator.load(-1, image), core::InvalidArgument);
    EXPECT_THROW(correlator.load(1, Planes({1, 8, 8})), core::InvalidArgument);
    EXPECT_THROW(correlator.run(0, 1, sums), core::InvalidArgument);
    EXPECT_THROW(correlator.run(0, 2, sums), core::InvalidArgument);
    EXPECT_THROW(correlator.run(0, 0, Sums({1, 4, 3})), core::InvalidArgument);
}

TEST(Pairs, OfMoreImagesThanMemoryHoldsAreRefusedWithTheNeed) {
    ASSERT_TRUE(core::available_memory().has_value());
    EXPECT_GT(*core::available_memory(), std::size_t{1} << 20);
    core::Cpu cpu(1);
    try {
        const PairCorrelator<core::Cpu> none(cpu, {4, {500, 500}, {250, 250}}, 100'000'000);
        FAIL() << "not refused";
    } catch (const core::InvalidArgument& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("pairs of 100000000 images need "));
        EXPECT_THAT(error.what(), testing::HasSubstr(" GiB of memory, but "));
    }
}

TEST(Pairs, OfAPrecisionThatTransformsDoNotHaveAreRefused) {
    core::Cpu cpu(1);
    for (const Precision precision : {Precision::tf32x3, Precision::fp64}) {
        const Problem problem{1, {4, 5}, {2, 3}, Method::direct, false, 1, precision};
        EXPECT_THROW(PairCorrelator<core::Cpu>(cpu, problem, 1), core::InvalidArgument);
    }
}

TEST(Energy, IsTheSumOfSquares) {
    Planes planes({2, 3, 2});
    for (index_t i = 0; i < 12; ++i) planes.data()[i] = static_cast<float>(i) - 4;
    core::Cpu cpu(2);
    EXPECT_EQ(energy(cpu, planes), 16 + 9 + 4 + 1 + 1 + 4 + 9 + 16 + 25 + 36 + 49);
}

TEST(PairPeaks, NeedNoProgress) {
    const std::vector<double> energies{4, 4};
    const PairPeaks found = find_pair_peaks(
        energies, {1, 1, true},
        [](index_t, index_t, core::View<double, 3, core::Host> sums) { sums(0, 0, 0) = 1; }, {});
    EXPECT_EQ(found.peaks(0, 1), 0.25);
}

/// Images of one row: 0 1 2 0 0, the same shifted right by two, its negative, and zeros.
TEST(PairPeaks, AreThoseOfExamplesByHand) {
    const Lags lags{1, 4, true};
    std::vector<Planes> images;
    for (const std::array<float, 5>& row : {std::array<float, 5>{0, 1, 2, 0, 0},
                                            {0, 0, 0, 1, 2},
                                            {0, -1, -2, 0, 0},
                                            {0, 0, 0, 0, 0}}) {
        images.emplace_back(core::Extents<3>{1, 1, 5});
        std::copy(row.begin(), row.end(), images.back().begin());
    }
    core::Cpu cpu(2);
    const auto peaks_of = [&](const Lags& chosen) {
        PairCorrelator<core::Cpu> correlator(cpu, {1, {1, 5}, chosen}, 4);
        std::vector<double> energies;
        for (index_t i = 0; i < 4; ++i) {
            correlator.load(i, images[static_cast<std::size_t>(i)]);
            energies.push_back(energy(cpu, images[static_cast<std::size_t>(i)]));
        }
        index_t last = 0;
        PairPeaks found = find_pair_peaks(
            energies, chosen,
            [&](index_t a, index_t b, core::View<double, 3, core::Host> sums) {
                correlator.run(a, b, sums);
            },
            [&](index_t done, index_t all) {
                EXPECT_EQ(done, ++last);
                EXPECT_EQ(all, chosen.both_signs ? 6 : 12);
            });
        EXPECT_EQ(found.pairs, chosen.both_signs ? 6 : 12);
        EXPECT_EQ(last, found.pairs);
        return found;
    };
    const auto expect = [](const PairPeaks& found, index_t a, index_t b, double peak, int dx) {
        EXPECT_NEAR(found.peaks(a, b), peak, 1e-6) << a << ' ' << b;
        EXPECT_EQ(found.displacements(a, b, 0), 0) << a << ' ' << b;
        EXPECT_EQ(found.displacements(a, b, 1), dx) << a << ' ' << b;
        EXPECT_LE(std::abs(found.peaks(a, b)), 1);
    };
    const PairPeaks both = peaks_of(lags);
    for (index_t i = 0; i < 3; ++i) {
        EXPECT_EQ(both.peaks(i, i), 1);
        expect(both, i, i, 1, 0);
    }
    // The content of the second image is two columns further left in the first.
    expect(both, 0, 1, 1, -2);
    expect(both, 1, 0, 1, 2);
    for (index_t i = 0; i < 4; ++i) expect(both, 3, i, 0, 0);
    const PairPeaks forward = peaks_of({1, 4, false});
    expect(forward, 1, 0, 1, 2);
    // At displacements to the right, 0 1 2 0 0 overlaps only zeros of the other image.
    EXPECT_NEAR(forward.peaks(0, 1), 0, 1e-6);
    // All nonzero products are negative.
    EXPECT_NEAR(both.peaks(0, 2), 0, 1e-6);
    EXPECT_NEAR(both.peaks(2, 0), 0, 1e-6);
}

}  // namespace
}  // namespace aperture::corr
