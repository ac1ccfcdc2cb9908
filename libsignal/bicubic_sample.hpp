// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Samples of an image between its pixels, on every executor.

#include <cmath>

#include "aperture/core/portable.hpp"
#include "aperture/signal/warp.hpp"

namespace aperture::signal {

/// A place in an image, in pixels.
struct Place {
    double y, x;
};

/// Where a map takes a place, whether that is before the map's horizon or not.
APERTURE_HD Place mapped(const PixelMap& map, double y, double x) {
    const auto row = [&](int i) { return map.at[i][0] * y + map.at[i][1] * x + map.at[i][2]; };
    const double depth = row(2);
    return {row(0) / depth, row(1) / depth};
}

/// Whether the map's image of a pixel is within half a pixel of an image of this size; `place` then
/// is that image.
APERTURE_HD bool maps_inside(const PixelMap& map, double y, double x, const core::Extents<2>& size,
                             Place& place) {
    if (!(map.at[2][0] * y + map.at[2][1] * x + map.at[2][2] > 0)) return false;
    place = mapped(map, y, x);
    return place.y >= -0.5 && place.y <= static_cast<double>(size[0]) - 0.5 && place.x >= -0.5 &&
           place.x <= static_cast<double>(size[1]) - 0.5;
}

/// Weights of the four pixels about a fraction t (Keys 1981, equations 4 and 8 with a = -1/2).
template <class T>
struct CubicWeights {
    T of[4];
    APERTURE_HD explicit CubicWeights(T t)
        : of{((T(-0.5) * t + 1) * t - T(0.5)) * t, (T(1.5) * t - T(2.5)) * t * t + 1,
             ((T(-1.5) * t + 2) * t + T(0.5)) * t, (T(0.5) * t - T(0.5)) * t * t} {}
};

/// An image between pixels, with replicated borders; columns are contiguous.
template <class Image>
APERTURE_HD float bicubic_sample(const Image& image, const Place& place) {
    const double floor_y = std::floor(place.y);
    const double floor_x = std::floor(place.x);
    const CubicWeights<float> down(static_cast<float>(place.y - floor_y));
    const CubicWeights<float> across(static_cast<float>(place.x - floor_x));
    const auto clamped = [](core::index_t i, core::index_t extent) {
        return i < 0 ? core::index_t{0} : i >= extent ? extent - 1 : i;
    };
    const auto first_y = static_cast<core::index_t>(floor_y) - 1;
    const auto first_x = static_cast<core::index_t>(floor_x) - 1;
    float sum = 0;
    for (int j = 0; j < 4; ++j) {
        const core::index_t y = clamped(first_y + j, image.extent[0]);
        float row = 0;
        for (int i = 0; i < 4; ++i) {
            row += across.of[i] * image(y, clamped(first_x + i, image.extent[1]));
        }
        sum += down.of[j] * row;
    }
    return sum;
}

}  // namespace aperture::signal
