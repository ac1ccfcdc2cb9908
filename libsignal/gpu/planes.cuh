// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Planes of one shape: how kernels access images.

#include "aperture/core/view.hpp"
#include "libcore/gpu/kernel.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture::signal::gpu {

using core::index_t;

/// [plane][row][column], columns contiguous.
template <class T>
using Planes = core::View<T, 3, core::Kernel, core::Concatenated>;

template <class T>
APERTURE_HD int rows_of(const Planes<T>& planes) {
    return static_cast<int>(planes.extent[1]);
}
template <class T>
APERTURE_HD int columns_of(const Planes<T>& planes) {
    return static_cast<int>(planes.extent[2]);
}

/// Column 0 of a row. Rows outside the image have addresses, too.
template <class T>
APERTURE_HD T* row_of(const Planes<T>& planes, int plane, int y) {
    return planes.data + plane * planes.stride[0] + y * planes.stride[1];
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

/// A caller's planes, or plane, as kernels access them; the columns must be contiguous.
template <class T, class Space>
Planes<T> planes_of(const core::View<T, 3, Space>& view) {
    return {view.data, view.extent, view.stride};
}
template <class T, class Space>
Planes<T> planes_of(const core::View<T, 2, Space>& view) {
    return {view.data, {1, view.extent[0], view.extent[1]}, {0, view.stride[0], view.stride[1]}};
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

}  // namespace aperture::signal::gpu
