// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/yuv_frame.hpp"

#include <algorithm>
#include <array>

#include "aperture/core/array.hpp"
#include "libmedia/src/split_samples.hpp"

namespace aperture::media {
namespace {

using core::index_t;

/// Red, green and blue of a row's pixels, or sums of them.
using Row = std::array<const float*, 3>;
/// A component less its zero, of red, green and blue of 0 to 255.
using Weights = std::array<float, 3>;

constexpr Weights luma{65.481F / 255, 128.553F / 255, 24.966F / 255};
constexpr Weights blueness{-37.797F / 255, -74.203F / 255, 112.0F / 255};
constexpr Weights redness{112.0F / 255, -93.786F / 255, -18.214F / 255};
constexpr float no_luma = 16;
constexpr float no_chroma = 128;

/// `scale`: what a sum of pixels is divided by.
void store_component(const Row& row, const Weights& weights, float zero, float scale, index_t count,
                     std::uint8_t* to) {
    const auto [red, green, blue] = row;
    const float r = weights[0] / scale;
    const float g = weights[1] / scale;
    const float b = weights[2] / scale;
    const float first = zero + 0.5F;
    for (index_t i = 0; i < count; ++i) {
        to[i] = static_cast<std::uint8_t>(first + r * red[i] + g * green[i] + b * blue[i]);
    }
}

}  // namespace

void store_yuv(const Picture& picture, const YuvFrame& frame) {
    const auto [rows, columns] = frame.y.extent;
    const index_t width = picture.width;
    core::Array<float, 3> pair({2, 3, columns});
    core::Array<float, 2> sums({3, columns / 2});
    const auto row_of = [](auto planes) -> Row {
        return {&planes(0, 0), &planes(1, 0), &planes(2, 0)};
    };
    for (index_t row = 0; row < rows; row += 2) {
        for (index_t k = 0; k < 2; ++k) {
            const index_t from = std::min<index_t>(row + k, picture.height - 1);
            const std::array planes{&pair(k, 0, 0), &pair(k, 1, 0), &pair(k, 2, 0)};
            split_samples(&picture.pixels[static_cast<std::size_t>(from * width)][0], width, planes,
                          [](std::uint8_t level) { return static_cast<float>(level); });
            for (float* const plane : planes) plane[columns - 1] = plane[width - 1];
            store_component(row_of(std::as_const(pair).view()[k]), luma, no_luma, 1, columns,
                            &frame.y(row + k, 0));
        }
        for (index_t c = 0; c < 3; ++c) {
            const float* const above = &pair(0, c, 0);
            const float* const below = &pair(1, c, 0);
            float* const sum = &sums(c, 0);
            for (index_t i = 0; i < columns / 2; ++i) {
                sum[i] = above[2 * i] + above[2 * i + 1] + below[2 * i] + below[2 * i + 1];
            }
        }
        const Row sum = row_of(std::as_const(sums).view());
        store_component(sum, blueness, no_chroma, 4, columns / 2, &frame.cb(row / 2, 0));
        store_component(sum, redness, no_chroma, 4, columns / 2, &frame.cr(row / 2, 0));
    }
}

}  // namespace aperture::media
