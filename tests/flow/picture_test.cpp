// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "aperture/core/error.hpp"
#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

using core::Array;
using core::Host;
using core::View;
using signal::Colour;
using signal::colour_at;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Colour black = {0, 0, 0};
constexpr Colour white = {255, 255, 255};
constexpr float unknown = 1.67e9F;  // in Middlebury's files

/// The pixels of the picture that `draw` draws, row by row.
template <class Draw>
std::vector<Colour> drawn(Shape shape, const Draw& draw) {
    std::vector<Colour> pixels(static_cast<std::size_t>(shape.rows * shape.columns));
    draw(View<std::uint8_t, 3, Host>(pixels.data()->data(), {shape.rows, shape.columns, 3}));
    return pixels;
}

struct WheelMotion {
    double u;
    double v;
    std::array<int, 3> colour;
};
void PrintTo(const WheelMotion& motion, std::ostream* stream) {
    *stream << motion.u << ", " << motion.v;
}

class WheelColour : public testing::TestWithParam<WheelMotion> {};

// By hand from the wheel's definition. The position k of a direction among the 55 colours is 0 to
// the right, 13.5 downwards, 27 to the left, 40.5 upwards; arcs start at 0, 15, 21, 25, 36, 49.
INSTANTIATE_TEST_SUITE_P(
    All, WheelColour,
    testing::Values(
        WheelMotion{1, 0, {255, 0, 0}},
        // Between 255*13/15 = 221 and 255*14/15 = 238 of green.
        WheelMotion{0, 1, {255, 229, 0}},
        // Third of 11 from cyan to blue: 255 - 255*2/11 = 209.
        WheelMotion{-1, 0, {0, 209, 255}},
        // Between 255*4/13 = 78 and 255*5/13 = 98 of red.
        WheelMotion{0, -1, {88, 0, 255}},
        // k = 6.75: three quarters from 255*6/15 = 102 to 255*7/15 = 119.
        WheelMotion{std::numbers::sqrt2 / 2, std::numbers::sqrt2 / 2, {255, 114, 0}},
        // Just above the positive x-axis k is almost 54: the last colour, 255 - 255*5/6 = 43.
        WheelMotion{1, -1e-9, {255, 0, 43}}, WheelMotion{0, 0, {255, 255, 255}},
        // Half way to white.
        WheelMotion{0.5, 0, {255, 127, 127}}, WheelMotion{0, 0.5, {255, 242, 127}},
        // Longer than 1: three quarters of the full colour, whatever the length.
        WheelMotion{2, 0, {191, 0, 0}}, WheelMotion{1.01, 0, {191, 0, 0}},
        WheelMotion{0, 1000, {191, 172, 0}}));

TEST_P(WheelColour, IsMiddleburys) {
    const Colour colour = flow_colour(GetParam().u, GetParam().v);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(colour[c], GetParam().colour[c], 1) << c;
}

TEST(FlowColour, ExactWhereNothingIsRounded) {
    EXPECT_EQ(flow_colour(0, 0), white);
    EXPECT_EQ(flow_colour(1, 0), (Colour{255, 0, 0}));
    EXPECT_EQ(flow_colour(2, 0), (Colour{191, 0, 0}));
    EXPECT_THROW(flow_colour(nan, 0), core::InvalidArgument);
}

TEST(FlowColour, RoundedLengthsOfOneAreNotDarkened) {
    for (int i = 1; i < 500; ++i) {
        const double u = 0.1 * i;
        const double v = 7.7 / i;
        const double length = std::hypot(u, v);
        const Colour colour = flow_colour(u / length, v / length);
        EXPECT_GE(*std::max_element(colour.begin(), colour.end()), 254) << i;
    }
}

