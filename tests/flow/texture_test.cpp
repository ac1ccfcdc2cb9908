// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/texture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/flow/fields.hpp"

namespace aperture::flow {
namespace {

Image filtered(const Image& image, float share) {
    const Shape shape{image.extent()[0], image.extent()[1]};
    core::Cpu cpu(2);
    PaddedPlanes planes(1, shape);
    load_image(cpu, image, planes);
    TextureFilter(shape).run(cpu, share, planes);
    for (index_t y = 0; y < shape.rows; ++y) {
        const float* row = planes.row(0, y);
        for (index_t i = 1; i <= image_margin; ++i) {
            EXPECT_EQ(row[-i], row[0]);
            EXPECT_EQ(row[shape.columns - 1 + i], row[shape.columns - 1]);
        }
    }
    return image_of(shape, [&](index_t y, index_t x) { return planes.row(0, y)[x]; });
}

constexpr double theta = 127.5 / 8;

/// The structure u of an image f by 100 steps of projected gradients on the dual p: u = f + theta
/// div p, p <- P(p + grad u / (4 theta)), with P the projection onto the unit disc of every pixel.
/// A quarter is the largest step that cannot diverge, since |grad|^2 <= 8. Differences are forward,
/// none across the border; div is minus their adjoint.
Plane structure_by_oracle(const Plane& f) {
    const auto [rows, columns] = f.size;
    Plane across(f.size);
    Plane down(f.size);
    Plane u(f.size);
    for (int iteration = 0; iteration <= 100; ++iteration) {
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                double divergence = 0;
                if (x + 1 < columns) divergence += across(y, x);
                if (x > 0) divergence -= across(y, x - 1);
                if (y + 1 < rows) divergence += down(y, x);
                if (y > 0) divergence -= down(y - 1, x);
                u.at(y, x) = f(y, x) + theta * divergence;
            }
        }
        if (iteration == 100) break;
        for (index_t y = 0; y < rows; ++y) {
            for (index_t x = 0; x < columns; ++x) {
                // `u` is replicated beyond the border, so differences across it are zero.
                const double a = across(y, x) + (u(y, x + 1) - u(y, x)) / (4 * theta);
                const double d = down(y, x) + (u(y + 1, x) - u(y, x)) / (4 * theta);
                const double length = std::max(1.0, std::hypot(a, d));
                across.at(y, x) = a / length;
                down.at(y, x) = d / length;
            }
        }
    }
    return u;
}

/// A step does not amplify differences of p, so rounding errors add up. A component of p has about
/// 12 roundings in each of 100 steps (|p| <= 1; u up to 510 is rounded three times and divided by 4
/// theta). Their signs vary, so they add up like a random walk. |div| <= sqrt 8 carries the errors
/// of both components over to u. The norm is Euclidean over the image, hence the root mean square.
const double bound =
    std::sqrt(100.0 * 12) * unit_roundoff * std::sqrt(2.0) * std::sqrt(8.0) * theta;

class TextureOf : public testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Sizes, TextureOf,
                         testing::Values(Shape{20, 31}, Shape{1, 1}, Shape{1, 17}, Shape{16, 1},
                                         Shape{2, 33}, Shape{37, 16}));

TEST_P(TextureOf, RandomImageIsTheOracles) {
    // After 100 steps the image of low contrast has not converged.
    for (const auto& [share, highest] : {std::pair{0.95F, 255}, {1.0F, 255}, {1.0F, 15}}) {
        const Image image = random_levels(GetParam(), 1, highest);
        const Plane from(image);
        const Plane structure = structure_by_oracle(from);
        const Image texture = filtered(image, share);
        double squares = 0;
        for (index_t y = 0; y < from.size.rows; ++y) {
            for (index_t x = 0; x < from.size.columns; ++x) {
                const double expected = from(y, x) - static_cast<double>(share) * structure(y, x);
                ASSERT_FALSE(std::isnan(texture(y, x)));
                squares += std::pow(texture(y, x) - expected, 2);
            }
        }
        EXPECT_LE(std::sqrt(squares / static_cast<double>(image.size())), bound) << share;
    }
}

TEST_P(TextureOf, ShareZeroLeavesTheImageToTheBit) {
    const Image image = random_levels(GetParam(), 2);
    EXPECT_TRUE(same_bytes(filtered(image, 0), image));
}

TEST_P(TextureOf, ConstantImageIsWhatTheShareLeavesOfIt) {
    for (const float level : {0.0F, 37.3F, 255.0F}) {
        const Image texture =
            filtered(image_of(GetParam(), [&](index_t, index_t) { return level; }), 0.95F);
        for (const float pixel : texture) {
            EXPECT_NEAR(pixel, (1 - 0.95) * static_cast<double>(level), 4 * unit_roundoff * level);
            // A constant must stay constant to the bit; otherwise gradients would appear.
            EXPECT_EQ(pixel, texture(0, 0));
        }
    }
}

}  // namespace
}  // namespace aperture::flow
