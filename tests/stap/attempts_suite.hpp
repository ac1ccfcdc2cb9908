// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "aperture/stap/attempts.hpp"
#include "tests/stap/kernel_cases.hpp"

/// Precision::automatic on every executor. `run(problem, cube, steering)` returns HostResults.
namespace aperture::stap::kernel_cases {

inline std::vector<Case> attempt_cases() {
    const Case automatic{.channels = 4,
                         .doppler_bins = 13,
                         .range_cells = 75,
                         .training_block = 34,
                         .detector = Detector::amf,
                         .precision = Precision::automatic};
    std::vector<Case> cases(8, automatic);
    cases[1].implementation = Implementation::staged;
    cases[2].training = Training::sliding;
    cases[2].guard = 1;
    cases[2].range_cells = 44;
    cases[3].training = Training::sliding;
    cases[3].implementation = Implementation::staged;
    cases[3].range_cells = 44;
    cases[3].detector = Detector::none;
    cases[4].solver = dense::Factorisation::gauss_jordan;
    cases[4].detector = Detector::glrt;
    cases[5].taps = 1;
    cases[5].detector = Detector::ace;
    cases[6].channels = 3;
    cases[6].loading = {1e-9, true};
    cases[7].detector = Detector::cfar;
    return cases;
}

/// Noise of unit power and three waves, of 0 dB in the first half of the Doppler bins and rising to
/// 80 dB in the last.
inline core::Array<cfloat, 3> stronger_with_doppler(const Problem& p) {
    auto cube = noise_cube(p);
    const auto waves = noise_cube(p, 99);
    const auto [channels, bins, cells] = cube.extent();
    for (index_t k = 0; k < bins; ++k) {
        const index_t quiet = bins / 2;
        const double share = double(std::max<index_t>(k - quiet, 0)) / double(bins - 1 - quiet);
        const auto amplitude = static_cast<float>(std::pow(10.0, 4 * share));
        for (index_t r = 0; r < cells; ++r)
            for (index_t wave = 0; wave < std::min<index_t>(3, channels - 1); ++wave)
                for (index_t c = 0; c < channels; ++c)
                    cube(c, k, r) += amplitude * waves(wave, 0, r) *
                                     std::polar(1.0f, float(c) * (1.0f + 0.3f * float(wave)));
    }
    return cube;
}

/// Cells whose results come from training set `b`.
inline RangeSpan cells_of_set(const Problem& p, index_t b) {
    if (p.parameters.training == Training::sliding) return {b, b + 1};
    const index_t block = p.parameters.training_block;
    return {b * block, std::min((b + 1) * block, p.shape.range_cells)};
}

/// Whether all results of a matrix and its cells have the same bits in both runs.
inline bool same_matrix(const Problem& p, const HostResults& a, const HostResults& b, index_t k,
                        index_t set) {
    const auto same = [](const auto& x, const auto& y) {
        return std::memcmp(&x, &y, sizeof(x)) == 0;
    };
    bool equal =
        a.info(k, set) == b.info(k, set) && same(a.pivot_ratio(k, set), b.pivot_ratio(k, set));
    const bool forms = is_adaptive(p.parameters.detector);
    const RangeSpan cells = cells_of_set(p, set);
    for (index_t d = 0; d < p.steering_vectors; ++d) {
        for (index_t r = cells.begin; r < cells.end; ++r) {
            equal = equal && same(a.output(d, k, r), b.output(d, k, r));
            if (forms) equal = equal && same(a.statistic(d, k, r), b.statistic(d, k, r));
        }
        for (index_t i = 0; i < p.order; ++i)
            equal = equal && same(a.weights(k, set, d, i), b.weights(k, set, d, i));
    }
    for (index_t row = 0; row < p.order; ++row)
        for (index_t i = 0; i < p.order; ++i)
            equal = equal && same(a.covariance(k, set, row, i), b.covariance(k, set, row, i));
    return equal;
}

/// Maximum of |v^H w - v^H R^-1 v| / v^H R^-1 v over the matrix's vectors, R in double precision.
inline double error_of_gain(const HostResults& given, const oracle::Adapted& wanted,
                            const core::Array<cfloat, 2>& steering, index_t k, index_t set) {
    double worst = 0;
    for (index_t d = 0; d < steering.extent()[0]; ++d) {
        oracle::Complex ours = 0;
        oracle::Complex truth = 0;
        for (index_t i = 0; i < steering.extent()[1]; ++i) {
            const oracle::Complex v(steering(d, i));
            ours += std::conj(v) * oracle::Complex(given.weights(k, set, d, i));
            truth += std::conj(v) * wanted.weights(k, set, d, i);
        }
        const double error = std::abs(ours - truth) / std::abs(truth);
        worst = error <= worst ? worst : error;
    }
    return worst;
}

/// Every matrix has the bits of fp32 or those of mixed precision. fp32 remains only if it can be
/// trusted, and v^H R^-1 v is accurate to 1 %.
template <class Run>
void expect_fp32_where_it_is_enough(const Case& c, Run run) {
    SCOPED_TRACE(testing::PrintToString(c));
    const Problem problem = c.problem();
    const auto cube = stronger_with_doppler(problem);
    const auto steering = random_steering(problem);
    const HostResults given = run(problem, cube, steering);
    Case other = c;
    other.precision = Precision::fp32;
    const HostResults fp32 = run(other.problem(), cube, steering);
    other.precision = Precision::mixed;
    other.implementation = Implementation::fused;
    const HostResults fp64 = run(other.problem(), cube, steering);
    const auto wanted = oracle::adapt(problem, oracle::widen(cube), steering.view());
    index_t kept = 0;
    index_t repeated = 0;
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t b = 0; b < problem.training_sets; ++b) {
            SCOPED_TRACE(testing::Message() << "bin " << k << " set " << b);
            const int attempt = given.attempt(k, b);
            if (needs_another(first_attempt, fp32.info(k, b), fp32.pivot_ratio(k, b),
                              problem.order)) {
                ASSERT_GE(attempt, fp64_attempt);
            }
            ASSERT_LE(attempt, fp64_attempt);
            ++(attempt == first_attempt ? kept : repeated);
            ASSERT_TRUE(same_matrix(problem, given, attempt == first_attempt ? fp32 : fp64, k, b));
            ASSERT_LE(error_of_gain(given, wanted, steering, k, b), 0.01);
        }
    }
    EXPECT_GT(kept, 0);
    EXPECT_GT(repeated, 0);
}

