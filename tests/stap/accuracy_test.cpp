// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "aperture/stap/simulation.hpp"
#include "aperture/stap/stages.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"

// How many decibels the fp32 stages keep on PERFECT's white input, worst over every matrix, and the
// whole chain, against the double-precision oracle.

namespace aperture::stap {
namespace {

using core::Cpu;
using core::Host;
using oracle::Complex;
using oracle::Matrix;
using oracle::SnrDb;
using oracle::Vector;

/// PERFECT's steering vectors are uniform in the first quadrant, like its samples.
core::Array<cfloat, 2> perfect_steering(index_t vectors, index_t order) {
    std::mt19937 generator(5489);
    std::uniform_real_distribution<float> uniform(0, 1);
    core::Array<cfloat, 2> steering({vectors, order});
    for (cfloat& v : steering) {
        const float re = uniform(generator);
        v = {re, uniform(generator)};
    }
    return steering;
}

struct AccuracyCase {
    const char* size;
    index_t range_cells;  ///< of the size's own
};

void PrintTo(const AccuracyCase& c, std::ostream* stream) {
    *stream << c.size << " with " << c.range_cells << " range cells";
}

class PerfectAccuracy : public testing::TestWithParam<AccuracyCase> {
  protected:
    PerfectAccuracy() {
        PerfectSize size = perfect_size(GetParam().size);
        size.shape.range_cells = GetParam().range_cells;
        Parameters parameters;
        parameters.doppler_bins = size.doppler_bins;
        parameters.training_block = size.training_block;
        problem_ = make_problem(size.shape, parameters, size.steering_vectors);
        pulses_ = perfect_cube(size.shape);
        steering_ = perfect_steering(problem_.steering_vectors, problem_.order);
    }

