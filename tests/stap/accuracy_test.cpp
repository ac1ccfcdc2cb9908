// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "aperture/stap/simulation.hpp"
#include "aperture/stap/stages.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"

// Accuracy of fp32 in dB on PERFECT's white input, relative to the double-precision oracle: each
// stage, the minimum over all matrices, and the whole chain.

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
    index_t range_cells;  ///< how many of the size's range cells are used
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
        size.shape.pulses = problem_.doppler_bins;
        size.shape.domain = Domain::doppler;
        doppler_problem_ = make_problem(size.shape, parameters, size.steering_vectors);
    }

    Cpu cpu_;
    Problem problem_;          ///< on pulses
    Problem doppler_problem_;  ///< the same on Doppler bins
    core::Array<cfloat, 3> pulses_;
    core::Array<cfloat, 2> steering_;
};

/// The reference of the error of y = gamma w^H S. White samples in the first quadrant have a mean,
/// so w^H S cancels in the Doppler bins next to zero. There a sum in fp32 is accurate only relative
/// to gamma ||w|| ||S||.
enum class WeightingScale { output, norms };

/// Accuracy of the least accurate matrix in dB, for each stage relative to its own input.
struct WorstMatrix {
    double covariance = std::numeric_limits<double>::infinity();
    /// Margin above min(110, 150 - 20 log10 cond).
    double weights_margin = covariance;
    double weighting = covariance;
};

WorstMatrix find_worst(const Problem& problem, const oracle::Cube& cube,
                       core::View<const cfloat, 2, Host> steering, const OwnedResults& results,
                       WeightingScale scale) {
    const index_t n = problem.order;
    const Matrix all_vectors = oracle::steering_vectors(steering);
    WorstMatrix worst;
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        for (index_t b = 0; b < problem.training_sets; ++b) {
            EXPECT_EQ(results.info(k, b), 0);
            const index_t first = b * problem.parameters.training_block;
            const index_t end = first + problem.parameters.training_block;
            const Matrix expected = oracle::weight_estimate(problem, cube, k, first).mean();
            Matrix r(n, n);
            SnrDb covariance;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < n; ++j) {
                    r(i, j) = Complex(results.covariance(k, b, i, j));
                    covariance.add(expected(i, j), r(i, j));
                }
            const std::vector<double> values = oracle::eigenvalues(r);
            const double condition = values.back() / values.front();
            const Matrix solutions = oracle::solve_each(r, all_vectors);
            SnrDb weights;
            SnrDb weighting;
            for (index_t d = 0; d < problem.steering_vectors; ++d) {
                const Vector v = all_vectors.col(d);
                Vector w(n);
                for (index_t i = 0; i < n; ++i) {
                    w(i) = Complex(results.weights(k, b, d, i));
                    weights.add(solutions(i, d), w(i));
                }
                const double gamma = oracle::gamma(w, v);
                for (index_t cell = first; cell < end; ++cell) {
                    const Vector s = oracle::snapshot(problem, cube, k, cell);
                    const Complex y = gamma * w.dot(s);
                    const Complex error = Complex(results.output(d, k, cell)) - y;
                    const Complex reference =
                        scale == WeightingScale::output ? y : gamma * w.norm() * s.norm();
                    weighting.add(reference, reference + error);
                }
            }
            const double limit = std::min(110.0, 150 - 20 * std::log10(condition));
            worst.covariance = std::min(worst.covariance, covariance.value());
            worst.weights_margin = std::min(worst.weights_margin, weights.value() - limit);
            worst.weighting = std::min(worst.weighting, weighting.value());
        }
    return worst;
}

/// Runs `cube` of Doppler bins through both implementations.
void expect_accurate(Cpu& cpu, Problem problem, core::View<const cfloat, 3, Host> cube,
                     core::View<const cfloat, 2, Host> steering, WeightingScale scale) {
    const oracle::Cube wide = oracle::widen(cube);
    for (Implementation implementation : {Implementation::fused, Implementation::staged}) {
        SCOPED_TRACE(implementation == Implementation::fused ? "fused" : "staged");
        problem.parameters.implementation = implementation;
        OwnedResults results(problem);
        Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
        const WorstMatrix worst = find_worst(problem, wide, steering, results, scale);
        EXPECT_GE(worst.covariance, 130);
        EXPECT_GE(worst.weights_margin, 0)
            << "weights fall short of min(110, 150 - 20 log10 cond) dB";
        EXPECT_GE(worst.weighting, 125);
        const std::string name = implementation == Implementation::fused ? "fused" : "staged";
        testing::Test::RecordProperty(name + "_covariance_db", std::to_string(worst.covariance));
        testing::Test::RecordProperty(name + "_weights_margin_db",
                                      std::to_string(worst.weights_margin));
        testing::Test::RecordProperty(name + "_weighting_db", std::to_string(worst.weighting));
    }
}

/// PERFECT's kernels use the white cube as Doppler bins.
TEST_P(PerfectAccuracy, WorstMatrixOfDopplerBins) {
    const core::Array<cfloat, 3> cube = perfect_cube(doppler_problem_.shape);
    expect_accurate(cpu_, doppler_problem_, cube, steering_, WeightingScale::output);
}

/// PERFECT's programs use it as pulses.
TEST_P(PerfectAccuracy, WorstMatrixOfPulses) {
    core::Array<cfloat, 3> cube(
        {problem_.shape.channels, problem_.doppler_bins, problem_.shape.range_cells});
    DopplerFilter<Cpu>(cpu_, problem_).run(pulses_, cube);
    expect_accurate(cpu_, doppler_problem_, cube, steering_, WeightingScale::norms);
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
    const Matrix all_vectors = oracle::steering_vectors(steering);
    for (index_t k = 0; k < problem.doppler_bins; ++k)
        for (index_t first = 0; first < problem.shape.range_cells; first += block) {
            const Matrix weights = oracle::solve_each(
                oracle::weight_estimate(problem, cube, k, first).mean(), all_vectors);
            for (index_t d = 0; d < problem.steering_vectors; ++d) {
                const Vector v = all_vectors.col(d);
                const Vector w = weights.col(d);
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
