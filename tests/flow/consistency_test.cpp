// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/consistency.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "aperture/core/array.hpp"
#include "aperture/core/error.hpp"

namespace aperture::flow {
namespace {

using core::Array;
using testing::Each;

constexpr Shape shape{7, 11};

Array<float, 3> constant_flow(float u, float v) {
    Array<float, 3> flow({2, shape.rows, shape.columns});
    const auto half = flow.size() / 2;
    std::fill(flow.begin(), flow.begin() + half, u);
    std::fill(flow.begin() + half, flow.end(), v);
    return flow;
}

struct Check {
    Array<std::uint8_t, 2> mask{{shape.rows, shape.columns}};
    index_t consistent = 0;

    Check(const Array<float, 3>& forward, const Array<float, 3>& backward) {
        core::Cpu cpu(2);
        consistent = check_consistency(cpu, forward, backward, mask);
    }
};

TEST(Consistency, OfNoMotionIsEverywhere) {
    const Check check(constant_flow(0, 0), constant_flow(0, 0));
    EXPECT_THAT(std::vector<int>(check.mask.begin(), check.mask.end()), Each(255));
    EXPECT_EQ(check.consistent, shape.rows * shape.columns);
}

TEST(Consistency, OfAShiftAndItsOppositeEndsWhereItLeavesTheImage) {
    const Check check(constant_flow(2.5F, -1), constant_flow(-2.5F, 1));
    index_t expected = 0;
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const bool inside = static_cast<double>(x) + 2.5 <= 10 && y >= 1;
            EXPECT_EQ(check.mask(y, x), inside ? 255 : 0) << y << ", " << x;
            expected += inside ? 1 : 0;
        }
    }
    EXPECT_EQ(check.consistent, expected);
}

TEST(Consistency, EndsWithAWrongWayBack) {
    EXPECT_EQ(Check(constant_flow(1, 0), constant_flow(1, 0)).consistent, 0);
    EXPECT_EQ(Check(constant_flow(0, 0), constant_flow(1, 0)).consistent, 0);
}

TEST(Consistency, HasTheTolerancesOfItsSource) {
    const index_t inside = shape.rows * (shape.columns - 1);
    const auto with = [](float back_v) {
        return Check(constant_flow(1, 0), constant_flow(-1, back_v)).consistent;
    };
    // f = (1, 0) and b = (-1, v): v^2 < 0.01 (2 + v^2) + 0.5, so |v| < sqrt(0.52 / 0.99) = 0.72474.
    EXPECT_EQ(with(0.724F), inside);
    EXPECT_EQ(with(-0.724F), inside);
    EXPECT_EQ(with(0.7255F), 0);
}

TEST(Consistency, SamplesTheWayBackBetweenPixels) {
    // The forward flow maps x to 1.5 x. The backward flow there, a third of 1.5 x, leads back.
    auto forward = constant_flow(0, 0);
    auto backward = constant_flow(0, 0);
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            forward(0, y, x) = 0.5F * static_cast<float>(x);
            backward(0, y, x) = -static_cast<float>(x) / 3;
        }
    }
    const Check check(forward, backward);
    // Targets with 1.5 x <= 10 are inside the image.
    EXPECT_EQ(check.consistent, shape.rows * 7);
}

TEST(Consistency, IsNotWhereAFlowIsNotFinite) {
    auto forward = constant_flow(0, 0);
    auto backward = constant_flow(0, 0);
    forward(1, 2, 3) = std::numeric_limits<float>::quiet_NaN();
    forward(0, 2, 4) = std::numeric_limits<float>::infinity();
    backward(0, 5, 9) = std::numeric_limits<float>::infinity();
    backward(1, 6, 10) = std::numeric_limits<float>::quiet_NaN();
    const Check check(forward, backward);
    EXPECT_EQ(check.mask(2, 3), 0);
    EXPECT_EQ(check.mask(2, 4), 0);
    EXPECT_EQ(check.mask(5, 9), 0);
    EXPECT_EQ(check.mask(6, 10), 0);
    EXPECT_EQ(check.mask(0, 0), 255);
}

TEST(Consistency, RefusesFlowsOfOtherSizes) {
    core::Cpu cpu(1);
    Array<std::uint8_t, 2> mask({shape.rows, shape.columns});
    const Array<float, 3> other({2, shape.rows, shape.columns + 1});
    const auto flow = constant_flow(0, 0);
    EXPECT_THROW(check_consistency(cpu, flow, other, mask), core::InvalidArgument);
    EXPECT_THROW(check_consistency(cpu, other, flow, mask), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::flow