    Cpu cpu_;
    Problem problem_;
    core::Array<cfloat, 3> pulses_;
    core::Array<cfloat, 2> steering_;
};

TEST_P(PerfectAccuracy, StagesWorstMatrix) {
    const index_t bins = problem_.doppler_bins;
    const index_t sets = problem_.training_sets;
    const index_t n = problem_.order;
    const index_t directions = problem_.steering_vectors;
    // As the suite's kernels have it: the white cube is one of Doppler bins.
    const core::Array<cfloat, 3> cube =
        perfect_cube({problem_.shape.channels, bins, problem_.shape.range_cells, Domain::doppler});
    core::Array<cfloat, 4> covariance({bins, sets, n, n});
    core::Array<cfloat, 4> weights({bins, sets, directions, n});
    core::Array<cfloat, 3> output({directions, bins, problem_.shape.range_cells});
    core::Array<int, 2> info({bins, sets});
    core::Array<float, 2> pivot_ratio({bins, sets});
    estimate_covariance<float>(cpu_, problem_, cube, covariance);
    solve_weights<float>(cpu_, problem_, covariance, steering_, weights, info, pivot_ratio);
    apply_weights<float>(cpu_, problem_, cube, steering_, weights, output);

    const oracle::Cube wide = oracle::widen(cube);
    double worst_covariance = std::numeric_limits<double>::infinity();
    double worst_margin = worst_covariance;
    double worst_weighting = worst_covariance;
    for (index_t k = 0; k < bins; ++k)
        for (index_t b = 0; b < sets; ++b) {
            ASSERT_EQ(info(k, b), 0);
            const index_t first = b * problem_.parameters.training_block;
            const Matrix expected = oracle::weight_estimate(problem_, wide, k, first).mean();
            Matrix r(n, n);
            SnrDb covariance_snr;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < n; ++j) {
                    r(i, j) = Complex(covariance(k, b, i, j));
                    covariance_snr.add(expected(i, j), r(i, j));
                }
            worst_covariance = std::min(worst_covariance, covariance_snr.value());

            const Eigen::LLT<Matrix> factor(r);
            const Eigen::VectorXd values =
                Eigen::SelfAdjointEigenSolver<Matrix>(r, Eigen::EigenvaluesOnly).eigenvalues();
            const double condition = values(n - 1) / values(0);
            SnrDb weights_snr;
            SnrDb weighting_snr;
            for (index_t d = 0; d < directions; ++d) {
                const Vector v = oracle::steering_vector(steering_, d);
                const Vector solution = factor.solve(v);
                Vector w(n);
                for (index_t i = 0; i < n; ++i) {
                    w(i) = Complex(weights(k, b, d, i));
                    weights_snr.add(solution(i), w(i));
                }
                const double gamma = oracle::gamma(w, v);
                for (index_t cell = first; cell < first + problem_.parameters.training_block;
                     ++cell) {
                    const Complex y = gamma * w.dot(oracle::snapshot(problem_, wide, k, cell));
                    weighting_snr.add(y, Complex(output(d, k, cell)));
                }
            }
            const double bound = std::min(110.0, 150 - 20 * std::log10(condition));
            worst_margin = std::min(worst_margin, weights_snr.value() - bound);
            worst_weighting = std::min(worst_weighting, weighting_snr.value());
        }
    EXPECT_GE(worst_covariance, 130);
    EXPECT_GE(worst_margin, 0) << "weights fall short of min(110, 150 - 20 log10 cond) dB";
    EXPECT_GE(worst_weighting, 125);
    RecordProperty("covariance_db", std::to_string(worst_covariance));
    RecordProperty("weights_margin_db", std::to_string(worst_margin));
    RecordProperty("weighting_db", std::to_string(worst_weighting));
}

/// The whole chain in double precision: y of every cell.
core::Array<Complex, 3> expected_output(const Problem& problem,
                                        core::View<const cfloat, 3, Host> pulses,
                                        core::View<const cfloat, 2, Host> steering) {
    const oracle::Cube cube = oracle::doppler(
        pulses, std::vector<double>(std::size_t(problem.shape.pulses), 1.0), problem.doppler_bins);
    core::Array<Complex, 3> output(
        {problem.steering_vectors, problem.doppler_bins, problem.shape.range_cells});
    const index_t block = problem.parameters.training_block;
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        for (index_t first = 0; first < problem.shape.range_cells; first += block) {
            const Eigen::LLT<Matrix> factor(
                oracle::weight_estimate(problem, cube, k, first).mean());
            for (index_t d = 0; d < problem.steering_vectors; ++d) {
                const Vector v = oracle::steering_vector(steering, d);
                const Vector w = factor.solve(v);
                for (index_t r = first; r < first + block; ++r)
                    output(d, k, r) =
                        oracle::gamma(w, v) * w.dot(oracle::snapshot(problem, cube, k, r));
            }
        }
    return output;
}

TEST_P(PerfectAccuracy, WholeChain) {
    const core::Array<Complex, 3> expected = expected_output(problem_, pulses_, steering_);
    for (Implementation implementation : {Implementation::fused, Implementation::staged})
        for (Precision precision : {Precision::fp32, Precision::mixed}) {
            problem_.parameters.implementation = implementation;
            problem_.parameters.precision = precision;
            OwnedResults results(problem_);
            Pipeline<Cpu>(cpu_, problem_, steering_).run(pulses_, results.views(), nullptr);
            SnrDb snr;
            for (index_t i = 0; i < expected.size(); ++i)
                snr.add(expected.data()[i], Complex(results.output.data()[i]));
            EXPECT_GE(snr.value(), precision == Precision::fp32 ? 75 : 115)
                << "implementation " << int(implementation) << ", precision " << int(precision);
        }
}

INSTANTIATE_TEST_SUITE_P(Stap, PerfectAccuracy,
                         testing::Values(AccuracyCase{"small", 512}, AccuracyCase{"medium", 256},
                                         AccuracyCase{"large", 128}));

}  // namespace
}  // namespace aperture::stap
