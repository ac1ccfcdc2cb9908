// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the kernels that give a block a problem keep its matrix.

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

inline constexpr int block_solver_threads = 256;
/// Registers of a lane for a vector of max_order, and of max_rows, entries.
inline constexpr int order_slots = 4;
inline constexpr int row_slots = 8;

enum class MatrixPlace {
    shared,
    output,   ///< in the batch that receives it
    scratch,  ///< in a part of the executor's scratch memory for each block
};

template <class T>
struct BlockWorkspace {
    MatrixPlace place;
    T* scratch;

    /// Memory of m x n for the block's problem.
    __device__ __forceinline__ BlockMatrix<T> matrix(T* shared, const KernelView<T, 3>& output,
                                                     index_t problem, int m, int n) const {
        if (place == MatrixPlace::output) return matrix_of(output, problem);
        const index_t stride = shared_row_stride(n);
        if (place == MatrixPlace::shared) return {shared, stride, 1};
        return {scratch + static_cast<index_t>(blockIdx.x) * m * stride, stride, 1};
    }
};

/// Bytes of n row numbers before a matrix in shared memory.
APERTURE_HD constexpr int index_bytes(int n) { return (n * 4 + 15) / 16 * 16; }

}  // namespace aperture::dense
