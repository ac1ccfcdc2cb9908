// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "libdense/cpu/lane_kernels.hpp"

namespace aperture::dense::lanes {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

double exact(float x) { return 1 / std::sqrt(static_cast<double>(x)); }

/// Distance from the exact value in units of the last place.
double ulps(float value, float x) {
    int exponent = 0;
    std::frexp(exact(x), &exponent);
    return std::abs(value - exact(x)) / std::ldexp(1.0, exponent - 24);
}

TEST(ReciprocalRoot, IsRoundedAlmostCorrectly) {
    constexpr int width = core::lanes<float>;
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> fraction(1, 2);
    double worst = 0;
    for (int exponent = std::numeric_limits<float>::min_exponent - 1;
         exponent < std::numeric_limits<float>::max_exponent; ++exponent) {
        for (int i = 0; i < 256; ++i) {
            core::Pack<float> x;
            for (int l = 0; l < width; ++l) x[l] = std::ldexp(fraction(generator), exponent);
            const core::Pack<float> root = reciprocal_square_root<float>(x);
            for (int l = 0; l < width; ++l) worst = std::max(worst, ulps(root[l], x[l]));
        }
    }
    EXPECT_LT(worst, 0.501);
}

TEST(ReciprocalRoot, IsRightBesideExtremeLanes) {
    for (const float x : {std::numeric_limits<float>::denorm_min(), 1e-40F, 1.1e-38F, 3e38F}) {
        core::Pack<float> pack = core::broadcast(2.0F);
        pack[1] = x;
        const core::Pack<float> root = reciprocal_square_root<float>(pack);
        EXPECT_EQ(root[0], static_cast<float>(exact(2)));
        EXPECT_EQ(root[1], static_cast<float>(exact(x)));
    }
    core::Pack<float> pack = core::broadcast(infinity);
    pack[1] = 0;
    pack[2] = -1;
    const core::Pack<float> root = reciprocal_square_root<float>(pack);
    EXPECT_EQ(root[0], 0);
    EXPECT_EQ(root[1], infinity);
    EXPECT_TRUE(std::isnan(root[2]));
}

}  // namespace
}  // namespace aperture::dense::lanes
