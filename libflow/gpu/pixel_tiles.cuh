// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pixel-wise operations. A source is any type with (plane, row, column): planes, or values
// computed from them.

#include "libflow/gpu/planes.cuh"

namespace aperture::flow::gpu {

inline constexpr int pixel_columns = 32;
inline constexpr int pixel_rows = 16;
inline constexpr int pixel_warps = 8;

/// The value zero everywhere.
struct Zeros {
    __device__ __forceinline__ float operator()(int, int, int) const { return 0.0F; }
};

/// to = from. Thread: the pixels of a column, pixel_warps rows apart. Warp: pixel_columns pixels of
/// a row. Block: pixel_rows x pixel_columns pixels of a plane. Grid: columns, rows, planes. No
/// shared memory. Moves 4 bytes a pixel plus the source's loads.
template <class Source>
__global__ void __launch_bounds__(pixel_warps* core::warp_size)
    assign_kernel(Source from, Planes<float> to) {
    const int plane = static_cast<int>(blockIdx.z);
    const int x = static_cast<int>(blockIdx.x) * pixel_columns + static_cast<int>(threadIdx.x);
    const int first = static_cast<int>(blockIdx.y) * pixel_rows;
    const int end = min(first + pixel_rows, rows_of(to));
    if (x >= columns_of(to)) return;
    for (int y = first + static_cast<int>(threadIdx.y); y < end; y += pixel_warps) {
        to(plane, y, x) = from(plane, y, x);
    }
}

#if !defined(__CUDACC_RTC__)

/// Launch configuration for tiles of `planes` planes.
inline core::LaunchConfig pixel_tile_config(
    int rows, int columns, int planes, std::size_t shared_bytes = 0,
    std::source_location call = std::source_location::current()) {
    return {signal::gpu::tile_grid(rows, columns, planes, pixel_rows, pixel_columns),
            dim3(pixel_columns, pixel_warps), shared_bytes, call};
}

/// Copies the first `planes` planes of `from` to `to`. Asynchronous.
template <class Executor, class Source>
void assign(Executor& executor, const Source& from, int planes, const Planes<float>& to) {
    core::launch(executor, &assign_kernel<Source>,
                 pixel_tile_config(rows_of(to), columns_of(to), planes), from, to);
}

#endif

}  // namespace aperture::flow::gpu
