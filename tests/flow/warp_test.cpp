// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/flow/warp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aperture/core/error.hpp"
#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

using signal::Interpolation;

/// The kernel of cubic convolution with a = -1/2 (Keys 1981, equation 15), or the triangle.
double kernel(Interpolation interpolation, double s) {
    s = std::abs(s);
    if (interpolation == Interpolation::bilinear) return std::max(0.0, 1 - s);
    constexpr double a = -0.5;
    if (s <= 1) return (a + 2) * s * s * s - (a + 3) * s * s + 1;
    if (s < 2) return a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a;
    return 0;
}

double sample(const Plane& image, Interpolation interpolation, double x, double y) {
    x = std::clamp(x, 0.0, static_cast<double>(image.size.columns - 1));
    y = std::clamp(y, 0.0, static_cast<double>(image.size.rows - 1));
    const auto column = static_cast<index_t>(std::floor(x));
    const auto row = static_cast<index_t>(std::floor(y));
    double sum = 0;
    for (index_t i = row - 1; i <= row + 2; ++i) {
        for (index_t j = column - 1; j <= column + 2; ++j) {
            sum += kernel(interpolation, y - static_cast<double>(i)) *
                   kernel(interpolation, x - static_cast<double>(j)) * image(i, j);
        }
    }
    return sum;
}

Plane warped_by_oracle(const Image& image, const Flow& flow, Interpolation interpolation) {
    const Plane from(image);
    Plane to(from.size);
    for (index_t y = 0; y < to.size.rows; ++y) {
        for (index_t x = 0; x < to.size.columns; ++x) {
            const bool finite = std::isfinite(flow(0, y, x)) && std::isfinite(flow(1, y, x));
            const double u = finite ? flow(0, y, x) : 0;
            const double v = finite ? flow(1, y, x) : 0;
            to.at(y, x) =
                sample(from, interpolation, static_cast<double>(x) + u, static_cast<double>(y) + v);
        }
    }
    return to;
}

/// Warps framed views on two threads. Dense views on one and three threads yield the same bits.
Image warped(const Image& image, const Flow& flow, Interpolation interpolation) {
    FramedImage from(image);
    FramedFlow moved(flow);
    FramedImage to({image.extent()[0], image.extent()[1]});
    core::Cpu cpu(2);
    warp(cpu, from.view(), moved.view(), interpolation, to.view());
    EXPECT_TRUE(to.frame_is_untouched());
    const Image result = to.inner();
    for (int threads : {1, 3}) {
        core::Cpu other(threads);
        Image dense(image.extent());
        warp(other, image, flow, interpolation, dense);
        EXPECT_TRUE(same_bytes(dense, result)) << threads << " threads";
    }
    return to.inner();
}

constexpr double largest_value = 255;

Image random_image(Shape shape, unsigned seed) {
    Image image = signal::random_image({shape.rows, shape.columns}, seed);
    for (float& pixel : image) pixel = 127.5F * (pixel + 1);
    return image;
}

/// Multiples of 1/1024 pixel, so that x + u is exact in float for targets below 2^14.
Flow random_flow(Shape shape, double largest, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-largest, largest);
    const auto next = [&](index_t, index_t) {
        return std::round(uniform(generator) * 1024) / 1024;
    };
    return flow_of(shape, next, next);
}

/// Positions are exact. A weight is a cubic of up to three terms of magnitude up to 5/2, so its
/// error is up to 8 roundings. Along each axis four weights multiply values of up to 5/4 of the
/// maximum; the second interpolation multiplies errors by up to 5/4.
constexpr double weight_bound = 2 * 4 * 8 * 1.25 * unit_roundoff * largest_value;

double warp_bound() { return weight_bound + signal::separable_bound(4, 4, 1.25, largest_value); }

struct WarpCase {
    Shape shape;
    Interpolation interpolation;
};
std::string name_of(const WarpCase& c) {
    return std::to_string(c.shape.rows) + "x" + std::to_string(c.shape.columns) +
           (c.interpolation == Interpolation::bicubic ? "_bicubic" : "_bilinear");
}
void PrintTo(const WarpCase& c, std::ostream* stream) { *stream << name_of(c); }

class WarpedImage : public testing::TestWithParam<WarpCase> {};

std::vector<WarpCase> all_cases() {
    std::vector<WarpCase> cases;
    for (const Shape shape : {Shape{1, 1}, Shape{1, 9}, Shape{9, 1}, Shape{2, 2}, Shape{3, 3},
                              Shape{5, 15}, Shape{6, 16}, Shape{17, 33}, Shape{61, 67}}) {
        cases.push_back({shape, Interpolation::bilinear});
        cases.push_back({shape, Interpolation::bicubic});
    }
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Sizes, WarpedImage, testing::ValuesIn(all_cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(WarpedImage, ByWholePixelsIsExact) {
    const auto [shape, interpolation] = GetParam();
    const Image image = random_image(shape, 1);
    for (const auto& [u, v] : {std::pair{0, 0}, {1, 0}, {-2, 1}, {3, -3}}) {
        const Flow flow = constant_flow(shape, static_cast<float>(u), static_cast<float>(v));
        const Image result = warped(image, flow, interpolation);
        const Plane from(image);
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = 0; x < shape.columns; ++x) {
                ASSERT_EQ(static_cast<double>(result(y, x)), from(y + v, x + u))
                    << "by " << u << ", " << v << " at row " << y << ", column " << x;
            }
        }
    }
}