TEST(LargestMotion, IsOverKnownPixels) {
    Flow flow = constant_flow({2, 3}, 0.5F, 0);
    flow(0, 1, 1) = -3;
    flow(1, 1, 1) = 4;
    flow(0, 0, 0) = unknown;
    flow(1, 0, 2) = nan;
    EXPECT_DOUBLE_EQ(largest_motion(flow), 5);
    EXPECT_EQ(largest_motion(constant_flow({1, 1}, nan, nan)), 0);
    EXPECT_EQ(largest_motion(constant_flow({1, 1}, 0, 0)), 0);
    EXPECT_THROW(largest_motion(Flow({2, 0, 1})), core::InvalidArgument);
    EXPECT_THROW(largest_motion(Flow({1, 1, 1})), core::InvalidArgument);
}

TEST(DrawFlow, IsThePlainPictureOfEveryPixel) {
    Flow flow = constant_flow({2, 3}, 0, 0);
    flow(0, 0, 1) = 4;
    flow(1, 0, 2) = -2;
    flow(0, 1, 0) = 8;
    flow(0, 1, 1) = unknown;
    flow(1, 1, 2) = nan;
    const auto pixels = drawn({2, 3}, [&](auto picture) { draw_flow(flow, 4, picture); });
    EXPECT_THAT(pixels, ElementsAre(white, Colour{255, 0, 0}, flow_colour(0, -0.5),
                                    Colour{191, 0, 0}, black, black));
    // The same values through other strides.
    const std::vector<float> values = {0, 0, 4, 0, 0, -2, 8, 0, unknown, 0, 0, nan};
    const View<const float, 3, Host> interleaved(values.data(), {2, 2, 3}, {1, 6, 2});
    EXPECT_EQ(drawn({2, 3}, [&](auto picture) { draw_flow(interleaved, 4, picture); }), pixels);
}

TEST(DrawFlow, PaintsAPictureOfAnyStrides) {
    Flow flow = constant_flow({1, 2}, 0, 0);
    flow(0, 0, 1) = 4;
    std::vector<std::uint8_t> planes(6);
    draw_flow(flow, 4, {planes.data(), {1, 2, 3}, {2, 1, 2}});
    EXPECT_THAT(planes, ElementsAre(255, 255, 255, 0, 255, 0));
    EXPECT_THROW(draw_flow(flow, 4, {planes.data(), {2, 1, 3}}), core::InvalidArgument);
    EXPECT_THROW(draw_flow(flow, 4, {planes.data(), {1, 2, 2}}), core::InvalidArgument);
}

TEST(DrawFlow, WithoutMotionIsWhite) {
    const Flow flow = constant_flow({1, 2}, 0, 0);
    const auto draw = [&](double max_motion) {
        return drawn({1, 2}, [&](auto picture) { draw_flow(flow, max_motion, picture); });
    };
    EXPECT_THAT(draw(largest_motion(flow)), ElementsAre(white, white));
    for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
        EXPECT_THROW(draw(wrong), core::InvalidArgument) << wrong;
    }
}

TEST(ErrorMap, IsTheEndPointErrorInColours) {
    const Flow truth = constant_flow({1, 6}, 1, 2);
    Flow flow = constant_flow({1, 6}, 1, 2);
    flow(0, 0, 1) = 4;  // 3 right of the truth, 4 below: an error of 5
    flow(1, 0, 1) = 6;
    flow(0, 0, 2) = -9;
    flow(0, 0, 3) = nan;
    Flow partly = constant_flow({1, 6}, 1, 2);
    partly(1, 0, 4) = unknown;
    flow(0, 0, 5) = nan;
    partly(0, 0, 5) = nan;
    const auto draw = [&](const Flow& known, double max_error) {
        return drawn({1, 6},
                     [&](auto picture) { draw_error_map(flow, known, max_error, picture); });
    };
    EXPECT_THAT(draw(partly, 10), ElementsAre(colour_at(0), colour_at(0.5), colour_at(1),
                                              colour_at(1), black, black));
    EXPECT_THAT(
        [&] {
            draw(constant_flow({2, 6}, 0, 0), 1);
        },
        testing::ThrowsMessage<core::InvalidArgument>(
            HasSubstr("truth of 6x2 pixels, flow of 6x1")));
    for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        EXPECT_THROW(draw(truth, wrong), core::InvalidArgument) << wrong;
    }
}

}  // namespace
}  // namespace aperture::flow
