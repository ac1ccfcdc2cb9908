// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// Where a pixel (y, x) of one image lies in another: the first two components of this matrix times
/// (y, x, 1), divided by the third.
struct PixelMap {
    double at[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
};

/// to(p) = from(map p), by bicubic interpolation (Keys 1981, a = -1/2) with replicated borders;
/// `outside` where map p is not within half a pixel of an image, nor before the map's horizon.
/// Images are [row][column] of any extents; columns must be contiguous, and `to` must not overlap
/// `from`. Throws core::InvalidArgument as `resize`. Asynchronous on a Gpu.
void warp(core::Cpu& cpu, core::View<const float, 2, core::Host> from, const PixelMap& map,
          float outside, core::View<float, 2, core::Host> to);
void warp(core::Gpu& gpu, core::View<const float, 2, core::Device> from, const PixelMap& map,
          float outside, core::View<float, 2, core::Device> to);

}  // namespace aperture::signal
