// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/constancy.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

PaddedPlanes constraints_of(const Image& image0, const Image& warped1, const Flow& flow) {
    const Shape shape{image0.extent()[0], image0.extent()[1]};
    core::Cpu cpu(2);
    Constancy constancy(shape);
    constancy.linearise(cpu, padded_image(cpu, image0), padded_image(cpu, warped1),
                        padded_flow(flow));
    return padded(9, shape, [&](index_t i, index_t y, index_t x) {
        return constancy.constraints().row(i, y)[x];
    });
}

Plane derivatives(const Plane& image, index_t dy, index_t dx) {
    Plane result(image.size);
    for (index_t y = 0; y < image.size.rows; ++y) {
        for (index_t x = 0; x < image.size.columns; ++x) {
            result.at(y, x) = derivative(image, y, x, dy, dx);
        }
    }
    return result;
}

using Constraint = std::array<double, 3>;

Constraint normalised(double c_x, double c_y, double c_t) {
    const double length = std::sqrt(c_x * c_x + c_y * c_y + 1);
    return {c_x / length, c_y / length, c_t / length};
}

class ConstancyConstraints : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Sizes, ConstancyConstraints,
                         testing::Values(Shape{1, 1}, Shape{1, 9}, Shape{9, 1}, Shape{2, 2},
                                         Shape{5, 16}, Shape{17, 33}, Shape{40, 37}));

TEST_P(ConstancyConstraints, AreTheOracles) {
    const Shape shape = GetParam();
    const Image image0 = random_levels(shape, 1);
    const Image warped1 = random_levels(shape, 2);
    const Flow flow = random_quarters(shape, 3);
    const PaddedPlanes found = constraints_of(image0, warped1, flow);

    const Plane zero(image0);
    const Plane one(warped1);
    Plane mean(zero.size);
    Plane difference(zero.size);
    for (std::size_t i = 0; i < mean.pixels.size(); ++i) {
        mean.pixels[i] = (zero.pixels[i] + one.pixels[i]) / 2;
        difference.pixels[i] = one.pixels[i] - zero.pixels[i];
    }
    const Plane across = derivatives(mean, 0, 1);
    const Plane down = derivatives(mean, 1, 0);
    const Plane xx = derivatives(across, 0, 1);
    const Plane xy = derivatives(across, 1, 0);
    const Plane yy = derivatives(down, 1, 0);
    const Plane xt = derivatives(difference, 0, 1);
    const Plane yt = derivatives(difference, 1, 0);
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const float at_x = static_cast<float>(x) + flow(0, y, x);
            const float at_y = static_cast<float>(y) + flow(1, y, x);
            const bool inside = at_x >= 0 && at_x <= static_cast<float>(shape.columns - 1) &&
                                at_y >= 0 && at_y <= static_cast<float>(shape.rows - 1);
            const Constraint expected[3] = {normalised(across(y, x), down(y, x), difference(y, x)),
                                            normalised(xx(y, x), xy(y, x), xt(y, x)),
                                            normalised(xy(y, x), yy(y, x), yt(y, x))};
            for (std::size_t k = 0; k < 3; ++k) {
                // Sums of grey levels, divided by at least one.
                const double bound =
                    32 * unit_roundoff * 255 * (1 + std::abs(expected[k][2])) * (inside ? 1 : 0);
                for (std::size_t i = 0; i < 3; ++i) {
                    const auto value = static_cast<double>(
                        found.row(3 * static_cast<index_t>(k) + static_cast<index_t>(i), y)[x]);
                    ASSERT_LE(std::abs(value - (inside ? expected[k][i] : 0)), bound)
                        << "constraint " << k << ", part " << i << ", row " << y << ", column " << x
                        << ": " << value << ", expected " << expected[k][i];
                }
            }
        }
    }
}

/// A parabola moved by (0.5, -0.25): its value is 2 x^2 - y^2 + 3 x y, its gradient (4 x + 3 y,
/// 3 x - 2 y).
TEST(Constraint, OfAMovedParabolaIsMetByTheMotion) {
    const Shape shape{13, 15};
    const auto parabola = [](double x, double y) { return 2 * x * x - y * y + 3 * x * y; };
    const auto image = [&](double u, double v) {
        return image_of(shape, [&](index_t y, index_t x) {
            return parabola(static_cast<double>(x - 7) - u, static_cast<double>(y - 6) - v);
        });
    };
    const PaddedPlanes c =
        constraints_of(image(0, 0), image(0.5, -0.25), constant_flow(shape, 0, 0));
    // By hand, in the middle, far from the borders: the mean's second derivatives are 4, 3 and -2,
    // the gradient changes by -(4 * 0.5 - 3 * 0.25) and -(3 * 0.5 + 2 * 0.25).
    const index_t y = 6;
    const index_t x = 7;
    const double first = std::sqrt(16.0 + 9 + 1);
    const double second = std::sqrt(9.0 + 4 + 1);
    EXPECT_NEAR(c.row(3, y)[x], 4 / first, 1e-5);
    EXPECT_NEAR(c.row(4, y)[x], 3 / first, 1e-5);
    EXPECT_NEAR(c.row(5, y)[x], -1.25 / first, 1e-5);
    EXPECT_NEAR(c.row(6, y)[x], 3 / second, 1e-5);
    EXPECT_NEAR(c.row(7, y)[x], -2 / second, 1e-5);
    EXPECT_NEAR(c.row(8, y)[x], -2 / second, 1e-5);
    for (index_t k : {0, 3, 6}) {
        const double left = 0.5 * static_cast<double>(c.row(k, y)[x]) -
                            0.25 * static_cast<double>(c.row(k + 1, y)[x]) +
                            static_cast<double>(c.row(k + 2, y)[x]);
        EXPECT_NEAR(left, 0, 1e-5) << k;
    }
}

TEST(Constraint, OfConstantImagesSaysNothingOfTheFlow) {
    const Shape shape{8, 11};
    const auto constant = [&](float level) {
        return image_of(shape, [=](index_t, index_t) { return level; });
    };
    const PaddedPlanes c =
        constraints_of(constant(37.3F), constant(201.7F), constant_flow(shape, 0, 0));
    for (index_t i : {0, 1, 3, 4, 6, 7}) {
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) ASSERT_EQ(c.row(i, y)[x], 0.0F);
        }
    }
}

}  // namespace
}  // namespace aperture::flow
