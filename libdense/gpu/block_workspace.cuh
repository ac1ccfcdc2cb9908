// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the kernels that give a block a problem keep its matrix, and with how many threads and
// registers they work.

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

/// Rows of a panel in a lane, of those that kernels are compiled for.
APERTURE_HD constexpr int block_slots(int rows) { return rows <= 64 ? 2 : rows <= 128 ? 4 : 8; }
/// Largest number of threads, and of those that a multiprocessor must have registers for.
inline constexpr int block_solver_threads = 256;
APERTURE_HD constexpr int block_solver_bounds(bool few_registers) {
    return few_registers ? 384 : block_solver_threads;
}

/// Registers of a lane for a vector of max_order, and of max_rows, entries.
inline constexpr int order_slots = 4;
inline constexpr int row_slots = 8;

/// Scratch memory for the first `lines` lines of each block's matrix.
template <class T>
struct BlockScratch {
    T* data = nullptr;
    int lines = 0;
};

/// The block's matrix, in `shared` memory and its part of the scratch memory.
template <MatrixPlace place, class T, class Lines>
__device__ __forceinline__ PanelMatrix<T, Lines, place> block_matrix(Lines lines, T* shared,
                                                                     BlockScratch<T> scratch) {
    const index_t entries = static_cast<index_t>(scratch.lines) * lines.stride;
    return {lines, shared, scratch.data + blockIdx.x * entries, scratch.lines};
}

/// Bytes of n row numbers before a matrix in shared memory.
APERTURE_HD constexpr int index_bytes(int n) { return (n * 4 + 15) / 16 * 16; }

}  // namespace aperture::dense
