// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/kernel_cases.hpp"

#include <cmath>
#include <random>

#include "tests/same_bytes.hpp"

namespace aperture::stap::kernel_cases {
std::ostream& operator<<(std::ostream& out, const Case& c) {
    static constexpr const char* trainings[] = {"block", "sliding", "all"};
    static constexpr const char* detectors[] = {"none", "amf", "ace", "glrt", "cfar"};
    static constexpr const char* implementations[] = {"fused", "staged", "cublas"};
    if (c.pulses > 0) out << "P" << c.pulses << "_" << c.taper << "_";
    return out << "L" << c.channels << "_T" << c.taps << "_K" << c.doppler_bins << "_N"
               << c.range_cells << "_NR" << c.training_block << "_D" << c.vectors << "_"
               << trainings[static_cast<int>(c.training)] << "_G" << c.guard << "_"
               << detectors[static_cast<int>(c.detector)] << "_load"
               << (c.loading.relative ? "rel" : "abs") << c.loading.value << "_"
               << (c.solver == dense::Factorisation::cholesky ? "cholesky" : "gaussjordan") << "_"
               << implementations[static_cast<int>(c.implementation)] << "_"
               << (c.precision == Precision::fp32 ? "fp32" : "mixed");
}

core::Array<cfloat, 3> noise_cube(const Problem& problem, unsigned seed) {
    core::Array<cfloat, 3> cube(
        {problem.shape.channels, problem.shape.pulses, problem.shape.range_cells});
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, std::sqrt(0.5f));
    for (cfloat& sample : cube) sample = {normal(random), normal(random)};
    for (index_t k = 0; k < cube.extent()[1]; ++k) {
        for (index_t r = 0; r < cube.extent()[2]; ++r) {
            const cfloat amplitude = 3.0f * cfloat(normal(random), normal(random));
            for (index_t c = 0; c < cube.extent()[0]; ++c) {
                cube(c, k, r) += amplitude * std::polar(1.0f, 0.7f * static_cast<float>(c));
            }
        }
    }
    return cube;
}

core::Array<cfloat, 2> random_steering(const Problem& problem, unsigned seed) {
    core::Array<cfloat, 2> steering({problem.steering_vectors, problem.order});
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (cfloat& entry : steering) entry = {uniform(random), uniform(random)};
    return steering;
}

HostResults run_cpu(const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                    core::View<const cfloat, 2, core::Host> steering) {
    core::Cpu cpu(2);
    HostResults results(problem);
    Pipeline<core::Cpu>(cpu, problem, steering).run(cube, results.views(problem), nullptr);
    return results;
}

void expect_same_bits(const HostResults& a, const HostResults& b) {
    EXPECT_TRUE(tests::same_bytes(a.output, b.output)) << "output";
    EXPECT_TRUE(tests::same_bytes(a.info, b.info)) << "info";
    EXPECT_TRUE(tests::same_bytes(a.pivot_ratio, b.pivot_ratio)) << "pivot_ratio";
    EXPECT_TRUE(tests::same_bytes(a.covariance, b.covariance)) << "covariance";
    EXPECT_TRUE(tests::same_bytes(a.weights, b.weights)) << "weights";
    EXPECT_TRUE(tests::same_bytes(a.statistic, b.statistic)) << "statistic";
    EXPECT_TRUE(tests::same_bytes(a.attempt, b.attempt)) << "attempt";
}

void expect_matrices(const core::Array<oracle::Complex, 4>& wanted,
                     const core::Array<cfloat, 4>& given, double bound, const char* what) {
    for (index_t k = 0; k < wanted.extent()[0]; ++k) {
        for (index_t b = 0; b < wanted.extent()[1]; ++b) {
            oracle::SnrDb snr;
            for (index_t i = 0; i < wanted.extent()[2]; ++i) {
                for (index_t j = 0; j < wanted.extent()[3]; ++j) {
                    snr.add(wanted(k, b, i, j), oracle::Complex(given(k, b, i, j)));
                }
            }
            ASSERT_GE(snr.value(), bound) << what << " of Doppler bin " << k << ", set " << b;
        }
    }
}

double condition(const core::Array<oracle::Complex, 4>& covariance, index_t k, index_t b) {
    const index_t n = covariance.extent()[2];
    oracle::Matrix r(n, n);
    for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j < n; ++j) r(i, j) = covariance(k, b, i, j);
    }
    const std::vector<double> values = oracle::eigenvalues(r);
    return values.back() / values.front();
}

