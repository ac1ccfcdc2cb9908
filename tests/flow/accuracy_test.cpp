// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/accuracy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "aperture/core/error.hpp"
#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

using Vector = std::array<float, 2>;

constexpr Shape small{2, 3};

/// A field of these pixels, row by row.
Flow field(const std::array<Vector, 6>& pixels) {
    const auto component = [&](std::size_t i) {
        return [&pixels, i](index_t y, index_t x) {
            return pixels[static_cast<std::size_t>(y * 3 + x)][i];
        };
    };
    return flow_of(small, component(0), component(1));
}

Accuracy compared(const Flow& flow, const Flow& truth) {
    core::Cpu cpu(2);
    return compare(cpu, flow, truth);
}

TEST(IsKnown, FollowsMiddlebury) {
    EXPECT_TRUE(is_known(0, 0));
    EXPECT_TRUE(is_known(1e9F, -1e9F));
    EXPECT_FALSE(is_known(1.1e9F, 0));
    EXPECT_FALSE(is_known(0, -1.1e9F));
    EXPECT_FALSE(is_known(nan, 0));
    EXPECT_FALSE(is_known(0, nan));
    EXPECT_FALSE(is_known(0, infinity));
    EXPECT_FALSE(is_known(1e10F, 1e10F));
}

TEST(Accuracy, OfSixPixelsByHand) {
    const float root2 = std::sqrt(2.0F);
    // Angles between (u, v, 1): 0 and 60 degrees; (1, 0, 1) to (-1, 0, 1) is 90, (0, 0, 1) to
    // (1, 0, 1) is 45, (0, sqrt 2, 1) to (0, 0, 1) has cosine 1 / sqrt 3, and (0, 0, 1) to
    // (0.6, 0.8, 1) is 45 again. Distances 0, sqrt 2, 2, 1, sqrt 2 and 1.
    const Flow flow = field({{{3, -4}, {1, 0}, {1, 0}, {0, 0}, {0, root2}, {0, 0}}});
    const Flow truth = field({{{3, -4}, {0, 1}, {-1, 0}, {1, 0}, {0, 0}, {0.6F, 0.8F}}});
    const Accuracy a = compared(flow, truth);
    EXPECT_EQ(a.known, 6);
    EXPECT_EQ(a.non_finite, 0);
    EXPECT_NEAR(a.aae, (0 + 60 + 90 + 45 + 54.735610317245 + 45) / 6, 1e-5);
    EXPECT_NEAR(a.epe, (0 + 2 * std::sqrt(2.0) + 2 + 1 + 1) / 6, 1e-6);
    EXPECT_NEAR(a.rmse, std::sqrt((0 + 2 + 4 + 1 + 2 + 1) / 6.0), 1e-6);
    EXPECT_DOUBLE_EQ(a.r05, 5 / 6.0);
}

TEST(Accuracy, CountsDistancesAboveItsThresholdsOnly) {
    const Flow truth = constant_flow(small, 0, 0);
    const Accuracy a = compared(
        field({{{0.5F, 0}, {0, -0.5001F}, {1, 0}, {0, 1.001F}, {0, -2}, {2.001F, 0}}}), truth);
    EXPECT_DOUBLE_EQ(a.r05, 5 / 6.0);
    EXPECT_DOUBLE_EQ(a.r1, 3 / 6.0);
    EXPECT_DOUBLE_EQ(a.r2, 1 / 6.0);
}

TEST(Accuracy, OfAsGoodAsParallelVectorsIsZeroDegrees) {
    // Some of these cosines are rounded to more than one.
    const Shape larger{64, 64};
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1000, 1000);
    const auto next = [&](index_t, index_t) { return uniform(generator); };
    const Flow flow = flow_of(larger, next, next);
    const Flow truth = flow_of(
        larger, [&](index_t y, index_t x) { return std::nextafter(flow(0, y, x), infinity); },
        [&](index_t y, index_t x) { return flow(1, y, x); });
    EXPECT_LT(compared(flow, truth).aae, 1e-5);
}

struct Unknown {
    const char* name;
    Vector truth;
};
void PrintTo(const Unknown& unknown, std::ostream* stream) { *stream << unknown.name; }

class UnknownTruth : public testing::TestWithParam<Unknown> {};

