// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "tests/stap/kernel_cases.hpp"

/// Batches that exceed a narrow grid index, on every executor.
namespace aperture::stap::kernel_cases {

/// `sets` training blocks of as many cells as channels, in one Doppler bin.
inline Case many_matrices(index_t sets, index_t channels, Implementation implementation) {
    return {.channels = channels,
            .taps = 1,
            .doppler_bins = 1,
            .range_cells = sets * channels,
            .training_block = static_cast<int>(channels),
            .vectors = 1,
            .implementation = implementation};
}

/// Cell i of a block has channel i only. Amplitudes of two neighbouring channels repeat after
/// 785,000 blocks: R = diag(|a_i|^2) / n, w_i = v_i / R_ii.
inline cfloat amplitude(index_t set, index_t channel) {
    const index_t period = channel % 2 == 0 ? 1021 : 769;
    const auto step = static_cast<float>(set % period) / static_cast<float>(period);
    return {1 + step, 0.25f * static_cast<float>(channel + 1)};
}

/// Checks every matrix of a run. `run(problem, cube, steering)` returns HostResults.
template <class Run>
void expect_every_matrix(const Case& c, Run run) {
    SCOPED_TRACE(testing::PrintToString(c));
    const Problem problem = c.problem();
    const index_t n = c.channels;
    const core::Array<cfloat, 2> steering = random_steering(problem);
    core::Array<cfloat, 3> cube({n, 1, c.range_cells});
    std::fill(cube.begin(), cube.end(), cfloat(0));
    for (index_t b = 0; b < problem.training_sets; ++b) {
        for (index_t i = 0; i < n; ++i) cube(i, 0, b * n + i) = amplitude(b, i);
    }
    const HostResults given = run(problem, cube, steering);
    const auto expect_near = [](cfloat value, std::complex<double> wanted, index_t b,
                                const char* what) {
        const double error = std::abs(std::complex<double>(value) - wanted);
        ASSERT_TRUE(error <= 1e-5 * std::abs(wanted))
            << what << " of set " << b << ": " << value << ", expected " << wanted;
    };
    for (index_t b = 0; b < problem.training_sets; ++b) {
        ASSERT_EQ(given.info(0, b), 0) << "set " << b;
        double gain = 0;
        for (index_t i = 0; i < n; ++i) {
            const double power = std::norm(amplitude(b, i)) / static_cast<double>(n);
            gain += std::norm(steering(0, i)) / power;
        }
        for (index_t i = 0; i < n; ++i) {
            const std::complex<double> v(steering(0, i));
            const std::complex<double> a(amplitude(b, i));
            const double power = std::norm(a) / static_cast<double>(n);
            expect_near(given.covariance(0, b, i, i), power, b, "covariance");
            expect_near(given.weights(0, b, 0, i), v / power, b, "weight");
            expect_near(given.output(0, 0, b * n + i), std::conj(v) / power * a / gain, b,
                        "output");
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

}  // namespace aperture::stap::kernel_cases
