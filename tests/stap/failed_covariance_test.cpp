// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aperture/stap/pipeline.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

// A numerical failure is a result: info names the covariance that failed, results that depend on it
// are zero, and neighbours are as without the failure.

namespace aperture::stap {
namespace {

using core::Cpu;

constexpr index_t channels = 3;
constexpr index_t bins = 8;
constexpr index_t cells = 60;

struct FailureCase {
    const char* name;
    Training training;
    Implementation implementation;
    Precision precision;
};

void PrintTo(const FailureCase& c, std::ostream* stream) { *stream << c.name; }

class FailedCovariance : public testing::TestWithParam<FailureCase> {
  protected:
    Problem problem() const {
        Parameters parameters;
        parameters.training = GetParam().training;
        parameters.implementation = GetParam().implementation;
        parameters.precision = GetParam().precision;
        parameters.training_block = 20;
        parameters.temporal_taps = 1;
        parameters.detector = Detector::amf;
        return make_problem({channels, bins, cells, Domain::doppler}, parameters, 2);
    }

    OwnedResults run(const core::Array<cfloat, 3>& cube) {
        OwnedResults results(problem());
        const auto steering = random_normal<2>({2, channels}, 9);
        Pipeline<Cpu>(cpu_, problem(), steering).run(cube, results.views(), nullptr);
        return results;
    }

    /// Expects the same results in all other Doppler bins as without the failure.
    static void expect_equal_elsewhere(const OwnedResults& results, const OwnedResults& sound,
                                       index_t failed_bin) {
        for (index_t k = 0; k < bins; ++k) {
            if (k == failed_bin) continue;
            for (index_t b = 0; b < results.info.extent()[1]; ++b)
                EXPECT_EQ(results.info(k, b), 0) << "bin " << k << " set " << b;
            for (index_t d = 0; d < 2; ++d)
                for (index_t r = 0; r < cells; ++r) {
                    ASSERT_EQ(results.output(d, k, r), sound.output(d, k, r));
                    ASSERT_EQ(results.statistic(d, k, r), sound.statistic(d, k, r));
                }
        }
    }

    /// Whether the covariance of a cell is estimated from `sample`; with Training::all it comes
    /// from the sum over all cells.
    bool trains_on(index_t cell, index_t sample) const {
        const auto holds = [sample](const RangeSpan& span) {
            return span.begin <= sample && sample < span.end;
        };
        const Problem p = problem();
        if (p.parameters.training != Training::sliding)
            return holds(training_cells(p, training_set_of(p, cell)));
        const TrainingWindow window = training_window(p, cell);
        return holds(window.window) && !holds(window.excluded);
    }