INSTANTIATE_TEST_SUITE_P(All, UnknownTruth,
                         testing::Values(Unknown{"LargeU", {1e10F, 0}},
                                         Unknown{"LargeV", {0, 1e10F}},
                                         Unknown{"LargeNegative", {0, -1.67e9F}},
                                         Unknown{"JustAbove", {1.0000001e9F, 0}},
                                         Unknown{"NanU", {nan, 0}}, Unknown{"NanV", {0, nan}},
                                         Unknown{"Infinite", {0, -infinity}}),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(UnknownTruth, IsLeftOut) {
    const Vector truth = GetParam().truth;
    // The estimate at these pixels is ignored as well.
    const Flow flow = field({{{5, 5}, {1, 0}, {nan, 0}, {0, 0}, {0, 0}, {0, 0}}});
    const Accuracy a = compared(flow, field({{truth, {0, 1}, truth, {0, 0}, {0, 0}, {0, 0}}}));
    EXPECT_EQ(a.known, 4);
    EXPECT_EQ(a.non_finite, 0);
    EXPECT_NEAR(a.aae, 60 / 4.0, 1e-9);
    EXPECT_NEAR(a.epe, std::sqrt(2.0) / 4, 1e-12);
    EXPECT_NEAR(a.rmse, std::sqrt(2.0 / 4), 1e-12);
    EXPECT_DOUBLE_EQ(a.r1, 0.25);
    EXPECT_DOUBLE_EQ(a.r2, 0);
}

TEST_P(UnknownTruth, EverywhereGivesNan) {
    const Vector truth = GetParam().truth;
    const Accuracy a =
        compared(constant_flow(small, 0, 0), field({{truth, truth, truth, truth, truth, truth}}));
    EXPECT_EQ(a.known, 0);
    EXPECT_EQ(a.non_finite, 0);
    for (const double value : {a.aae, a.epe, a.rmse, a.r05, a.r1, a.r2}) {
        EXPECT_TRUE(std::isnan(value)) << value;
    }
}

TEST(Accuracy, KnowsATruthOfTheLargestValue) {
    EXPECT_EQ(compared(constant_flow(small, 0, 0), constant_flow(small, 1e9F, -1e9F)).known, 6);
}

TEST(Accuracy, CountsEstimatesThatAreNotFiniteAsOutliersAndDoesNotAverageThem) {
    const Flow flow = field({{{nan, 0}, {0, infinity}, {-infinity, nan}, {1, 0}, {0, 0}, {0, 0}}});
    const Accuracy a = compared(flow, field({{{0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 0}, {0, 0}}}));
    EXPECT_EQ(a.known, 6);
    EXPECT_EQ(a.non_finite, 3);
    EXPECT_NEAR(a.aae, 60 / 3.0, 1e-9);
    EXPECT_NEAR(a.epe, std::sqrt(2.0) / 3, 1e-12);
    EXPECT_NEAR(a.rmse, std::sqrt(2.0 / 3), 1e-12);
    EXPECT_DOUBLE_EQ(a.r05, 4 / 6.0);
    EXPECT_DOUBLE_EQ(a.r1, 4 / 6.0);
    EXPECT_DOUBLE_EQ(a.r2, 3 / 6.0);
}

TEST(Accuracy, ReadsStridedViewsAndGivesTheSameBitsOnAnyNumberOfThreads) {
    const Shape larger{37, 41};
    const auto wave = [](double scale) {
        return [scale](index_t y, index_t x) {
            return std::sin(scale * static_cast<double>(3 * y + 5 * x));
        };
    };
    const Flow flow = flow_of(larger, wave(0.1), wave(0.7));
    const Flow truth = flow_of(larger, wave(0.2), wave(0.9));
    const Accuracy reference = compared(flow, truth);
    FramedFlow framed_flow(flow);
    FramedFlow framed_truth(truth);
    for (int threads : {1, 3}) {
        core::Cpu cpu(threads);
        const Accuracy a = compare(cpu, framed_flow.view(), framed_truth.view());
        EXPECT_EQ(a.known, 37 * 41);
        EXPECT_EQ(a.aae, reference.aae);
        EXPECT_EQ(a.epe, reference.epe);
        EXPECT_EQ(a.rmse, reference.rmse);
    }
}

TEST(Accuracy, RefusesFlowsOfOtherExtents) {
    const Flow flow = constant_flow(small, 0, 0);
    EXPECT_THROW(compared(flow, constant_flow({2, 4}, 0, 0)), core::InvalidArgument);
    EXPECT_THROW(compared(constant_flow({3, 3}, 0, 0), flow), core::InvalidArgument);
    Flow three({3, 2, 3});
    std::fill(three.begin(), three.end(), 0.0F);
    EXPECT_THROW(compared(three, three), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::flow
