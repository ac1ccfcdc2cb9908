// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/corr/image_planes.hpp"

/// Images from which tests derive planes.
namespace aperture::corr {

constexpr PlaneKind every_kind[] = {PlaneKind::lab_orientation, PlaneKind::grey, PlaneKind::rgb,
                                    PlaneKind::gradient};

inline core::Array<float, 3> constant_image(index_t channels, Shape shape,
                                            const std::vector<float>& colour) {
    core::Array<float, 3> image({channels, shape.rows, shape.columns});
    for (index_t c = 0; c < channels; ++c) {
        std::fill_n(&image(c, 0, 0), shape.rows * shape.columns,
                    colour[static_cast<std::size_t>(c)]);
    }
    return image;
}

/// Uniform noise with 65536 levels in [ground, ground + contrast].
inline core::Array<float, 3> noise_image(index_t channels, Shape shape, float contrast = 255,
                                         float ground = 0) {
    std::mt19937 generator(7);
    core::Array<float, 3> image({channels, shape.rows, shape.columns});
    std::generate(image.begin(), image.end(), [&] {
        return ground + contrast * (static_cast<float>(generator() % 65536) / 65535);
    });
    return image;
}

}  // namespace aperture::corr
