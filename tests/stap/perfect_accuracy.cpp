// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/perfect_accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "aperture/stap/simulation.hpp"
#include "aperture/stap/steering.hpp"

namespace aperture::stap::kernel_cases {
namespace {

/// A training block of a PERFECT size in all Doppler bins, transformed from pulses.
struct PerfectScene {
    Problem problem;
    core::Array<cfloat, 3> cube;
    core::Array<cfloat, 2> steering;

    PerfectScene(const char* name, Implementation implementation) {
        const PerfectSize size = perfect_size(name);
        Parameters parameters;
        parameters.doppler_bins = size.doppler_bins;
        parameters.training_block = size.training_block;
        parameters.temporal_taps = size.temporal_taps;
        parameters.implementation = implementation;
        CubeShape shape = size.shape;
        shape.range_cells = size.training_block;
        const auto pulses = static_cast<int>(shape.pulses);
        core::Cpu cpu;
        cube.reshape({shape.channels, size.doppler_bins, shape.range_cells});
        DopplerFilter<core::Cpu>(cpu, make_problem(shape, parameters, size.steering_vectors))
            .run(perfect_cube(shape).view(), cube);
        steering = steering_vectors(
            static_cast<int>(shape.channels), 0.5, default_azimuths(size.steering_vectors),
            temporal_response(parameters.taper, pulses, size.doppler_bins, size.temporal_taps));
        shape.pulses = size.doppler_bins;
        shape.domain = Domain::doppler;
        problem = make_problem(shape, parameters, size.steering_vectors);
    }
};

}  // namespace

void expect_perfect_accuracy(const char* name, Implementation implementation, const Run& run) {
    SCOPED_TRACE(name);
    const PerfectScene scene(name, implementation);
    const Problem& problem = scene.problem;
    const HostResults given = run(problem, scene.cube, scene.steering);
    const auto weights = weights_of(given.covariance, scene.steering.view());
    const oracle::Cube cube = oracle::widen(scene.cube.view());
    core::Array<oracle::Complex, 4> wanted(given.covariance.extent());
    core::Array<oracle::Complex, 4> widened(given.covariance.extent());
    std::copy(given.covariance.begin(), given.covariance.end(), widened.begin());
    const index_t n = problem.order;
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t b = 0; b < problem.training_sets; ++b) {
            ASSERT_EQ(given.info(k, b), 0) << "Doppler bin " << k << ", set " << b;
            const oracle::Matrix r =
                oracle::weight_estimate(problem, cube, k, b * problem.parameters.training_block)
                    .mean();
            for (index_t i = 0; i < n; ++i) {
                for (index_t j = 0; j < n; ++j) wanted(k, b, i, j) = r(i, j);
            }
            oracle::SnrDb snr;
            for (index_t d = 0; d < problem.steering_vectors; ++d) {
                for (index_t i = 0; i < n; ++i) {
                    snr.add(weights(k, b, d, i), oracle::Complex(given.weights(k, b, d, i)));
                }
            }
            const double bound = std::min(110.0, 150 - 20 * std::log10(condition(widened, k, b)));
            ASSERT_GE(snr.value(), bound) << "weights of Doppler bin " << k << ", set " << b;
        }
    }
    expect_matrices(wanted, given.covariance, 130, "covariance");
}

void expect_perfect_weighting(const char* name, Implementation implementation, const Run& run) {
    SCOPED_TRACE(name);
    const PerfectScene scene(name, implementation);
    const Problem& problem = scene.problem;
    const auto cube = perfect_cube(problem.shape);
    const HostResults given = run(problem, cube, scene.steering);
    const index_t taps = problem.parameters.temporal_taps;
    const index_t cells = problem.parameters.training_block;
    const auto snapshot = [&](index_t k, index_t row, index_t cell) {
        const index_t bins = problem.doppler_bins;
        return oracle::Complex(
            cube(row / taps, (k - (taps - 1) / 2 + row % taps + bins) % bins, cell));
    };
    std::vector<oracle::Complex> products(static_cast<std::size_t>(cells));
    double worst = 1000;
    std::string worst_place;
    for (index_t k = 0; k < problem.doppler_bins; ++k) {
        for (index_t b = 0; b < problem.training_sets; ++b) {
            oracle::SnrDb snr;
            for (index_t d = 0; d < problem.steering_vectors; ++d) {
                oracle::Complex common = 0;
                double energy = 0;
                for (index_t c = 0; c < cells; ++c) {
                    oracle::Complex& sum = products[static_cast<std::size_t>(c)];
                    sum = 0;
                    for (index_t i = 0; i < problem.order; ++i) {
                        sum += std::conj(oracle::Complex(given.weights(k, b, d, i))) *
                               snapshot(k, i, b * cells + c);
                    }
                    common += std::conj(sum) * oracle::Complex(given.output(d, k, b * cells + c));
                    energy += std::norm(sum);
                }
                for (index_t c = 0; c < cells; ++c) {
                    snr.add(products[static_cast<std::size_t>(c)] * (common / energy),
                            oracle::Complex(given.output(d, k, b * cells + c)));
                }
            }
            if (snr.value() >= worst) continue;
            worst = snr.value();
            worst_place = core::text("Doppler bin ", k, ", set ", b);
        }
    }
    EXPECT_GE(worst, 125) << worst_place;
}

}  // namespace aperture::stap::kernel_cases
