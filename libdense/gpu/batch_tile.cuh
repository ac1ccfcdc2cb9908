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

    /// Of entry `i` of matrices that lie one after another without gaps.
    __device__ __forceinline__ static int offset(int i) {
        const int row = i / columns;
        return row / rows * (problem_stride - rows * row_stride) + row * (row_stride - columns) + i;
    }
};

/// Whether the matrices of a batch lie one after another without gaps.
template <class Tile, class U>
__device__ __forceinline__ bool gapless(const KernelView<U, 3>& batch) {
    return batch.extent[1] == Tile::rows && batch.stride[2] == 1 &&
           batch.stride[1] == Tile::columns && batch.stride[0] == Tile::rows * Tile::columns;
}

/// Copies whole matrices without gaps: `threads` threads, of which this one is `thread`, each load
/// several entries before they store them.
template <class Tile, class T, class U>
__device__ __forceinline__ void load_gapless(T* tile, const U* from, int problems, int thread,
                                             int threads) {
    constexpr int matrix = Tile::rows * Tile::columns;
    constexpr int most = Tile::problems * matrix;
    constexpr int at_once = 8;
    const int entries = problems * matrix;
    APERTURE_NO_UNROLL
    for (int base = thread; base < most; base += at_once * threads) {
        T value[at_once];
        APERTURE_UNROLL
        for (int j = 0; j < at_once; ++j) {
            const int i = base + j * threads;
            value[j] = i < entries ? from[i] : T(RealOf<T>(0));
        }
        APERTURE_UNROLL
        for (int j = 0; j < at_once; ++j) {
            const int i = base + j * threads;
            if (i < most) tile[Tile::offset(i)] = value[j];
        }
    }
}
template <class Tile, class T>
__device__ __forceinline__ void store_gapless(const T* tile, T* to, int problems, int thread,
                                              int threads) {
    const int entries = problems * Tile::rows * Tile::columns;
    APERTURE_UNROLL_BY(8)
    for (int i = thread; i < entries; i += threads) to[i] = tile[Tile::offset(i)];
}

/// Calls `visit(problem, row, column)` for all entries of a tile. Neighbouring threads of the block
/// get neighbouring problems or columns.
template <class Tile, class Visit>
__device__ __forceinline__ void for_each_entry(bool problem_fastest, Visit visit) {
    constexpr int matrix = Tile::rows * Tile::columns;
    const int threads = core::block_threads();
    if (problem_fastest) {
        for (int i = core::thread_rank(); i < Tile::problems * matrix; i += threads) {
            const int entry = i / Tile::problems;
            visit(i % Tile::problems, entry / Tile::columns, entry % Tile::columns);
        }
    } else {
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

/// Loads rows [first_row, first_row + valid_rows) of the matrices; zeros beyond. `at_once`: whole
/// matrices without gaps several entries at a time, for which registers must be free.
template <class Tile, bool at_once = false, class T, class U>
__device__ __forceinline__ void load_rows(T* tile, KernelView<U, 3> from, index_t first_problem,
                                          int valid, int first_row, int valid_rows) {
    if constexpr (at_once) {
        if (first_row == 0 && valid_rows >= Tile::rows && gapless<Tile>(from)) {
            load_gapless<Tile>(tile, from.data + first_problem * from.stride[0], valid,
                               core::thread_rank(), core::block_threads());
            return;
        }
    }
    for_each_entry<Tile>(interleaved(from), [&](int problem, int row, int column) {
        tile[problem * Tile::problem_stride + row * Tile::row_stride + column] =
            problem < valid && row < valid_rows
                ? from(first_problem + problem, first_row + row, column)
                : T(RealOf<T>(0));
    });
}

/// Stores rows, the inverse of `load_rows`.
template <class Tile, bool at_once = false, class T>
__device__ __forceinline__ void store_rows(const T* tile, KernelView<T, 3> to,
                                           index_t first_problem, int valid, int first_row,
                                           int valid_rows) {
    if constexpr (at_once) {
        if (first_row == 0 && valid_rows >= Tile::rows && gapless<Tile>(to)) {
            store_gapless<Tile>(tile, to.data + first_problem * to.stride[0], valid,
                                core::thread_rank(), core::block_threads());
            return;
        }
    }
    for_each_entry<Tile>(interleaved(to), [&](int problem, int row, int column) {
        if (problem >= valid || row >= valid_rows) return;
        to(first_problem + problem, first_row + row, column) =
            tile[problem * Tile::problem_stride + row * Tile::row_stride + column];
    });
}

}  // namespace aperture::dense