/// Expects a small loading of matrix (k, b) and finite results of its cells [0, cells).
inline void expect_little_loading(const Problem& problem, const HostResults& given, index_t k,
                                  index_t b, index_t cells) {
    EXPECT_EQ(given.info(k, b), 0) << k;
    EXPECT_GE(given.attempt(k, b), first_loaded_attempt) << k;
    EXPECT_LE(given.attempt(k, b), first_loaded_attempt + 4) << k;
    for (index_t d = 0; d < problem.steering_vectors; ++d)
        for (index_t r = 0; r < cells; ++r) {
            ASSERT_TRUE(std::isfinite(std::norm(given.output(d, k, r))));
            ASSERT_TRUE(std::isfinite(given.statistic(d, k, r)));
        }
}

/// Two channels that are equal in the cells of one training set make its matrices singular. Expects
/// the minimum loading that makes them positive definite, and none for other matrices.
template <class Run>
void expect_singular_matrix_to_be_loaded(const Case& c, Run run) {
    SCOPED_TRACE(testing::PrintToString(c));
    const Problem problem = c.problem();
    auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        for (index_t r = 0; r < 34; ++r) cube(1, k, r) = cube(0, k, r);
    const HostResults given = run(problem, cube, steering);
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t b = 0; b < problem.training_sets; ++b) {
            ASSERT_EQ(given.info(k, b), 0);
            if (b > 0) {
                EXPECT_LT(given.attempt(k, b), first_loaded_attempt) << k << ", " << b;
                continue;
            }
            expect_little_loading(problem, given, k, b, 34);
        }
    }
}

/// Training on all cells, in which two channels are equal: expects the minimum loading that makes
/// every bin's cells positive definite.
template <class Run>
void expect_singular_bins_to_be_loaded(Implementation implementation, Run run) {
    const Case c{.channels = 4,
                 .doppler_bins = 6,
                 .range_cells = 80,
                 .training = Training::all,
                 .guard = 1,
                 .detector = Detector::amf,
                 .implementation = implementation,
                 .precision = Precision::automatic};
    SCOPED_TRACE(testing::PrintToString(c));
    const Problem problem = c.problem();
    auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    const HostResults whole = run(problem, cube, steering);
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        EXPECT_EQ(whole.attempt(k, 0), first_attempt);
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        for (index_t r = 0; r < problem.shape.range_cells; ++r) cube(1, k, r) = cube(0, k, r);
    const HostResults given = run(problem, cube, steering);
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        expect_little_loading(problem, given, k, 0, problem.shape.range_cells);
}

/// If all cells are zero, every attempt fails and the output is zero.
template <class Run>
void expect_zeros_to_fail(const Case& c, Run run) {
    SCOPED_TRACE(testing::PrintToString(c));
    const Problem problem = c.problem();
    auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    for (index_t i = 0; i < problem.shape.channels; ++i)
        for (index_t k = 0; k < problem.doppler_bins; ++k)
            for (index_t r = 0; r < 34; ++r) cube(i, k, r) = 0;
    const HostResults given = run(problem, cube, steering);
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        EXPECT_EQ(given.info(k, 0), 1);
        EXPECT_EQ(given.attempt(k, 0), last_attempt);
        for (index_t b = 1; b < problem.training_sets; ++b) EXPECT_EQ(given.info(k, b), 0);
        for (index_t d = 0; d < problem.steering_vectors; ++d)
            for (index_t r = 0; r < 34; ++r) ASSERT_EQ(given.output(d, k, r), cfloat(0));
    }
}

/// All of the above.
template <class Run>
void expect_attempts(Run run) {
    const std::vector<Case> cases = attempt_cases();
    for (const Case& c : cases) expect_fp32_where_it_is_enough(c, run);
    for (const Case& c : {cases[0], cases[1], cases[4]})
        expect_singular_matrix_to_be_loaded(c, run);
    for (const Implementation way : {Implementation::fused, Implementation::staged})
        expect_singular_bins_to_be_loaded(way, run);
    // Weights of many vectors take the place of more than the tile of two channels.
    Case small = cases[0];
    small.channels = 2;
    small.vectors = 33;
    expect_singular_matrix_to_be_loaded(small, run);
    for (const Case& c : {cases[0], cases[1], small}) expect_zeros_to_fail(c, run);
}

}  // namespace aperture::stap::kernel_cases
