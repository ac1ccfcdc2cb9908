// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/robust_weights.hpp"

#include <gtest/gtest.h>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

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