oracle::Cube doppler_cube_of(const Problem& p, core::View<const cfloat, 3, core::Host> cube) {
    if (p.shape.domain == Domain::doppler) return oracle::widen(cube);
    const auto taper = signal::taper_weights(p.parameters.taper, static_cast<int>(p.shape.pulses));
    return oracle::doppler(cube, taper, p.doppler_bins);
}

core::Array<oracle::Complex, 4> weights_of(const core::Array<cfloat, 4>& covariance,
                                           core::View<const cfloat, 2, core::Host> steering) {
    const index_t n = covariance.extent()[2];
    core::Array<oracle::Complex, 4> weights(
        {covariance.extent()[0], covariance.extent()[1], steering.extent[0], n});
    oracle::Matrix r(n, n), v(n, steering.extent[0]);
    for (index_t i = 0; i < n; ++i) {
        for (index_t d = 0; d < v.cols(); ++d) v(i, d) = oracle::Complex(steering(d, i));
    }
    for (index_t k = 0; k < covariance.extent()[0]; ++k) {
        for (index_t b = 0; b < covariance.extent()[1]; ++b) {
            for (index_t i = 0; i < n; ++i) {
                for (index_t j = 0; j < n; ++j) r(i, j) = oracle::Complex(covariance(k, b, i, j));
            }
            const oracle::Matrix w = oracle::solve_each(r, v);
            for (index_t d = 0; d < v.cols(); ++d) {
                for (index_t i = 0; i < n; ++i) weights(k, b, d, i) = w(i, d);
            }
        }
    }
    return weights;
}

void expect_oracle(const Problem& p, core::View<const cfloat, 3, core::Host> cube,
                   core::View<const cfloat, 2, core::Host> steering, const HostResults& given) {
    const oracle::Adapted wanted = oracle::adapt(p, doppler_cube_of(p, cube), steering);
    double worst = 1;
    for (index_t k = 0; k < p.doppler_bins; ++k) {
        for (index_t b = 0; b < p.training_sets; ++b) {
            worst = std::max(worst, condition(wanted.covariance, k, b));
            ASSERT_EQ(given.info(k, b), 0) << "Doppler bin " << k << ", set " << b;
            ASSERT_GE(given.pivot_ratio(k, b), 0.999f);
            ASSERT_LE(given.pivot_ratio(k, b), 1.01 * worst);
        }
    }
    // Transforms are in fp32 whatever the precision of later stages.
    const bool mixed =
        p.parameters.precision == Precision::mixed && p.shape.domain == Domain::doppler;
    const double transform_penalty = p.shape.domain == Domain::pulse ? 10 : 0;
    expect_matrices(wanted.covariance, given.covariance, (mixed ? 140 : 130) - transform_penalty,
                    "covariance");
    const double conditioned = std::min(110.0, 150 - 20 * std::log10(worst));
    if (p.parameters.training == Training::all) {
        // Every cell has weights of its own, and there is one covariance per Doppler bin.
    } else if (p.parameters.precision == Precision::fp32) {
        expect_matrices(weights_of(given.covariance, steering), given.weights, conditioned,
                        "weights");
    } else {
        expect_matrices(wanted.weights, given.weights, mixed ? 130 : conditioned - 10, "weights");
    }
    const double output_bound = mixed ? 120 : conditioned - 10 - transform_penalty;
    for (index_t d = 0; d < p.steering_vectors; ++d) {
        oracle::SnrDb output, statistic;
        for (index_t k = 0; k < p.doppler_bins; ++k) {
            for (index_t r = 0; r < p.shape.range_cells; ++r) {
                output.add(wanted.output(d, k, r), oracle::Complex(given.output(d, k, r)));
                if (p.parameters.detector == Detector::none) continue;
                statistic.add(wanted.statistic(d, k, r), given.statistic(d, k, r));
            }
        }
        ASSERT_GE(output.value(), output_bound) << "output of steering vector " << d;
        if (p.parameters.detector == Detector::none) continue;
        ASSERT_GE(statistic.value(), output_bound - 25) << "statistic of steering vector " << d;
    }
}

}  // namespace aperture::stap::kernel_cases
