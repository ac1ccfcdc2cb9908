// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Images of any strides, pixel by pixel.

#include "libcore/gpu/device_cast.hpp"
#include "libsignal/gpu/planes.cuh"
#include "libsignal/grey_level.hpp"

namespace aperture::signal::gpu {

inline constexpr int pixel_columns = 32;
inline constexpr int pixel_rows = 8;

/// Calls visit(y, x) for the thread's pixel if it is inside the image.
template <class Visit>
__device__ __forceinline__ void at_own_pixel(index_t rows, index_t columns, const Visit& visit) {
    const index_t y = static_cast<index_t>(blockIdx.y) * pixel_rows + threadIdx.y;
    const index_t x = static_cast<index_t>(blockIdx.x) * pixel_columns + threadIdx.x;
    if (y < rows && x < columns) visit(y, x);
}

/// Thread: a pixel. Block: pixel_rows x pixel_columns pixels. Grid: columns, rows. No shared
/// memory; reads the channels once and writes 4 bytes a pixel.
template <class Sample>
__global__ void __launch_bounds__(pixel_rows* pixel_columns)
    grey_kernel(core::KernelView<const Sample, 3> planes, core::KernelView<float, 2> grey) {
    at_own_pixel(grey.extent[0], grey.extent[1], [&](index_t y, index_t x) {
        grey(y, x) = grey_at(planes, planes.extent[0] == 3, y, x);
    });
}

/// The same for a copy: 8 bytes moved a value.
inline __global__ void __launch_bounds__(pixel_rows* pixel_columns)
    copy_planes_kernel(core::KernelView<const float, 3> from, core::KernelView<float, 3> to) {
    at_own_pixel(to.extent[1], to.extent[2], [&](index_t y, index_t x) {
        for (index_t plane = 0; plane < to.extent[0]; ++plane) to(plane, y, x) = from(plane, y, x);
    });
}

inline core::LaunchConfig for_pixels(index_t rows, index_t columns) {
    return {
        tile_grid(static_cast<int>(rows), static_cast<int>(columns), 1, pixel_rows, pixel_columns),
        dim3(pixel_columns, pixel_rows)};
}

/// The function of aperture/signal/grey.hpp.
template <class Executor, class Sample>
void grey_of_planes(Executor& executor,
                    core::View<const Sample, 3, typename Executor::Space> planes,
                    core::View<float, 2, typename Executor::Space> grey) {
    check_grey(planes, grey);
    if (grey.empty()) return;
    core::launch(executor, &grey_kernel<Sample>, for_pixels(grey.extent[0], grey.extent[1]),
                 core::kernel_view(planes), core::kernel_view(grey));
}

/// The function of aperture/signal/copy_planes.hpp.
template <class Executor>
void copy_of_planes(Executor& executor, core::View<const float, 3, typename Executor::Space> from,
                    core::View<float, 3, typename Executor::Space> to) {
    core::expects_shape("copy of planes: target", to, from.extent);
    if (to.empty()) return;
    core::launch(executor, &copy_planes_kernel, for_pixels(to.extent[1], to.extent[2]),
                 core::kernel_view(from), core::kernel_view(to));
}

}  // namespace aperture::signal::gpu
