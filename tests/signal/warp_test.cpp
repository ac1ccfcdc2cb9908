// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/warp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aperture/core/error.hpp"
#include "aperture/signal/registration.hpp"
#include "tests/signal/images.hpp"

namespace aperture::signal {
namespace {

Image warped(const Image& from, const PixelMap& map, float outside, Size size) {
    core::Cpu cpu(2);
    Image to({size.rows, size.columns});
    warp(cpu, from.view(), map, outside, to.view());
    return to;
}

TEST(Warp, ByWholePixelsCopies) {
    const Image from = random_image({9, 11}, 1);
    const Image to = warped(from, {{{1, 0, 2}, {0, 1, -3}, {0, 0, 1}}}, 9, {9, 11});
    for (index_t y = 0; y < 9; ++y) {
        for (index_t x = 0; x < 11; ++x) {
            const bool inside = y + 2 < 9 && x - 3 >= 0;
            EXPECT_EQ(to(y, x), inside ? from(y + 2, x - 3) : 9) << y << ' ' << x;
        }
    }
}

// Cubic convolution is exact for polynomials of degree two.
TEST(Warp, FindsAParabolaBetweenPixelsUnderPerspective) {
    const auto parabola = [](double y, double x) {
        return 0.02 * y * y - 0.03 * x * y + 0.01 * x * x + 0.5 * y - 0.25 * x + 3;
    };
    Image from({40, 50});
    for (index_t y = 0; y < 40; ++y) {
        for (index_t x = 0; x < 50; ++x) {
            from(y, x) =
                static_cast<float>(parabola(static_cast<double>(y), static_cast<double>(x)));
        }
    }
    const PixelMap map{{{0.9, -0.2, 8.3}, {0.3, 0.8, 2.1}, {2e-3, -1e-3, 1}}};
    constexpr float outside = -1000;
    const Image to = warped(from, map, outside, {45, 52});
    int inside = 0;
    for (index_t y = 0; y < 45; ++y) {
        for (index_t x = 0; x < 52; ++x) {
            double at[3];
            for (int i = 0; i < 3; ++i) {
                at[i] = map.at[i][0] * static_cast<double>(y) +
                        map.at[i][1] * static_cast<double>(x) + map.at[i][2];
            }
            const double from_y = at[0] / at[2];
            const double from_x = at[1] / at[2];
            if (from_y < -0.5 || from_y > 39.5 || from_x < -0.5 || from_x > 49.5) {
                EXPECT_EQ(to(y, x), outside) << y << ' ' << x;
            } else if (from_y > 1 && from_y < 38 && from_x > 1 && from_x < 48) {
                EXPECT_NEAR(to(y, x), parabola(from_y, from_x), 1e-4) << y << ' ' << x;
                ++inside;
            }
        }
    }
    EXPECT_GT(inside, 500);
}

TEST(Warp, LeavesOutWhatIsBehindTheHorizon) {
    const Image to =
        warped(constant_image({8, 8}, 5), {{{0, 0, 3}, {0, 0, 3}, {0, 1, -4}}}, 1, {8, 8});
    for (index_t x = 0; x < 8; ++x) EXPECT_EQ(to(0, x), x > 4 ? 5 : 1) << x;
}

TEST(Warp, OfAnAlignmentMovesTheCentreByItsShift) {
    Alignment alignment;
    alignment.dy = 2.5;
    alignment.dx = -1;
    alignment.rotation = 90;
    alignment.scale = 2;
    const PixelMap map = pixel_map(alignment, {11, 21});
    const auto at = [&](int i, double y, double x) {
        return map.at[i][0] * y + map.at[i][1] * x + map.at[i][2];
    };
    EXPECT_NEAR(at(0, 5, 10), 7.5, 1e-12);
    EXPECT_NEAR(at(1, 5, 10), 9, 1e-12);
    // Counterclockwise: what is right of the centre comes above it.
    EXPECT_NEAR(at(0, 5, 11), 7.5 - 2, 1e-12);
    EXPECT_NEAR(at(1, 5, 11), 9, 1e-12);
}

TEST(Warp, RefusesAnEmptySource) {
    core::Cpu cpu(1);
    Image to({2, 2});
    EXPECT_THROW(warp(cpu, Image({0, 3}).view(), {}, 0, to.view()), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::signal
