// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "aperture/core/error.hpp"
#include "aperture/flow/picture.hpp"
#include "aperture/media/flow_figure.hpp"
#include "aperture/media/plot.hpp"
#include "tests/media/cube_files.hpp"
#include "tests/media/flows.hpp"

namespace aperture::media::tests {
namespace {

using core::Array;
using core::Host;
using core::index_t;
using core::View;
using signal::colour_at;
using testing::ElementsAre;
using testing::HasSubstr;

struct Arrow {
    float u;
    float v;
    int tip_x;  ///< from the middle of the tile
    int tip_y;
};
void PrintTo(const Arrow& arrow, std::ostream* stream) { *stream << arrow.u << ", " << arrow.v; }

class ArrowTo : public testing::TestWithParam<Arrow> {};

INSTANTIATE_TEST_SUITE_P(All, ArrowTo,
                         testing::Values(Arrow{5, 0, 10, 0}, Arrow{-5, 0, -10, 0},
                                         Arrow{0, 5, 0, 10}, Arrow{0, -5, 0, -10},
                                         Arrow{3.5, 3.5, 7, 7}));

TEST_P(ArrowTo, LeadsFromItsPixelToTwiceItsMotion) {
    const auto [u, v, tip_x, tip_y] = GetParam();
    Array<float, 3> flow = constant_flow(41, 41, NAN, NAN);
    flow(0, 20, 20) = u;
    flow(1, 20, 20) = v;
    const Array<float, 3> image = constant_flow(41, 41, 100, 0);
    const Picture picture = arrow_figure(image.view().slice(0, 0, 1), flow, 40, 2).pixels();
    constexpr Colour dark_grey = {50, 50, 50};
    std::set<int> columns;
    std::set<int> rows;
    for (int y = 0; y < 41; ++y) {
        for (int x = 0; x < 41; ++x) {
            if (picture.at(x, y) == dark_grey) continue;
            columns.insert(x - 20);
            rows.insert(y - 20);
        }
    }
    const Colour expected = flow::flow_colour(u / std::hypot(u, v), v / std::hypot(u, v));
    const Colour found = picture.at(20 + tip_x / 2, 20 + tip_y / 2);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], expected[c], 3) << c;
    // The line is 1.4 pixels wide; barbs are 3.5 pixels long, and 1.5 off the line.
    EXPECT_NEAR(*columns.begin(), std::min(0, tip_x), 4);
    EXPECT_NEAR(*columns.rbegin(), std::max(0, tip_x), 4);
    EXPECT_NEAR(*rows.begin(), std::min(0, tip_y), 4);
    EXPECT_NEAR(*rows.rbegin(), std::max(0, tip_y), 4);
    // An arrow is wider at its head than at its tail.
    const auto painted = [&](int from_x, int from_y) {
        int pixels = 0;
        for (int y = -3; y <= 3; ++y) {
            for (int x = -3; x <= 3; ++x) {
                pixels += picture.at(20 + from_x + x, 20 + from_y + y) != dark_grey ? 1 : 0;
            }
        }
        return pixels;
    };
    EXPECT_GT(painted(tip_x, tip_y), painted(0, 0) + 3);
}

TEST(ArrowFigure, StandInTheMiddleOfTiles) {
    const Array<float, 3> flow = constant_flow(20, 30, 0.01F, 0);
    const Array<float, 3> image = constant_flow(20, 30, 0, 0);
    const Picture picture = arrow_figure(image.view().slice(0, 0, 1), flow, 10, 1).pixels();
    std::set<int> columns;
    std::set<int> rows;
    for (int y = 0; y < 20; ++y) {
        for (int x = 0; x < 30; ++x) {
            if (picture.at(x, y)[0] < 200) continue;
            columns.insert(x);
            rows.insert(y);
        }
    }
    EXPECT_THAT(columns, ElementsAre(5, 15, 25));
    EXPECT_THAT(rows, ElementsAre(5, 15));
}

TEST(ArrowFigure, OverTheDarkenedGreyOfAColourImage) {
    const Array<float, 3> flow = constant_flow(2, 2, NAN, NAN);
    Array<float, 3> image({3, 2, 2});
    for (float& value : image) value = 0;
    image(0, 0, 0) = 200;
    image(1, 0, 1) = 200;
    image(2, 1, 0) = 200;
    image(0, 1, 1) = NAN;
    const auto grey = [](std::uint8_t level) { return Colour{level, level, level}; };
    const Picture picture = arrow_figure(image, flow, 1).pixels();
    EXPECT_EQ(picture.at(0, 0), grey(30));
    EXPECT_EQ(picture.at(1, 0), grey(59));
    EXPECT_EQ(picture.at(0, 1), grey(11));
    EXPECT_EQ(picture.at(1, 1), grey(0));
}

