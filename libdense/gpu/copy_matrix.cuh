// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies between matrices of any strides, tile by tile through shared memory, so that both sides
// are accessed contiguously.

#include "libcore/gpu/launch.cuh"

namespace aperture::dense::gpu {

using core::index_t;

/// A matrix with any row and column stride.
template <class T>
struct StridedMatrix {
    T* data;
    index_t row;
    index_t column;
    index_t rows;
    index_t columns;
};

enum class CopyPart {
    all,
    upper,     ///< the upper triangle, with zeros below
    identity,  ///< the identity, independent of `from`
};

inline constexpr int copy_tile = 32;
inline constexpr int copy_rows = 8;

/// Copies a tile of `to` per block; elements outside `from` are zero. Grid: tiles down, tiles
/// across. Shared memory: a tile.
template <class T>
__global__ void __launch_bounds__(copy_tile* copy_rows)
    copy_matrix_kernel(StridedMatrix<const T> from, StridedMatrix<T> to, CopyPart part) {
    T* const tile = core::shared<T>();
    constexpr int pitch = copy_tile + 1;
    const index_t first_row = index_t{blockIdx.x} * copy_tile;
    const index_t first_column = index_t{blockIdx.y} * copy_tile;
    const int lane = static_cast<int>(threadIdx.x);
    // visit(row, column) in the tile, with lanes along the smaller stride.
    const auto for_tile = [&](bool rows_are_near, const auto& visit) {
        for (int i = static_cast<int>(threadIdx.y); i < copy_tile; i += copy_rows) {
            if (rows_are_near) {
                visit(lane, i);
            } else {
                visit(i, lane);
            }
        }
    };
    for_tile(from.row <= from.column, [&](int r, int c) {
        const index_t i = first_row + r;
        const index_t j = first_column + c;
        T value = 0;
        if (part == CopyPart::identity) {
            value = i == j ? T(1) : T(0);
        } else if (i < from.rows && j < from.columns && (part == CopyPart::all || i <= j)) {
            value = from.data[i * from.row + j * from.column];
        }
        tile[r * pitch + c] = value;
    });
    __syncthreads();
    for_tile(to.row <= to.column, [&](int r, int c) {
        const index_t i = first_row + r;
        const index_t j = first_column + c;
        if (i < to.rows && j < to.columns) {
            to.data[i * to.row + j * to.column] = tile[r * pitch + c];
        }
    });
}

#if !defined(__CUDACC_RTC__)

template <class T, class Space>
StridedMatrix<T> strided(const core::View<T, 2, Space>& view) {
    return {view.data, view.stride[0], view.stride[1], view.extent[0], view.extent[1]};
}
template <class T>
StridedMatrix<const T> constant(const StridedMatrix<T>& m) {
    return {m.data, m.row, m.column, m.rows, m.columns};
}

/// Asynchronous.
template <class T, class Executor>
void copy_matrix(Executor& executor, const StridedMatrix<const T>& from, const StridedMatrix<T>& to,
                 CopyPart part) {
    const auto tiles = [](index_t count) {
        return static_cast<unsigned>((count + copy_tile - 1) / copy_tile);
    };
    core::launch(
        executor, &copy_matrix_kernel<T>,
        core::LaunchConfig(dim3(tiles(to.rows), tiles(to.columns)), dim3(copy_tile, copy_rows),
                           copy_tile * (copy_tile + 1) * sizeof(T)),
        from, to, part);
}

#endif

}  // namespace aperture::dense::gpu
