// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/launch.cuh"
#include "libsignal/bicubic_sample.hpp"
#include "libsignal/gpu/planes.cuh"
#include "libsignal/image_checks.hpp"

namespace aperture::signal::gpu {

inline constexpr int warp_columns = 32;
inline constexpr int warp_rows = 8;

/// Thread: an output. Block: warp_rows x warp_columns outputs. Grid: columns, rows. No shared
/// memory; 16 loads, mostly of one cache, and 50 flops an output.
inline __global__ void __launch_bounds__(warp_rows* warp_columns)
    warp_kernel(core::View<const float, 2, core::Kernel, core::Concatenated> from, PixelMap map,
                float outside, core::View<float, 2, core::Kernel, core::Concatenated> to) {
    const int y = static_cast<int>(blockIdx.y * warp_rows + threadIdx.y);
    const int x = static_cast<int>(blockIdx.x * warp_columns + threadIdx.x);
    if (y >= to.extent[0] || x >= to.extent[1]) return;
    Place place;
    to(y, x) = maps_inside(map, y, x, from.extent, place) ? bicubic_sample(from, place) : outside;
}

/// The function of aperture/signal/warp.hpp.
template <class Executor>
void warp_image(Executor& executor, core::View<const float, 2, typename Executor::Space> from,
                const PixelMap& map, float outside,
                core::View<float, 2, typename Executor::Space> to) {
    check_resampling("warp", from, to);
    if (to.empty()) return;
    const auto [rows, columns] = to.extent;
    core::launch(
        executor, &warp_kernel,
        {tile_grid(static_cast<int>(rows), static_cast<int>(columns), 1, warp_rows, warp_columns),
         dim3(warp_columns, warp_rows)},
        core::View<const float, 2, core::Kernel, core::Concatenated>(from.data, from.extent,
                                                                     from.stride),
        map, outside,
        core::View<float, 2, core::Kernel, core::Concatenated>(to.data, to.extent, to.stride));
}

}  // namespace aperture::signal::gpu
