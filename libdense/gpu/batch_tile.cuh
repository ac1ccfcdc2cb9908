// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loads a few matrices of a batch to shared memory and stores them, coalesced in either layout.

#include "aperture/core/view.hpp"
#include "libcore/gpu/block.cuh"

namespace aperture::dense {

using core::index_t;
using core::KernelView;
using core::RealOf;

/// True where element (row, column) of neighbouring problems, [problem][row][column], is
/// contiguous.
template <class T>
__device__ __forceinline__ bool interleaved(const KernelView<T, 3>& batch) {
    return batch.stride[0] == 1;
}

/// Distance between matrices in a BatchTile, in elements.
APERTURE_HD constexpr int batch_tile_problem_stride(int rows, int columns, int lanes) {
    const int matrix = rows * (columns | 1);
    if (lanes >= core::warp_size) return matrix;
    const int period = 2 * lanes;
    return matrix + ((lanes - matrix) % period + period) % period;
}

/// `problems` matrices of rows x columns in shared memory; entry (row, column) of matrix p is at p
/// * problem_stride + row * row_stride + column. `lanes` consecutive lanes access one problem. The
/// strides keep bank conflicts low when a warp accesses a row or a column of each.
template <class T, int problems_, int rows_, int columns_, int lanes>
struct BatchTile {
    static constexpr int problems = problems_;
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int row_stride = columns | 1;
    static constexpr int problem_stride = batch_tile_problem_stride(rows, columns, lanes);
};

/// Calls `visit(problem, row, column)` for all entries of a tile. Neighbouring threads of the block
/// get neighbouring problems or columns.
template <class Tile, class Visit>
__device__ __forceinline__ void for_each_entry(bool problem_fastest, Visit visit) {
    constexpr int matrix = Tile::rows * Tile::columns;
    const int threads = core::block_threads();
    if (problem_fastest) {
        APERTURE_UNROLL_BY(4)
        for (int i = core::thread_rank(); i < Tile::problems * matrix; i += threads) {
            const int entry = i / Tile::problems;
            visit(i % Tile::problems, entry / Tile::columns, entry % Tile::columns);
        }
    } else {
        APERTURE_UNROLL_BY(4)
        for (int i = core::thread_rank(); i < Tile::problems * matrix; i += threads) {
            const int entry = i % matrix;
            visit(i / matrix, entry / Tile::columns, entry % Tile::columns);
        }
    }
}

/// Loads the lower triangles of `valid` matrices from `first_problem` on; zeros beyond.
template <class Tile, class T>
__device__ __forceinline__ void load_lower_triangles(T* tile, KernelView<const T, 3> from,
                                                     index_t first_problem, int valid) {
    for_each_entry<Tile>(interleaved(from), [&](int problem, int row, int column) {
        if (column > row) return;
        tile[problem * Tile::problem_stride + row * Tile::row_stride + column] =
            problem < valid ? from(first_problem + problem, row, column) : T(RealOf<T>(0));
    });
}

/// Loads rows [first_row, first_row + valid_rows) of the matrices; zeros beyond.
template <class Tile, class T, class U>
__device__ __forceinline__ void load_rows(T* tile, const KernelView<U, 3>& from,
                                          index_t first_problem, int valid, int first_row,
                                          int valid_rows) {
    for_each_entry<Tile>(interleaved(from), [&](int problem, int row, int column) {
        tile[problem * Tile::problem_stride + row * Tile::row_stride + column] =
            problem < valid && row < valid_rows
                ? from(first_problem + problem, first_row + row, column)
                : T(RealOf<T>(0));
    });
}

/// Stores rows, the inverse of `load_rows`.
template <class Tile, class T>
__device__ __forceinline__ void store_rows(const T* tile, KernelView<T, 3> to,
                                           index_t first_problem, int valid, int first_row,
                                           int valid_rows) {
    for_each_entry<Tile>(interleaved(to), [&](int problem, int row, int column) {
        if (problem >= valid || row >= valid_rows) return;
        to(first_problem + problem, first_row + row, column) =
            tile[problem * Tile::problem_stride + row * Tile::row_stride + column];
    });
}

}  // namespace aperture::dense