TEST(ArrowFigure, StayInsideAndEnd) {
    const Array<float, 3> flow = constant_flow(16, 16, 9e8F, -9e8F);
    const Array<float, 3> image = constant_flow(16, 16, 255, 0);
    const View<const float, 3, Host> grey = image.view().slice(0, 0, 1);
    const Figure huge = arrow_figure(grey, flow, 4, 1e6);
    EXPECT_EQ(huge.columns(), 16 + flow_key_columns);
    // The arrows end at the image's edge: the margin of the key stays white.
    const Picture picture = huge.pixels();
    for (int y = 0; y < 16; ++y) EXPECT_EQ(picture.at(17, y), paper) << y;
    EXPECT_NE(picture.at(15, 0), (Colour{127, 127, 127}));
    EXPECT_THROW(arrow_figure(image, flow, 4), core::InvalidArgument);  // two channels
    EXPECT_THROW(arrow_figure(grey, flow, 0), core::InvalidArgument);
    for (const double wrong : {0.0, -1.0, std::nan(""), 1e9}) {
        EXPECT_THROW(arrow_figure(grey, flow, 4, wrong), core::InvalidArgument) << wrong;
    }
    EXPECT_THAT(error_of([&] { arrow_figure(grey.slice(1, 0, 9), flow, 4); }),
                HasSubstr("image of 16x9 pixels, flow of 16x16"));
}

/// Whether the key beside a picture of `left` columns contains a colour.
bool key_has(const Picture& picture, int left, Colour colour) {
    for (int y = 0; y < picture.height; ++y) {
        for (int x = left; x < picture.width; ++x) {
            if (picture.at(x, y) == colour) return true;
        }
    }
    return false;
}

TEST(FlowFigure, IsThePictureBesideItsWheel) {
    Array<float, 3> flow = constant_flow(300, 40, 3, 0);
    flow(1, 7, 5) = -4;
    const Picture picture = flow_figure(flow, 5).pixels();
    EXPECT_EQ(picture.width, 40 + flow_key_columns);
    EXPECT_EQ(picture.height, 300);
    Picture plain(40, 300, Colour{});
    flow::draw_flow(flow, 5, plain.view());
    for (int y = 0; y < 300; ++y) {
        for (int x = 0; x < 40; ++x) ASSERT_EQ(picture.at(x, y), plain.at(x, y)) << y << ' ' << x;
    }
    // The wheel is white in its middle, and full at its rim: blue up, green left.
    const int centre_x = 40 + 16 + 38;
    constexpr int centre_y = 16 + 38;
    EXPECT_EQ(picture.at(centre_x - 3, centre_y), flow::flow_colour(-3 / 38.0, 0));
    EXPECT_EQ(picture.at(centre_x, centre_y - 19), flow::flow_colour(0, -0.5));
    EXPECT_EQ(picture.at(centre_x - 36, centre_y), flow::flow_colour(-36 / 38.0, 0));
    EXPECT_EQ(picture.at(centre_x, 5), paper);
}

TEST(FlowFigure, OfSmallPicturesHasRoomForItsKey) {
    const Array<float, 3> flow = constant_flow(2, 3, 0, 0);
    EXPECT_GT(flow_figure(flow, 0).rows(), 100);
    EXPECT_GT(arrow_figure(flow.view().slice(0, 0, 1), flow, 4).rows(), 140);
    EXPECT_GT(error_figure(flow, flow, 1).rows(), 160);
}

TEST(FlowFigure, TheScaleOfTheWheelIsWritten) {
    const Array<float, 3> flow = constant_flow(120, 3, 0, 0);
    const auto different = [&](double a, double b) {
        return flow_figure(flow, a).pixels().pixels != flow_figure(flow, b).pixels().pixels;
    };
    EXPECT_TRUE(different(1, 2));
    EXPECT_FALSE(different(0, 1));  // a flow at rest has the unit of the wheel
}

TEST(ErrorFigure, HasABarUpToTheLargestError) {
    const Array<float, 3> flow = constant_flow(200, 30, 1, 0);
    const Picture picture = error_figure(flow, flow, 2).pixels();
    EXPECT_EQ(picture.at(3, 3), colour_at(0));
    EXPECT_TRUE(key_has(picture, 30, colour_at(1)));
    EXPECT_TRUE(key_has(picture, 30, colour_at(0)));
}

}  // namespace
}  // namespace aperture::media::tests
