// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/robust_terms.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

PaddedPlanes constraints_of(const Image& image0, const Image& warped1, const Flow& flow) {
    const Shape shape{image0.extent()[0], image0.extent()[1]};
    core::Cpu cpu(2);
    Constancy constancy(shape);
    PaddedPlanes start(2, shape);
    constancy.linearise(cpu, padded_image(cpu, image0), padded_image(cpu, warped1),
                        padded_flow(flow), start);
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

double charbonnier(double squared, double epsilon) {
    return 1 / std::sqrt(squared + epsilon * epsilon);
}

/// One pixel with the constraints (0.6, 0.8, -1), (1, 0, 0.3), (0, 1, 0.4), linearised at the flow
/// (2, -1) and evaluated at (3, 1). Errors are 0.6 * 1 + 0.8 * 2 - 1 = 1.2, then 1.3 and 2.4.
TEST(DataWeights, OfAPixelAreThoseByHand) {
    const double values[9] = {0.6, 0.8, -1, 1, 0, 0.3, 0, 1, 0.4};
    const Shape shape{1, 1};
    core::Cpu cpu(1);
    PaddedPlanes terms(5, shape);
    weigh_data(cpu, padded(9, shape, [&](index_t i, index_t, index_t) { return values[i]; }),
               padded_flow(constant_flow(shape, 2, -1)), padded_flow(constant_flow(shape, 3, 1)),
               0.5F, terms);
    const double value = 0.5 * charbonnier(1.2 * 1.2, 0.1);
    const double slope = charbonnier(1.3 * 1.3 + 2.4 * 2.4, 0.1);
    const double j11 = 0.36 * value + slope;
    const double j12 = 0.48 * value;
    const double j22 = 0.64 * value + slope;
    EXPECT_NEAR(terms.row(0, 0)[0], j11, 1e-6);
    EXPECT_NEAR(terms.row(1, 0)[0], j12, 1e-6);
    EXPECT_NEAR(terms.row(2, 0)[0], j22, 1e-6);
    EXPECT_NEAR(terms.row(3, 0)[0], 2 * j11 - j12 - (-0.6 * value + 0.3 * slope), 1e-6);
    EXPECT_NEAR(terms.row(4, 0)[0], 2 * j12 - j22 - (-0.8 * value + 0.4 * slope), 1e-6);
}

/// At the flow of the weights, the system's residual is the gradient of the penalties.
TEST(DataWeights, MakeASystemWhoseResidualIsThatOfThePenalties) {
    const Shape shape{6, 37};
    std::mt19937 generator(1);
    std::normal_distribution<double> normal(0, 1);
    const auto next = [&](index_t, index_t, index_t) { return normal(generator); };
    const PaddedPlanes c = padded(9, shape, next);
    const PaddedPlanes about = padded(2, shape, next);
    const PaddedPlanes now = padded(2, shape, next);
    core::Cpu cpu(2);
    PaddedPlanes terms(5, shape);
    weigh_data(cpu, c, about, now, 0.7F, terms);
    const auto penalty = [&](index_t y, index_t x, double u, double v) {
        double error[3];
        for (index_t k = 0; k < 3; ++k) {
            error[k] = c.row(3 * k, y)[x] * (u - about.row(0, y)[x]) +
                       c.row(3 * k + 1, y)[x] * (v - about.row(1, y)[x]) + c.row(3 * k + 2, y)[x];
        }
        return 0.7 * std::sqrt(error[0] * error[0] + 0.01) +
               std::sqrt(error[1] * error[1] + error[2] * error[2] + 0.01);
    };
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const double u = now.row(0, y)[x];
            const double v = now.row(1, y)[x];
            constexpr double h = 1e-5;
            const double of_u = (penalty(y, x, u + h, v) - penalty(y, x, u - h, v)) / (2 * h);
            const double of_v = (penalty(y, x, u, v + h) - penalty(y, x, u, v - h)) / (2 * h);
            ASSERT_NEAR(terms.row(0, y)[x] * u + terms.row(1, y)[x] * v - terms.row(3, y)[x], of_u,
                        1e-3);
            ASSERT_NEAR(terms.row(1, y)[x] * u + terms.row(2, y)[x] * v - terms.row(4, y)[x], of_v,
                        1e-3);
        }
    }
}

/// Two by two pixels, with steps of the flow computed by hand.
TEST(SmoothnessWeights, AreThoseByHand) {
    const Shape shape{2, 2};
    core::Cpu cpu(1);
    const PaddedPlanes flow = padded_flow(flow_of(
        shape, [](index_t y, index_t x) { return y == 0 ? 3 * x : 3 + x; },
        [](index_t y, index_t x) { return y == 0 ? 4 * x : 1; }));
    const PaddedPlanes image =
        padded_image(cpu, image_of(shape, [](index_t y, index_t x) { return 10 * x - 30 * y; }));
    PaddedPlanes coupling(2, shape);
    weigh_smoothness(cpu, image, flow, 0, coupling);
    const double epsilon = 0.005;
    EXPECT_NEAR(coupling.row(0, 0)[0], charbonnier(9 + 16, epsilon), 1e-6);
    EXPECT_NEAR(coupling.row(0, 1)[0], charbonnier(1, epsilon), 1e-6);
    EXPECT_NEAR(coupling.row(1, 0)[0], charbonnier(9 + 1, epsilon), 1e-6);
    EXPECT_NEAR(coupling.row(1, 0)[1], charbonnier(1 + 9, epsilon), 1e-6);
    // Steps of 10 and 30 grey levels: 1 + 10 / 40 and 1 + 30 / 40.
    weigh_smoothness(cpu, image, flow, 20, coupling);
    EXPECT_NEAR(coupling.row(0, 0)[0], charbonnier(9 + 16, epsilon) / (1.25 * 1.25), 1e-6);
    EXPECT_NEAR(coupling.row(1, 0)[1], charbonnier(1 + 9, epsilon) / (1.75 * 1.75), 1e-6);
    // A constant flow.
    weigh_smoothness(cpu, image, padded_flow(constant_flow(shape, 1, 2)), 0, coupling);
    EXPECT_NEAR(coupling.row(0, 0)[0], 200, 1e-3);
}

}  // namespace
}  // namespace aperture::flow
