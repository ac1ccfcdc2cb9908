// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/corr/pair_correlator.hpp"
#include "tests/corr/correlation_cases.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::corr {
namespace {

using core::Array;
using core::Device;
using Sums = Array<double, 3>;

class GpuPairs : public tests::GpuTest {};

/// A pair correlator on the GPU with images and sums on the host.
class GpuPairRun {
  public:
    GpuPairRun(const Problem& problem, index_t images)
        : pairs_(gpu_, problem, images),
          planes_({problem.planes, problem.image.rows, problem.image.columns}),
          sums_({problem.surfaces(), problem.lags.extent().rows, problem.lags.extent().columns}) {}

    void load(index_t image, const Planes& planes) {
        core::copy<float, 3, core::Strided>(gpu_, planes.view(), planes_.view());
        pairs_.load(image, std::as_const(planes_).view());
    }
    Sums run(index_t a, index_t b) {
        pairs_.run(a, b, sums_.view());
        Sums sums(sums_.extent());
        core::copy<double, 3, core::Strided>(gpu_, std::as_const(sums_).view(), sums.view());
        gpu_.synchronize();
        return sums;
    }

  private:
    core::Gpu gpu_;
    PairCorrelator<core::Gpu> pairs_;
    Array<float, 3, Device> planes_;
    Array<double, 3, Device> sums_;
};

class GpuPairCases : public tests::GpuTest, public testing::WithParamInterface<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, GpuPairCases, testing::ValuesIn(cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(GpuPairCases, AreTheOracles) {
    const Case& c = GetParam();
    for (const bool each_plane : {false, true}) {
        const Problem problem{3, c.image, c.lags, Method::direct, each_plane};
        GpuPairRun pairs(problem, 3);
        expect_every_pair(
            problem, [&](index_t image, const Planes& planes) { pairs.load(image, planes); },
            [&](index_t a, index_t b) { return pairs.run(a, b); });
    }
}

/// So many planes that neither their spectra nor their summed areas fit in the workspace at once.
TEST_F(GpuPairs, OfPlanesInGroupsAreThoseOfPlanes) {
    const Shape shape{1000, 1200};
    const Lags lags{600, 700};
    constexpr index_t count = 28;
    const Planes a = planes_of(Content::bright, count, shape, 1);
    const Planes b = planes_of(Content::contrast, count, shape, 2);
    const Problem problem{count, shape, lags};
    Problem each = problem;
    each.each_plane = true;
    GpuPairRun one_surface(problem, 2);
    GpuPairRun surfaces(each, 2);
    GpuPairRun of_plane({1, shape, lags}, 2);
    for (GpuPairRun* run : {&one_surface, &surfaces}) {
        run->load(0, a);
        run->load(1, b);
    }
    const Sums sum = one_surface.run(0, 1);
    const Sums of_each = surfaces.run(0, 1);
    Sums expected_sum(sum.extent());
    std::fill(expected_sum.begin(), expected_sum.end(), 0.0);
    double size = 0;
    for (index_t p = 0; p < count; ++p) {
        const auto plane = [&](const Planes& planes) {
            Planes one({1, shape.rows, shape.columns});
            std::copy_n(&planes(p, 0, 0), one.size(), one.data());
            return one;
        };
        of_plane.load(0, plane(a));
        of_plane.load(1, plane(b));
        const Sums expected = of_plane.run(0, 1);
        const double size_of_plane = magnitude(a, b, p);
        size += size_of_plane;
        for (index_t i = 0; i < expected.size(); ++i) {
            ASSERT_NEAR(of_each.data()[p * expected.size() + i], expected.data()[i],
                        5e-7 * size_of_plane);
            expected_sum.data()[i] += expected.data()[i];
        }
    }
    for (index_t i = 0; i < sum.size(); ++i) {
        ASSERT_NEAR(sum.data()[i], expected_sum.data()[i], 5e-7 * size);
    }
}

TEST_F(GpuPairs, HaveTheSameBitsAgainAndAllocateNothing) {
    const Shape shape{75, 90};
    const Planes a = planes_of(Content::bright, 2, shape, 5);
    const Planes b = planes_of(Content::bright, 2, shape, 6);
    GpuPairRun pairs({2, shape, {40, 50, true}}, 2);
    const auto before = core::device_allocations();
    pairs.load(0, a);
    pairs.load(1, b);
    const Sums first = pairs.run(0, 1);
    pairs.load(0, a);
    const Sums second = pairs.run(0, 1);
    EXPECT_EQ(core::device_allocations(), before);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
}

TEST_F(GpuPairs, OfMoreImagesThanMemoryHoldsAreRefusedWithTheNeed) {
    core::Gpu gpu;
    EXPECT_THAT(
        [&] {
            PairCorrelator<core::Gpu>(gpu, {4, {500, 500}, {250, 250}}, 1'000'000);
        },
        testing::ThrowsMessage<core::UnfitDevice>(
            testing::AllOf(testing::StartsWith("pairs of 1000000 images need "),
                           testing::HasSubstr(" GiB of memory, but "))));
}

}  // namespace
}  // namespace aperture::corr
