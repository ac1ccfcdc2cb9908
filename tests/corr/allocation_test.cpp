// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "aperture/corr/correlator.hpp"
#include "aperture/corr/estimator.hpp"
#include "aperture/corr/pair_correlator.hpp"
#include "tests/stap/counted_new.hpp"

namespace aperture::corr {
namespace {

using core::Host;

class Correlating : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(All, Correlating, testing::Values(Method::direct, Method::fft),
                         [](const auto& instance) {
                             return instance.param == Method::direct ? "direct" : "fft";
                         });

TEST_P(Correlating, ASecondRunAllocatesNothing) {
    const Shape shape{45, 67};
    std::mt19937 generator(1);
    std::normal_distribution<float> normal(10, 1);
    core::Array<float, 3> a({2, shape.rows, shape.columns});
    core::Array<float, 3> b(a.extent());
    core::Array<float, 2> mask({shape.rows, shape.columns});
    for (float& value : a) value = normal(generator);
    for (float& value : b) value = normal(generator);
    std::fill(mask.begin(), mask.end(), 1.0F);
    mask(3, 4) = 0;
    core::Cpu cpu(2);
    const Lags lags{20, 30, true};
    Correlator<core::Cpu> correlator(cpu, {2, shape, lags, GetParam(), true});
    SurfaceEstimator estimator(cpu, Estimator::pearson, lags);
    Surfaces surfaces;
    Correlator<core::Cpu> of_all(cpu, {2, shape, lags, GetParam(), false});
    SurfaceEstimator summed(cpu, Estimator::pearson, lags, false);
    Surfaces summed_surfaces;
    const SurfaceEstimator::Correlate correlate_all = [&](Factor of_a, Factor of_b,
                                                          core::View<double, 3, Host> sums) {
        of_all.run(summed.planes(of_a), summed.planes(of_b), sums);
    };
    const SurfaceEstimator::Correlate correlate = [&](Factor of_a, Factor of_b,
                                                      core::View<double, 3, Host> sums) {
        correlator.run(estimator.planes(of_a), estimator.planes(of_b), sums);
    };
    const auto run = [&] {
        estimator.run(a, b, correlate, surfaces);
        estimator.run(a, a, correlate, surfaces);
        estimator.run(a, b, mask, mask, correlate, surfaces);
        summed.run(a, b, correlate_all, summed_surfaces);
        of_all.run(a, b, summed.prepare(2, shape, summed_surfaces));
        summed.finish(a, b, summed_surfaces);
    };
    run();
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    run();
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

TEST(SteadyState, OfPairsAllocatesNothing) {
    const Problem problem{2, {45, 67}, {20, 30, true}};
    core::Array<float, 3> image({2, 45, 67});
    // The mean is not zero, so the sums are also corrected for it.
    for (index_t i = 0; i < image.size(); ++i) image.data()[i] = static_cast<float>(10 + i % 3);
    core::Array<double, 3> sums({1, 39, 59});
    core::Cpu cpu(2);
    PairCorrelator<core::Cpu> correlator(cpu, problem, 2);
    const auto run = [&] {
        correlator.take(0, image);
        correlator.take(1, image);
        correlator.run(0, 1, sums);
    };
    run();
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    run();
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

}  // namespace
}  // namespace aperture::corr
