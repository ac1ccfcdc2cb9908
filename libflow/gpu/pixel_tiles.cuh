// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pixel-wise operations, a tile of the image for each block. A source is any type with (plane, row,
// column): planes, or values computed from them.

#include "libflow/gpu/planes.cuh"
#include "libflow/image_model.hpp"

namespace aperture::flow::gpu {

inline constexpr int pixel_columns = 32;
inline constexpr int pixel_rows = 16;
inline constexpr int pixel_warps = 8;

/// The image's first row and column of the block's tile.
__device__ __forceinline__ int tile_row() { return static_cast<int>(blockIdx.y) * pixel_rows; }
__device__ __forceinline__ int tile_column() {
    return static_cast<int>(blockIdx.x) * pixel_columns;
}

/// Calls visit(y, x) for this thread's pixels of the tile: of a column, pixel_warps rows apart.
template <class Visit>
__device__ __forceinline__ void for_tile_pixels(int rows, int columns, const Visit& visit) {
    const int x = tile_column() + static_cast<int>(threadIdx.x);
    const int end = min(tile_row() + pixel_rows, rows);
    if (x >= columns) return;
    for (int y = tile_row() + static_cast<int>(threadIdx.y); y < end; y += pixel_warps) {
        visit(y, x);
    }
}

/// Reach of the derivative filter in pixels.
inline constexpr int derivative_reach = 2;

/// The block's tile with a border, in shared memory; row and column are relative to the first pixel
/// inside the border. `across` and `down` are 12 times the derivatives.
template <int border>
struct BorderedTile {
    static constexpr int rows = pixel_rows + 2 * border;
    static constexpr int columns = pixel_columns + 2 * border;
    static constexpr int values = rows * columns;
    float* value;

    /// Loads value(y, x) of the image's pixels, with its border replicated. The caller must add a
    /// barrier.
    template <class Value>
    __device__ __forceinline__ void load(int image_rows, int image_columns,
                                         const Value& value_at) const {
        signal::gpu::load_bordered(value, tile_row() - border, tile_column() - border, rows,
                                   columns, image_rows, image_columns, value_at);
    }
    __device__ __forceinline__ float& operator()(int row, int column) const {
        return value[(row + border) * columns + column + border];
    }
    __device__ __forceinline__ float across(int row, int column) const {
        return twelve_derivatives([&](int i) { return (*this)(row, column + i); });
    }
    __device__ __forceinline__ float down(int row, int column) const {
        return twelve_derivatives([&](int i) { return (*this)(row + i, column); });
    }
};

__device__ __forceinline__ void store_terms(const Planes<float>& planes, int y, int x,
                                            const Terms& terms) {
    planes(0, y, x) = terms.j11;
    planes(1, y, x) = terms.j12;
    planes(2, y, x) = terms.j22;
    planes(3, y, x) = terms.b_u;
    planes(4, y, x) = terms.b_v;
}

/// The value zero everywhere.
struct Zeros {
    __device__ __forceinline__ float operator()(int, int, int) const { return 0.0F; }
};

/// to = from. Thread: for_tile_pixels. Warp: pixel_columns pixels of a row. Block: pixel_rows x
/// pixel_columns pixels of a plane. Grid: columns, rows, planes. No shared memory. Moves 4 bytes a
/// pixel plus the source's loads.
template <class Source>
__global__ void __launch_bounds__(pixel_warps* core::warp_size)
    assign_kernel(Source from, Planes<float> to) {
    const int plane = static_cast<int>(blockIdx.z);
    for_tile_pixels(rows_of(to), columns_of(to),
                    [&](int y, int x) { to(plane, y, x) = from(plane, y, x); });
}

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

}  // namespace aperture::flow::gpu