    Cpu cpu_;
};

TEST_P(FailedCovariance, SilentBinIsSingular) {
    auto cube = random_normal<3>({channels, bins, cells}, 3);
    const OwnedResults sound = run(cube);
    for (index_t c = 0; c < channels; ++c)
        for (index_t r = 0; r < cells; ++r) cube(c, 5, r) = 0;
    const OwnedResults results = run(cube);
    for (index_t b = 0; b < results.info.extent()[1]; ++b) {
        EXPECT_EQ(results.info(5, b), 1);
        EXPECT_EQ(results.pivot_ratio(5, b), std::numeric_limits<float>::infinity());
    }
    for (index_t d = 0; d < 2; ++d)
        for (index_t r = 0; r < cells; ++r) {
            EXPECT_EQ(results.output(d, 5, r), cfloat(0));
            EXPECT_EQ(results.statistic(d, 5, r), 0);
        }
    expect_equal_elsewhere(results, sound, 5);
}

TEST_P(FailedCovariance, ABadSampleStaysWhereItIs) {
    constexpr index_t bin = 2;
    constexpr index_t bad_cell = 30;
    const auto given = random_normal<3>({channels, bins, cells}, 3);
    const OwnedResults sound = run(given);
    // A sliding sum that starts anew rounds differently.
    const double tolerance = GetParam().training == Training::sliding ? 1e-5 : 0;
    for (const float bad : {NAN, INFINITY}) {
        auto cube = random_normal<3>({channels, bins, cells}, 3);
        cube(1, bin, bad_cell) = {bad, 0};
        const OwnedResults results = run(cube);
        for (index_t r = 0; r < cells; ++r) {
            SCOPED_TRACE(testing::Message() << bad << " and cell " << r);
            const index_t set = training_set_of(problem(), r);
            const bool fails = trains_on(r, bad_cell);
            ASSERT_EQ(results.info(bin, set) > 0, fails);
            if (r == bad_cell && !fails) continue;
            for (index_t d = 0; d < 2; ++d) {
                const cfloat output = fails ? 0 : sound.output(d, bin, r);
                const float statistic = fails ? 0 : sound.statistic(d, bin, r);
                ASSERT_LE(std::abs(results.output(d, bin, r) - output),
                          tolerance * std::abs(output));
                ASSERT_NEAR(results.statistic(d, bin, r), statistic, tolerance * statistic);
            }
        }
        expect_equal_elsewhere(results, sound, bin);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Pipeline, FailedCovariance,
    testing::Values(
        FailureCase{"fused", Training::block, Implementation::fused, Precision::fp32},
        FailureCase{"fused_mixed", Training::block, Implementation::fused, Precision::mixed},
        FailureCase{"staged", Training::block, Implementation::staged, Precision::fp32},
        FailureCase{"staged_mixed", Training::block, Implementation::staged, Precision::mixed},
        FailureCase{"sliding", Training::sliding, Implementation::fused, Precision::fp32},
        FailureCase{"sliding_mixed", Training::sliding, Implementation::fused, Precision::mixed},
        FailureCase{"all", Training::all, Implementation::fused, Precision::fp32}),
    [](const auto& tested) { return tested.param.name; });

/// Blocks from which a detector removes the cell under test. The Doppler bins differ only in their
/// data, so rounding of the forms must not change the outcome.
class RemovedCellToRounding : public testing::TestWithParam<FailureCase> {
  protected:
    static constexpr index_t many_bins = 64;

    Problem problem(index_t order, index_t range_cells, int training_block) const {
        Parameters parameters;
        parameters.training = GetParam().training;
        parameters.implementation = GetParam().implementation;
        parameters.precision = GetParam().precision;
        parameters.training_block = training_block;
        parameters.temporal_taps = 1;
        parameters.detector = Detector::amf;
        parameters.loading.value = 1e-30;  // far below rounding: allows N_R = n
        return make_problem({order, many_bins, range_cells, Domain::doppler}, parameters, 1);
    }

    OwnedResults run(const Problem& problem, const core::Array<cfloat, 3>& cube) {
        OwnedResults results(problem);
        Pipeline<Cpu>(cpu_, problem, random_normal<2>({1, problem.order}, 9))
            .run(cube, results.views(), nullptr);
        return results;
    }

    Cpu cpu_;
};

TEST_P(RemovedCellToRounding, OneThatAloneCarriesADirectionIsNamed) {
    auto cube = random_normal<3>({4, many_bins, 16}, 5);
    for (index_t k = 0; k < many_bins; ++k)
        for (index_t r = 0; r < 16; ++r)
            for (index_t c = 0; c < 4; ++c)
                if ((c == 3) != (r == 5)) cube(c, k, r) = 0;
    const OwnedResults results = run(problem(4, 16, 16), cube);
    for (index_t k = 0; k < many_bins; ++k) {
        EXPECT_EQ(results.info(k, 0), -1 - 5) << k;
        for (index_t r = 0; r < 16; ++r) EXPECT_EQ(results.statistic(0, k, r) > 0, r != 5) << r;
    }
}

/// As many orthogonal cells as the order: none can be removed.
TEST_P(RemovedCellToRounding, OneOfAsManyAsTheOrderIsNamed) {
    constexpr index_t n = 8;
    const auto samples = random_normal<3>({n, many_bins, n}, 6);
    core::Array<cfloat, 3> cube(samples.extent());
    for (index_t k = 0; k < many_bins; ++k) {
        oracle::Matrix square(n, n);
        for (index_t c = 0; c < n; ++c)
            for (index_t r = 0; r < n; ++r) square(c, r) = oracle::Complex(samples(c, k, r));
        const oracle::Matrix unitary = oracle::orthonormal_basis(square);
        for (index_t c = 0; c < n; ++c)
            for (index_t r = 0; r < n; ++r) cube(c, k, r) = cfloat(unitary(c, r));
    }
    const OwnedResults results = run(problem(n, n, n), cube);
    for (index_t k = 0; k < many_bins; ++k) {
        EXPECT_EQ(results.info(k, 0), -1) << k;
        for (index_t r = 0; r < n; ++r) EXPECT_EQ(results.statistic(0, k, r), 0) << k << " " << r;
    }
}

/// The limit rejects no target that fp32 resolves: 50 dB over its block in every channel, 57 dB of
/// x^H R^-1 x, is found. 30 dB more is refused if forms are fp32: for this cell, for another one,
/// or for the factor, in which 80 dB leave no correct digit.
TEST_P(RemovedCellToRounding, AStrongTargetStays) {
    const Problem given = problem(5, 32, 32);
    for (const double strength_db : {50.0, 80.0}) {
        auto cube = random_normal<3>({5, many_bins, 32}, 8);
        for (index_t k = 0; k < many_bins; ++k)
            for (index_t c = 0; c < 5; ++c)
                cube(c, k, 20) = std::polar(float(std::pow(10, strength_db / 20)), float(c * k));
        const OwnedResults results = run(given, cube);
        const bool found = strength_db < 60 || GetParam().training == Training::all;
        const auto wanted =
            oracle::adapt(given, oracle::widen(cube), random_normal<2>({1, given.order}, 9));
        for (index_t k = 0; k < many_bins; ++k) {
            EXPECT_EQ(results.info(k, 0) == 0, found) << k;
            const double statistic = wanted.statistic(0, k, 20);
            EXPECT_NEAR(results.statistic(0, k, 20), found ? statistic : 0, 0.1 * statistic) << k;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Pipeline, RemovedCellToRounding,
    testing::Values(
        FailureCase{"fused", Training::block, Implementation::fused, Precision::fp32},
        FailureCase{"fused_mixed", Training::block, Implementation::fused, Precision::mixed},
        FailureCase{"staged", Training::block, Implementation::staged, Precision::fp32},
        FailureCase{"staged_mixed", Training::block, Implementation::staged, Precision::mixed},
        FailureCase{"all", Training::all, Implementation::fused, Precision::fp32}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace aperture::stap
