// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Four places for a block while reflectors are applied to it, compared by Anderson 2014 (section
// 3.4 and figure 3.7) for blocks of 128 x 16. A thread block of 64 threads applies 16 reflectors
// I - 2 v v^T in order to its block.

#include "libcore/gpu/warp.cuh"

namespace aperture::bench {

using core::index_t;

enum class BlockPolicy {
    shared_parallel,  ///< shared memory; all threads reduce a column's product together
    shared_serial,    ///< shared memory; a thread sums 32 rows of a column
    registers,        ///< registers; a thread holds 32 rows of a column
    transposed,       ///< likewise, of blocks stored row by row, for contiguous reads
};

struct PolicyBlock {
    static constexpr int rows = 128;
    static constexpr int columns = 16;
    static constexpr int threads = 64;
    static constexpr int parts = threads / columns;
    static constexpr int own = rows / parts;
    static constexpr int elements = rows * columns;
    /// For reflectors, the threads' sums, and the block with columns padded against bank conflicts.
    static constexpr int column = rows + 1;
    static constexpr int shared_bytes =
        (elements + threads + columns * column) * static_cast<int>(sizeof(float));
    static constexpr double flops = 4.0 * rows * columns * columns;
};

namespace detail {

/// A block in shared memory, [column][row].
struct BlockInShared {
    using Shape = PolicyBlock;
    float* a;

    __device__ BlockInShared(const float* from, float* memory) : a(memory) {
        for (int e = core::thread_rank(); e < Shape::elements; e += Shape::threads) {
            a[e / Shape::rows * Shape::column + e % Shape::rows] = from[e];
        }
        __syncthreads();
    }
    __device__ void store(float* to) const {
        for (int e = core::thread_rank(); e < Shape::elements; e += Shape::threads) {
            to[e] = a[e / Shape::rows * Shape::column + e % Shape::rows];
        }
    }
    __device__ void turn_in_parallel(const float* v, float* sums) {
        const int thread = core::thread_rank();
        for (int c = 0; c < Shape::columns; ++c) {
            float* const own = a + c * Shape::column;
            sums[thread] =
                v[thread] * own[thread] + v[thread + Shape::threads] * own[thread + Shape::threads];
            __syncthreads();
            for (int half = Shape::threads / 2; half > 0; half /= 2) {
                if (thread < half) sums[thread] += sums[thread + half];
                __syncthreads();
            }
            const float factor = 2 * sums[0];
            for (int r = thread; r < Shape::rows; r += Shape::threads) own[r] -= factor * v[r];
            __syncthreads();
        }
    }
    __device__ void turn_in_series(const float* v, float* sums) {
        const int thread = core::thread_rank();
        const int column = thread % Shape::columns;
        const int first = thread / Shape::columns * Shape::own;
        float* const own = a + column * Shape::column;
        float sum = 0;
        for (int r = first; r < first + Shape::own; ++r) sum += v[r] * own[r];
        sums[thread] = sum;
        __syncthreads();
        float factor = 0;
        for (int p = 0; p < Shape::parts; ++p) factor += 2 * sums[p * Shape::columns + column];
        for (int r = first; r < first + Shape::own; ++r) own[r] -= factor * v[r];
        __syncthreads();
    }
};

/// A block in registers, 32 rows of a column per thread; memory is accessed by rows or by columns.
struct BlockInRegisters {
    using Shape = PolicyBlock;
    float a[Shape::own];
    int column = core::thread_rank() % Shape::columns;
    int first = core::thread_rank() / Shape::columns * Shape::own;

    __device__ int at(int r, bool by_rows) const {
        return by_rows ? (first + r) * Shape::columns + column : column * Shape::rows + first + r;
    }
    __device__ BlockInRegisters(const float* from, bool by_rows) {
        APERTURE_UNROLL
        for (int r = 0; r < Shape::own; ++r) a[r] = from[at(r, by_rows)];
    }
    __device__ void store(float* to, bool by_rows) const {
        APERTURE_UNROLL
        for (int r = 0; r < Shape::own; ++r) to[at(r, by_rows)] = a[r];
    }
    __device__ void turn(const float* v, float* sums) {
        float sum = 0;
        APERTURE_UNROLL
        for (int r = 0; r < Shape::own; ++r) sum += v[first + r] * a[r];
        sums[core::thread_rank()] = sum;
        __syncthreads();
        float factor = 0;
        for (int p = 0; p < Shape::parts; ++p) factor += 2 * sums[p * Shape::columns + column];
        APERTURE_UNROLL
        for (int r = 0; r < Shape::own; ++r) a[r] -= factor * v[first + r];
        __syncthreads();
    }
};

}  // namespace detail

/// Grid: one thread block per block. `blocks`: [block][column][row], or [block][row][column] if
/// transposed. `reflectors`: [16][row], of length 1. Shared memory: PolicyBlock.
template <BlockPolicy policy>
__global__ void __launch_bounds__(PolicyBlock::threads)
    block_policy_kernel(const float* reflectors, float* blocks) {
    using Shape = PolicyBlock;
    float* const v = core::shared<float>();
    float* const sums = v + Shape::elements;
    float* const own = blocks + index_t{blockIdx.x} * Shape::elements;
    for (int e = core::thread_rank(); e < Shape::elements; e += Shape::threads) {
        v[e] = reflectors[e];
    }
    __syncthreads();
    if constexpr (policy == BlockPolicy::shared_parallel || policy == BlockPolicy::shared_serial) {
        detail::BlockInShared block(own, sums + Shape::threads);
        for (int k = 0; k < Shape::columns; ++k) {
            if constexpr (policy == BlockPolicy::shared_parallel) {
                block.turn_in_parallel(v + k * Shape::rows, sums);
            } else {
                block.turn_in_series(v + k * Shape::rows, sums);
            }
        }
        block.store(own);
    } else {
        constexpr bool by_rows = policy == BlockPolicy::transposed;
        detail::BlockInRegisters block(own, by_rows);
        for (int k = 0; k < Shape::columns; ++k) block.turn(v + k * Shape::rows, sums);
        block.store(own, by_rows);
    }
}

}  // namespace aperture::bench