TEST_P(WarpedImage, BySubPixelsIsTheOracles) {
    const auto [shape, interpolation] = GetParam();
    const Image image = random_image(shape, 2);
    const Flow flow = random_flow(shape, 4, 3);
    expect_near(warped(image, flow, interpolation), warped_by_oracle(image, flow, interpolation),
                warp_bound());
}

TEST_P(WarpedImage, FarOutsideRepeatsTheBorder) {
    const auto [shape, interpolation] = GetParam();
    const Image image = random_image(shape, 4);
    const Flow near_by = random_flow(shape, 100, 5);
    expect_near(warped(image, near_by, interpolation),
                warped_by_oracle(image, near_by, interpolation), warp_bound());
    for (const float far : {1e6F, 1e10F, std::numeric_limits<float>::max()}) {
        for (const auto& [u, v] : {std::pair{far, 0.0F}, {-far, far}, {0.0F, -far}}) {
            const Flow flow = constant_flow(shape, u, v);
            expect_near(warped(image, flow, interpolation),
                        warped_by_oracle(image, flow, interpolation), 0);
        }
    }
}

struct NotFinite {
    const char* name;
    float u;
    float v;
};
void PrintTo(const NotFinite& flow, std::ostream* stream) { *stream << flow.name; }

class WarpByNoNumber : public testing::TestWithParam<NotFinite> {};

INSTANTIATE_TEST_SUITE_P(All, WarpByNoNumber,
                         testing::Values(NotFinite{"Nan", nan, nan}, NotFinite{"NanU", nan, 0},
                                         NotFinite{"NanUWithV", nan, 2},
                                         NotFinite{"NanVWithU", -1.5F, nan},
                                         NotFinite{"Infinite", infinity, infinity},
                                         NotFinite{"InfiniteU", infinity, 0},
                                         NotFinite{"MinusInfiniteV", 0, -infinity}),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(WarpByNoNumber, SamplesThePixelItself) {
    const Shape shape{17, 33};
    const Image image = random_image(shape, 6);
    for (const Interpolation interpolation : {Interpolation::bilinear, Interpolation::bicubic}) {
        Flow flow = random_flow(shape, 3, 7);
        for (index_t y = 0; y < shape.rows; ++y) {
            for (index_t x = y % 3; x < shape.columns; x += 3) {
                flow(0, y, x) = GetParam().u;
                flow(1, y, x) = GetParam().v;
            }
        }
        expect_near(warped(image, flow, interpolation),
                    warped_by_oracle(image, flow, interpolation), warp_bound());
    }
}

TEST(WarpOfARamp, MovesItByTheFlow) {
    // Both interpolations reproduce polynomials of first degree.
    const Shape shape{20, 30};
    const Image ramp = image_of(shape, [](index_t y, index_t x) { return 3 * x - 2 * y + 50; });
    for (const Interpolation interpolation : {Interpolation::bilinear, Interpolation::bicubic}) {
        const Image result = warped(ramp, constant_flow(shape, 0.25F, -1.5F), interpolation);
        for (index_t y = 4; y < 16; ++y) {
            for (index_t x = 4; x < 26; ++x)
                EXPECT_NEAR(result(y, x), ramp(y, x) + 3.75, warp_bound());
        }
    }
}

TEST(Warp, RefusesWhatDoesNotFit) {
    core::Cpu cpu(1);
    const Image image = random_image({6, 7}, 1);
    const Flow flow = constant_flow({6, 7}, 0, 0);
    const Flow other = constant_flow({6, 8}, 0, 0);
    Image to({6, 7});
    Image narrow({6, 6});
    const auto warp_by = [&](ImageView<core::Host> from, ConstFlowView<core::Host> by,
                             core::View<float, 2, core::Host> result) {
        warp(cpu, from, by, Interpolation::bilinear, result);
    };
    const ImageView<core::Host> transposed{image.data(), {6, 7}, {1, 6}};
    EXPECT_THROW(warp_by(transposed, flow, to), core::InvalidArgument);
    EXPECT_THROW(warp_by(image, other, to), core::InvalidArgument);
    EXPECT_THROW(warp_by(image, flow, narrow), core::InvalidArgument);
    EXPECT_NO_THROW(warp_by(image, flow, to));
}

}  // namespace
}  // namespace aperture::flow
