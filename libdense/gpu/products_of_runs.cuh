// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/products_with_vectors.cuh"

namespace aperture::dense {

/// Operands of `products_of_runs`, without gaps. `a` and `x` begin on 16 bytes.
template <class T>
struct RunProductArguments : VectorProduct<T> {
    FastDivider rows;  ///< of op(A)
    int depth;
    int row_stride, depth_stride;
    int problems;   ///< of a block, a whole number of chunks
    int lane_bits;  ///< log2 of the neighbouring threads that share a row
};

/// Starts the copy of a run of entries by all threads of the block.
template <class T>
__device__ __forceinline__ void start_run(T* to_shared, const T* from, int count) {
    constexpr int width = chunk_entries<T>;
    const int whole = count / width * width;
    APERTURE_UNROLL_BY(4)
    for (int i = core::thread_rank() * width; i < whole; i += vector_threads * width) {
        core::copy_async<16>(to_shared + i, from + i);
    }
    const int i = whole + core::thread_rank();
    if (i < count) core::copy_async<static_cast<int>(sizeof(T))>(to_shared + i, from + i);
}

/// Rows that are no whole chunks are loaded as a run. Thread: every 2^lane_bits-th entry of a row.
/// Block: 256 threads, the rows of whole problems. Grid: problems, on x. Shared: matrices and
/// vectors of the block. Bytes and flops as of products_with_vectors.
template <class T>
__global__ void __launch_bounds__(vector_threads) products_of_runs(RunProductArguments<T> p) {
    T* const matrices = core::shared<T>();
    const int rows = p.rows.size();
    const int entries = rows * p.depth;
    T* const vectors = matrices + p.problems * entries;
    const index_t first = static_cast<index_t>(blockIdx.x) * p.problems;
    const int problems = static_cast<int>(min(p.y.extent[0] - first, index_t(p.problems)));
    start_run(matrices, p.a.data + first * entries, problems * entries);
    start_run(vectors, p.x.data + first * p.depth, problems * p.depth);
    core::commit_copies();
    core::wait_for_copies();
    __syncthreads();

    const int lanes = 1 << p.lane_bits;
    const int lane = core::thread_rank() & (lanes - 1);
    const ScaledStore<T> store{p.alpha, p.beta};
    APERTURE_NO_UNROLL
    for (int begin = 0; begin < problems * rows; begin += vector_threads >> p.lane_bits) {
        const int own = begin + (core::thread_rank() >> p.lane_bits);
        const bool exists = own < problems * rows;
        const int problem = exists ? p.rows.quotient(own) : 0;
        const int row = exists ? own - problem * rows : 0;
        const T* from = matrices + problem * entries + row * p.row_stride + lane * p.depth_stride;
        const T* factor = vectors + problem * p.depth + lane;
        T sum = T(RealOf<T>(0));
        APERTURE_UNROLL_BY(4)
        for (int k = lane; k < p.depth; k += lanes) {
            sum = core::multiply_add(sum, *from, p.conjugate ? core::conj(*factor) : *factor);
            from += lanes * p.depth_stride;
            factor += lanes;
        }
        APERTURE_NO_UNROLL
        for (int distance = 1; distance < lanes; distance *= 2) {
            sum = sum + core::exchange_xor(sum, distance);
        }
        if (lane == 0 && exists) {
            store(&p.y(first + problem, row), p.conjugate ? core::conj(sum) : sum);
        }
    }
}

}  // namespace aperture::dense
