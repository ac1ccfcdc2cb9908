// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "aperture/core/error.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/flow_picture.hpp"
#include "aperture/media/plot.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/media/flows.hpp"

namespace aperture::media::tests {
namespace {

using core::Array;
using core::Host;
using core::View;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Colour black = {0, 0, 0};
constexpr Colour white = {255, 255, 255};
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Motion {
    double u;
    double v;
    std::array<int, 3> colour;
};
void PrintTo(const Motion& motion, std::ostream* stream) {
    *stream << motion.u << ", " << motion.v;
}

class WheelColour : public testing::TestWithParam<Motion> {};

// By hand from the wheel's definition. The position k of a direction among the 55 colours is 0 to
// the right, 13.5 downwards, 27 to the left, 40.5 upwards; arcs start at 0, 15, 21, 25, 36, 49.
INSTANTIATE_TEST_SUITE_P(
    All, WheelColour,
    testing::Values(
        Motion{1, 0, {255, 0, 0}},
        // Between 255*13/15 = 221 and 255*14/15 = 238 of green.
        Motion{0, 1, {255, 229, 0}},
        // Third of 11 from cyan to blue: 255 - 255*2/11 = 209.
        Motion{-1, 0, {0, 209, 255}},
        // Between 255*4/13 = 78 and 255*5/13 = 98 of red.
        Motion{0, -1, {88, 0, 255}},
        // k = 6.75: three quarters from 255*6/15 = 102 to 255*7/15 = 119.
        Motion{std::numbers::sqrt2 / 2, std::numbers::sqrt2 / 2, {255, 114, 0}},
        // Just above the positive x-axis k is almost 54: the last colour, 255 - 255*5/6 = 43.
        Motion{1, -1e-9, {255, 0, 43}}, Motion{0, 0, {255, 255, 255}},
        // Half way to white.
        Motion{0.5, 0, {255, 127, 127}}, Motion{0, 0.5, {255, 242, 127}},
        // Longer than 1: three quarters of the full colour, whatever the length.
        Motion{2, 0, {191, 0, 0}}, Motion{1.01, 0, {191, 0, 0}}, Motion{0, 1000, {191, 172, 0}}));

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
    Array<float, 3> flow = constant_flow(2, 3, 0.5F, 0);
    flow(0, 1, 1) = -3;
    flow(1, 1, 1) = 4;
    flow(0, 0, 0) = 1.67e9F;
    flow(1, 0, 2) = nan;
    EXPECT_DOUBLE_EQ(largest_motion(flow), 5);
    EXPECT_EQ(largest_motion(constant_flow(1, 1, nan, nan)), 0);
    EXPECT_EQ(largest_motion(constant_flow(1, 1, 0, 0)), 0);
    EXPECT_THROW(largest_motion(Array<float, 3>({2, 0, 1})), core::InvalidArgument);
    EXPECT_THROW(largest_motion(Array<float, 3>({1, 1, 1})), core::InvalidArgument);
}

TEST(DrawFlow, IsThePlainPictureOfEveryPixel) {
    Array<float, 3> flow = constant_flow(2, 3, 0, 0);
    flow(0, 0, 1) = 4;
    flow(1, 0, 2) = -2;
    flow(0, 1, 0) = 8;
    flow(0, 1, 1) = unknown_flow;
    flow(1, 1, 2) = nan;
    const Picture picture = draw_flow(flow, 4);
    EXPECT_EQ(picture.width, 3);
    EXPECT_EQ(picture.height, 2);
    EXPECT_THAT(picture.pixels, ElementsAre(white, Colour{255, 0, 0}, flow_colour(0, -0.5),
                                            Colour{191, 0, 0}, black, black));
    // The same values through other strides.
    const std::vector<float> values = {0, 0, 4, 0, 0, -2, 8, 0, unknown_flow, 0, 0, nan};
    const View<const float, 3, Host> interleaved(values.data(), {2, 2, 3}, {1, 6, 2});
    EXPECT_EQ(draw_flow(interleaved, 4).pixels, picture.pixels);
}

TEST(DrawFlow, WithoutMotionIsWhite) {
    const Array<float, 3> flow = constant_flow(1, 2, 0, 0);
    EXPECT_THAT(draw_flow(flow, largest_motion(flow)).pixels, ElementsAre(white, white));
    for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
        EXPECT_THROW(draw_flow(flow, wrong), core::InvalidArgument) << wrong;
    }
}

TEST(ErrorMap, IsTheEndPointErrorInColours) {
    const Array<float, 3> truth = constant_flow(1, 6, 1, 2);
    Array<float, 3> flow = constant_flow(1, 6, 1, 2);
    flow(0, 0, 1) = 4;  // 3 right of the truth, 4 below: an error of 5
    flow(1, 0, 1) = 6;
    flow(0, 0, 2) = -9;
    flow(0, 0, 3) = nan;
    Array<float, 3> partly = constant_flow(1, 6, 1, 2);
    partly(1, 0, 4) = 1.67e9F;
    flow(0, 0, 5) = nan;
    partly(0, 0, 5) = nan;
    EXPECT_THAT(
        draw_error_map(flow, partly, 10).pixels,
        ElementsAre(colour_at(0), colour_at(0.5), colour_at(1), colour_at(1), black, black));
    EXPECT_THAT(error_of([&] { draw_error_map(flow, constant_flow(2, 6, 0, 0), 1); }),
                HasSubstr("truth of 6x2 pixels, flow of 6x1"));
    for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        EXPECT_THROW(draw_error_map(flow, truth, wrong), core::InvalidArgument) << wrong;
    }
}

}  // namespace
}  // namespace aperture::media::tests
