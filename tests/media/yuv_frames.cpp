// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>

#include "aperture/core/array.hpp"
#include "libmedia/src/yuv_frame.hpp"

namespace aperture::media::tests {
namespace {

using core::index_t;
using Plane = core::Array<std::uint8_t, 2>;

Picture noise(int width, int height) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> level(0, 255);
    Picture picture(width, height, {0, 0, 0});
    for (Colour& pixel : picture.pixels) {
        for (std::uint8_t& value : pixel) value = static_cast<std::uint8_t>(level(random));
    }
    return picture;
}

/// ITU-R Rec. BT.601, section 2.5.3, of R', G' and B' of 0 to 1.
std::array<double, 3> yuv_of(const std::array<double, 3>& rgb) {
    const double luma = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    return {219 * luma + 16, 224 * (rgb[2] - luma) / 1.772 + 128,
            224 * (rgb[0] - luma) / 1.402 + 128};
}

/// The mean of `size` x `size` pixels, the last of which continue the picture.
std::array<double, 3> mean(const Picture& picture, index_t row, index_t column, int size) {
    std::array<double, 3> sum{};
    for (int k = 0; k < size * size; ++k) {
        const int y = std::min(static_cast<int>(row) * size + k / size, picture.height - 1);
        const int x = std::min(static_cast<int>(column) * size + k % size, picture.width - 1);
        for (std::size_t c = 0; c < 3; ++c) {
            sum[c] += picture.at(x, y)[c] / (255.0 * size * size);
        }
    }
    return sum;
}

void expect_component(const Picture& picture, const Plane& plane, std::size_t component, int size) {
    const auto [rows, columns] = plane.extent();
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            // Rounded to nearest in fp32.
            ASSERT_NEAR(plane(row, column), yuv_of(mean(picture, row, column, size))[component],
                        0.501)
                << component << ": " << row << ' ' << column;
        }
    }
}

TEST(YuvFrame, HasTheNearestLevels) {
    for (const auto& [width, height] :
         {std::array{64, 48}, std::array{33, 21}, std::array{1, 1}, std::array{2, 3}}) {
        const Picture picture = noise(width, height);
        const index_t rows = (height + 1) / 2;
        const index_t columns = (width + 1) / 2;
        Plane y({2 * rows, 2 * columns});
        Plane cb({rows, columns});
        Plane cr({rows, columns});
        store_yuv(picture, {y, cb, cr});
        expect_component(picture, y, 0, 1);
        expect_component(picture, cb, 1, 2);
        expect_component(picture, cr, 2, 2);
    }
}

TEST(YuvFrame, KeepsToItsRange) {
    for (const auto& [colour, levels] :
         {std::tuple{Colour{0, 0, 0}, std::array{16, 128, 128}},
          std::tuple{Colour{255, 255, 255}, std::array{235, 128, 128}},
          std::tuple{Colour{0, 0, 255}, std::array{41, 240, 110}},
          std::tuple{Colour{255, 0, 0}, std::array{81, 90, 240}},
          std::tuple{Colour{255, 255, 0}, std::array{210, 16, 146}}}) {
        Plane y({2, 2});
        Plane cb({1, 1});
        Plane cr({1, 1});
        store_yuv(Picture(2, 2, colour), {y, cb, cr});
        EXPECT_EQ(y(1, 1), levels[0]);
        EXPECT_EQ(cb(0, 0), levels[1]);
        EXPECT_EQ(cr(0, 0), levels[2]);
    }
}

}  // namespace
}  // namespace aperture::media::tests
