// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "bench/block_policies.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture::bench {
namespace {

using Shape = PolicyBlock;

template <BlockPolicy policy>
void expect_turned() {
    constexpr int blocks = 3;
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::vector<float> reflectors(Shape::elements);
    for (int k = 0; k < Shape::columns; ++k) {
        double square = 0;
        std::vector<double> v(Shape::rows);
        for (double& value : v) {
            value = normal(random);
            square += value * value;
        }
        for (int r = 0; r < Shape::rows; ++r) {
            reflectors[k * Shape::rows + r] = static_cast<float>(v[r] / std::sqrt(square));
        }
    }
    std::vector<float> turned(blocks * Shape::elements);
    for (float& value : turned) value = static_cast<float>(normal(random));
    const auto at = [](int block, int row, int column) {
        return block * Shape::elements + (policy == BlockPolicy::transposed
                                              ? row * Shape::columns + column
                                              : column * Shape::rows + row);
    };
    std::vector<double> expected(turned.begin(), turned.end());
    for (int b = 0; b < blocks; ++b) {
        for (int k = 0; k < Shape::columns; ++k) {
            const float* const v = reflectors.data() + k * Shape::rows;
            for (int c = 0; c < Shape::columns; ++c) {
                double sum = 0;
                for (int r = 0; r < Shape::rows; ++r) sum += v[r] * expected[at(b, r, c)];
                for (int r = 0; r < Shape::rows; ++r) expected[at(b, r, c)] -= 2 * sum * v[r];
            }
        }
    }
    core::Simt simt(core::LaneOrder::random, 3);
    core::launch(simt, &block_policy_kernel<policy>,
                 core::LaunchConfig(dim3(blocks), dim3(Shape::threads), Shape::shared_bytes),
                 reflectors.data(), turned.data());
    for (std::size_t i = 0; i < turned.size(); ++i) ASSERT_NEAR(turned[i], expected[i], 2e-5) << i;
}

TEST(SimtBlockPolicies, AllTurnBlocksByTheSameReflectors) {
    expect_turned<BlockPolicy::shared_parallel>();
    expect_turned<BlockPolicy::shared_serial>();
    expect_turned<BlockPolicy::registers>();
    expect_turned<BlockPolicy::transposed>();
}

}  // namespace
}  // namespace aperture::bench
