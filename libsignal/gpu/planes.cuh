// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Planes of one shape: how kernels access images.

#include "libcore/gpu/kernel.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/core/view.hpp"
#include "libcore/gpu/launch.cuh"
#endif

namespace aperture::signal::gpu {

using core::index_t;

/// [plane][row][column], rows `pitch` elements apart. Not owning.
template <class T>
struct Planes {
    T* data = nullptr;
    index_t stride = 0;  ///< elements between planes
    index_t pitch = 0;
    int rows = 0;
    int columns = 0;

    __device__ __forceinline__ T* row(int plane, int y) const {
        return data + plane * stride + y * pitch;
    }
    __device__ __forceinline__ T& at(int plane, int y, int x) const { return row(plane, y)[x]; }
};

template <class T>
APERTURE_HD Planes<const T> constant(const Planes<T>& planes) {
    return {planes.data, planes.stride, planes.pitch, planes.rows, planes.columns};
}

/// The nearest of 0, ..., extent - 1.
__device__ __forceinline__ int inside(int i, int extent) { return min(max(i, 0), extent - 1); }

/// Loads a tile with its border into shared memory [row][column], rows `columns` values apart, by
/// all threads of the block: value(y, x) of image pixels from (first_row, first_column) on, with
/// borders replicated. The caller must add a barrier.
template <class Value>
__device__ __forceinline__ void load_bordered(float* tile, int first_row, int first_column,
                                              int rows, int columns, int image_rows,
                                              int image_columns, const Value& value) {
    for (int i = core::thread_rank(); i < rows * columns; i += core::block_threads()) {
        const int row = i / columns;
        const int column = i - row * columns;
        tile[i] = value(inside(first_row + row, image_rows),
                        inside(first_column + column, image_columns));
    }
}

#if !defined(__CUDACC_RTC__)

/// A caller's view as kernels access it; its columns must be contiguous.
template <class T, class Space>
Planes<T> planes_of(const core::View<T, 3, Space>& view) {
    return {view.data, view.stride[0], view.stride[1], static_cast<int>(view.extent[1]),
            static_cast<int>(view.extent[2])};
}
template <class T, class Space>
Planes<T> planes_of(const core::View<T, 2, Space>& view) {
    return {view.data, 0, view.stride[0], static_cast<int>(view.extent[0]),
            static_cast<int>(view.extent[1])};
}

/// Number of tiles that cover an extent.
inline unsigned tiles_over(int extent, int tile) {
    return static_cast<unsigned>((extent + tile - 1) / tile);
}

/// A grid of tiles that covers `planes` planes of rows x columns: tile columns on x, tile rows on
/// y, planes on z.
inline dim3 tile_grid(int rows, int columns, int planes, int tile_rows, int tile_columns) {
    return {tiles_over(columns, tile_columns), tiles_over(rows, tile_rows),
            static_cast<unsigned>(planes)};
}

#endif

}  // namespace aperture::signal::gpu
