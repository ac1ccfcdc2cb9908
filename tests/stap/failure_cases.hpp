// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "tests/stap/kernel_cases.hpp"

/// Numerical failures on every executor. `run(problem, cube, steering)` returns HostResults.
namespace aperture::stap::kernel_cases {

inline std::vector<Case> failure_cases() {
    return {
        Case{.channels = 4, .range_cells = 64, .training_block = 32},
        Case{.range_cells = 64, .training_block = 32, .solver = dense::Factorisation::gauss_jordan},
        Case{.range_cells = 64, .training_block = 32, .implementation = Implementation::staged}};
}

/// One bad sample makes the sets that train on it fail: info names them, their results are zero,
/// and the others keep their bits.
template <class Run>
void expect_failure_to_stay(const Case& c, Run run,
                            float bad = std::numeric_limits<float>::quiet_NaN()) {
    SCOPED_TRACE(testing::Message() << testing::PrintToString(c) << ", " << bad);
    const Problem problem = c.problem();
    auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    const HostResults good = run(problem, cube, steering);
    cube(1, 3, 40) = cfloat(bad);
    const HostResults given = run(problem, cube, steering);
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t r = 0; r < problem.shape.range_cells; ++r) {
            const bool failed = r >= 32 && k >= 2 && k <= 4;
            ASSERT_EQ(given.info(k, r / 32) > 0, failed) << k << ", " << r;
            ASSERT_EQ(std::isinf(given.pivot_ratio(k, r / 32)), failed) << k << ", " << r;
            for (index_t d = 0; d < problem.steering_vectors; ++d) {
                SCOPED_TRACE(testing::Message() << d << ", " << k << ", " << r);
                ASSERT_EQ(given.output(d, k, r), failed ? cfloat(0) : good.output(d, k, r));
                if (failed) {
                    ASSERT_EQ(given.weights(k, r / 32, d, 0), cfloat(0));
                }
                if (c.detector == Detector::none) continue;
                ASSERT_EQ(given.statistic(d, k, r), failed ? 0 : good.statistic(d, k, r));
            }
        }
    }
}

/// With sliding training the output of a cell that is not finite is not finite either, as the cell
/// does not train on itself. Only statistics of cell averaging that need this output are zero.
template <class Run>
void expect_cell_averaging_to_leave_out_what_is_not_finite(Run run) {
    const Problem problem = Case{.channels = 3,
                                 .taps = 1,
                                 .doppler_bins = 8,
                                 .range_cells = 60,
                                 .training_block = 8,
                                 .vectors = 2,
                                 .training = Training::sliding,
                                 .guard = 1,
                                 .detector = Detector::cfar}
                                .problem();
    const auto steering = random_steering(problem);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        auto cube = noise_cube(problem);
        cube(1, 2, 30) = {bad, 0};
        const HostResults given = run(problem, cube, steering);
        const auto power = [&](index_t r) {
            return std::norm(std::complex<double>(given.output(0, 2, r)));
        };
        ASSERT_FALSE(std::isfinite(power(30)));
        index_t behind = 0;
        for (index_t r = 0; r < problem.shape.range_cells; ++r) {
            const TrainingWindow reference = reference_window(problem, r);
            double sum = 0;
            for (index_t i = reference.window.begin; i < reference.window.end; ++i)
                if (i < reference.excluded.begin || i >= reference.excluded.end) sum += power(i);
            double wanted = power(r) * static_cast<double>(reference.cells()) / sum;
            if (!std::isfinite(sum) || !std::isfinite(power(r))) wanted = 0;
            ASSERT_NEAR(given.statistic(0, 2, r), wanted, 1e-5 * wanted) << bad << ", " << r;
            behind += r > 30 && wanted > 0;
        }
        EXPECT_GT(behind, 20);
    }
}

inline std::vector<Case> removed_cell_cases() {
    std::vector<Case> cases;
    // Without run-time compilation two channels use shared memory, four use registers.
    for (const index_t channels : {2, 4}) {
        Case c{.channels = channels,
               .taps = 1,
               .doppler_bins = 24,
               .range_cells = 16,
               .training_block = 16,
               .vectors = 1,
               .detector = Detector::glrt};
        cases.push_back(c);
        c.training = Training::all;
        cases.push_back(c);
        c.implementation = Implementation::staged;
        cases.push_back(c);
        c.training = Training::block;
        cases.push_back(c);
    }
    return cases;
}

/// Only cell 5 has the last channel, so the covariance is not definite without it. Its quadratic
/// form is one up to rounding; its amplitude differs between Doppler bins.
template <class Run>
void expect_removed_cell_to_be_named(const Case& c, Run run) {
    SCOPED_TRACE(testing::PrintToString(c));
    const Problem problem = c.problem();
    auto cube = noise_cube(problem);
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        for (index_t r = 0; r < 16; ++r)
            for (index_t i = 0; i < c.channels; ++i)
                if ((i == c.channels - 1) != (r == 5)) cube(i, k, r) = 0;
    const HostResults given = run(problem, cube, random_steering(problem));
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        EXPECT_EQ(given.info(k, 0), -1 - 5) << k;
        for (index_t r = 0; r < 16; ++r)
            EXPECT_EQ(given.statistic(0, k, r) > 0, r != 5) << k << ", " << r;
    }
}

}  // namespace aperture::stap::kernel_cases
