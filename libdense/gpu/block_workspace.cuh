// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the kernels that give a block a problem keep its matrix, and with how many threads and
// registers they work.

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

/// Rows of a panel in a lane, of those that kernels are compiled for.
APERTURE_HD constexpr int block_slots(int rows) { return rows <= 64 ? 2 : rows <= 128 ? 4 : 8; }
/// Largest number of threads, and blocks of so many on a multiprocessor that registers suffice for,
/// with `slots` rows of a panel in a lane.
inline constexpr int block_solver_threads = 256;
APERTURE_HD constexpr int block_solver_threads_of(int slots) {
    const int threads = 32 * slots;
    return threads < block_solver_threads ? threads : block_solver_threads;
}
APERTURE_HD constexpr int block_solver_blocks(int slots, bool few_registers) {
    const int blocks = (few_registers ? 384 : 256) / block_solver_threads_of(slots);
    return blocks > 1 ? blocks : 1;
}

/// Registers of a lane for a vector of max_order, and of max_rows, entries.
inline constexpr int order_slots = 4;
inline constexpr int row_slots = 8;

/// Where a block keeps its matrix: in scratch memory where it is too large for shared memory.
enum class MatrixPlace { shared, scratch };

/// The fewest slots of a panel: in scratch memory panels are not what takes the time, and those of
/// other numbers are not compiled.
template <int slots, MatrixPlace place>
inline constexpr int least_slots = place == MatrixPlace::shared ? 1 : slots;

/// Memory of m x n for the block's problem: `shared`, or its part of the executor's scratch memory.
template <MatrixPlace place, class T>
__device__ __forceinline__ PanelMatrix<T> block_matrix(T* shared, T* scratch, int m, int n) {
    const int stride = panel_row_stride<T>(n);
    if (place == MatrixPlace::shared) return {shared, stride};
    return {scratch + static_cast<index_t>(blockIdx.x) * m * stride, stride};
}

/// Bytes of n row numbers before a matrix in shared memory.
APERTURE_HD constexpr int index_bytes(int n) { return (n * 4 + 15) / 16 * 16; }

}  // namespace aperture::dense
