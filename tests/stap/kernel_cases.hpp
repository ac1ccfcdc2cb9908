// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <ostream>

#include "aperture/core/array.hpp"
#include "aperture/stap/pipeline.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"

/// Problems for the adaptive kernels, and checks of their results on any executor.
namespace aperture::stap::kernel_cases {

struct Case {
    index_t channels = 2;
    int taps = 3;
    int doppler_bins = 7;
    index_t range_cells = 37;
    int training_block = 16;
    int vectors = 3;
    Training training = Training::block;
    int guard = 0;
    Detector detector = Detector::none;
    DiagonalLoading loading{};
    dense::Factorisation solver = dense::Factorisation::cholesky;
    Implementation implementation = Implementation::fused;
    Precision precision = Precision::fp32;
    index_t pulses = 0;  ///< 0: a cube of Doppler bins
    const char* taper = "none";

    Problem problem() const {
        Parameters p;
        p.training_block = training_block;
        p.training = training;
        p.guard = guard;
        p.temporal_taps = taps;
        p.loading = loading;
        p.solver = solver;
        p.implementation = implementation;
        p.precision = precision;
        p.detector = detector;
        CubeShape shape{channels, doppler_bins, range_cells, Domain::doppler};
        if (pulses > 0) {
            shape.pulses = pulses;
            shape.domain = Domain::pulse;
            p.doppler_bins = doppler_bins;
            p.taper = signal::parse_taper(taper);
        }
        return make_problem(shape, p, vectors);
    }
};

std::ostream& operator<<(std::ostream& out, const Case& c);

/// White noise of unit power and one wave 10 dB above it, so that covariances are not diagonal.
core::Array<cfloat, 3> noise_cube(const Problem& problem, unsigned seed = 7);

core::Array<cfloat, 2> random_steering(const Problem& problem, unsigned seed = 11);

/// Results, initialised with values that no run writes.
struct HostResults : OwnedResults {
    explicit HostResults(const Problem& p) : OwnedResults(p) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        std::fill(output.begin(), output.end(), cfloat(nan));
        std::fill(info.begin(), info.end(), 77);
        std::fill(pivot_ratio.begin(), pivot_ratio.end(), nan);
        std::fill(covariance.begin(), covariance.end(), cfloat(nan));
        std::fill(weights.begin(), weights.end(), cfloat(nan));
        std::fill(statistic.begin(), statistic.end(), nan);
        std::fill(attempt.begin(), attempt.end(), -1);
    }
    /// Views of all results; without a detector no statistic.
    Results<core::Host> views(const Problem& p) {
        Results<core::Host> results = OwnedResults::views();
        if (p.parameters.detector == Detector::none) results.statistic = {};
        return results;
    }
};

/// The pipeline on a CPU.
HostResults run_cpu(const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                    core::View<const cfloat, 2, core::Host> steering);

void expect_same_bits(const HostResults& a, const HostResults& b);

/// Expects a minimum SNR of `bound` dB over the problem's matrices.
void expect_matrices(const core::Array<oracle::Complex, 4>& wanted,
                     const core::Array<cfloat, 4>& given, double bound, const char* what);

double condition(const core::Array<oracle::Complex, 4>& covariance, index_t k, index_t b);

/// The oracle's input: the cube itself, or the transform of its pulses.
oracle::Cube doppler_cube_of(const Problem& p, core::View<const cfloat, 3, core::Host> cube);

/// Weights in double precision, computed from a run's covariances.
core::Array<oracle::Complex, 4> weights_of(const core::Array<cfloat, 4>& covariance,
                                           core::View<const cfloat, 2, core::Host> steering);

/// Compares all results of a run with the oracle: weights in fp32 with those of the run's own
/// covariances, everything else with those of the cube. Bounds on relative errors: of weights, that
/// of the solution of a system of this condition (150 dB); of outputs, ten times that; of
/// statistics, twice that of the forms, which lose 1/(1-c) more if the cell under test is removed.
void expect_oracle(const Problem& p, core::View<const cfloat, 3, core::Host> cube,
                   core::View<const cfloat, 2, core::Host> steering, const HostResults& given);

}  // namespace aperture::stap::kernel_cases
