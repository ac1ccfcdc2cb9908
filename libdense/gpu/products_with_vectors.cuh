// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/chunks.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

inline constexpr int vector_threads = 256;
/// Pieces of a matrix that a thread loads at once.
inline constexpr int vector_pieces_at_once = 4;

/// to = alpha sum + beta to, without reading it where beta is 0.
template <class T>
struct ScaledStore {
    T alpha, beta;

    __device__ __forceinline__ void operator()(T* to, T sum) const {
        if (!(alpha == T(RealOf<T>(1)))) sum = alpha * sum;
        if (!(beta == T(RealOf<T>(0)))) sum = sum + beta * *to;
        *to = sum;
    }
};

/// y = alpha op(A) x + beta y. `a` is [problem][row of op(A)][depth], whatever the strides.
template <class T>
struct VectorProduct {
    KernelView<const T, 3> a;
    KernelView<const T, 2> x;
    KernelView<T, 2> y;
    T alpha, beta;
    bool conjugate;
};

/// Operands of `products_with_vectors`.
template <class T>
struct VectorProductArguments : VectorProduct<T> {
    int lane_bits;        ///< log2 of the threads that share a row
    int lane_shift;       ///< log2 of the threads between two of them
    bool by_problems;     ///< whether neighbouring threads have neighbouring problems
    int units;            ///< rows, or chunks of them, of a problem
    unsigned row_blocks;  ///< blocks that share problems
    FastDivider fastest;  ///< problems of a block if by_problems, otherwise units
    int problems_per_block, units_per_block;
};

/// Thread: every 2^lane_bits-th piece of four rows of op(A), or of four chunks of rows where
/// `row_width` is more than 1; pieces are `depth_width` entries long. Block: 256 threads. Grid: the
/// rows of all problems, on x. Bytes per problem: sizeof(T) (m k + k + m), and m more where beta is
/// not 0. Flops per problem: 2 m k (times 4 if complex).
template <class T, int row_width, int depth_width>
__global__ void __launch_bounds__(vector_threads, 3)
    products_with_vectors(VectorProductArguments<T> p) {
    constexpr int at_once = vector_pieces_at_once;
    constexpr int width = row_width * depth_width;
    const int rank = core::thread_rank();
    const int lanes = 1 << p.lane_bits;
    const int lane = rank >> p.lane_shift & (lanes - 1);
    const int between = rank & ((1 << p.lane_shift) - 1);
    const int own = rank >> (p.lane_shift + p.lane_bits) << p.lane_shift | between;
    const int units_at_once = vector_threads >> p.lane_bits;

    const unsigned group = p.row_blocks == 1 ? blockIdx.x : blockIdx.x / p.row_blocks;
    const index_t first_problem = static_cast<index_t>(group) * p.problems_per_block;
    const int first_unit = static_cast<int>(blockIdx.x - group * p.row_blocks) * p.units_per_block;
    const T* const first_from = p.a.data + first_problem * p.a.stride[0] +
                                first_unit * row_width * p.a.stride[1] +
                                lane * depth_width * p.a.stride[2];
    const T* const first_factor =
        p.x.data + first_problem * p.x.stride[0] + lane * depth_width * p.x.stride[1];
    const index_t problems = p.a.extent[0] - first_problem;
    const T* from[at_once];
    const T* factor[at_once];
    unsigned problem[at_once], row[at_once];  // in the block
    bool exists[at_once];
    APERTURE_UNROLL
    for (int r = 0; r < at_once; ++r) {
        const int i = own + r * units_at_once;
        const int slow = p.fastest.quotient(i);
        const int fast = i - slow * p.fastest.size();
        const int its_problem = p.by_problems ? fast : slow;
        const int unit = p.by_problems ? slow : fast;
        exists[r] = its_problem < p.problems_per_block && its_problem < problems &&
                    first_unit + unit < p.units;
        // Threads without a row load the first one.
        problem[r] = static_cast<unsigned>(exists[r] ? its_problem : 0);
        row[r] = static_cast<unsigned>(exists[r] ? unit * row_width : 0);
        from[r] = first_from + problem[r] * p.a.stride[0] + row[r] * p.a.stride[1];
        factor[r] = first_factor + problem[r] * p.x.stride[0];
    }

    T sum[at_once][row_width] = {};
    const index_t depth = p.a.extent[2];
    const index_t step = static_cast<index_t>(lanes) * depth_width;
    APERTURE_NO_UNROLL
    for (index_t k = lane * depth_width; k < depth; k += step) {
        T left[at_once][width], right[at_once][depth_width];
        APERTURE_UNROLL
        for (int r = 0; r < at_once; ++r) {
            load_chunks(left[r], from[r]);
            load_chunks(right[r], factor[r]);
            from[r] += step * p.a.stride[2];
            factor[r] += step * p.x.stride[1];
        }
        APERTURE_UNROLL
        for (int r = 0; r < at_once; ++r) {
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) {
                const T entry = p.conjugate ? core::conj(left[r][j]) : left[r][j];
                T& its = sum[r][j % row_width];
                its = core::multiply_add(its, entry, right[r][j % depth_width]);
            }
        }
    }
    APERTURE_NO_UNROLL
    for (int distance = 1 << p.lane_shift; distance < lanes << p.lane_shift; distance *= 2) {
        APERTURE_UNROLL
        for (int r = 0; r < at_once; ++r) {
            APERTURE_UNROLL
            for (int i = 0; i < row_width; ++i) {
                sum[r][i] = sum[r][i] + core::exchange_xor(sum[r][i], distance);
            }
        }
    }
    if (lane != 0) return;
    T* const first_to =
        p.y.data + first_problem * p.y.stride[0] + first_unit * row_width * p.y.stride[1];
    const ScaledStore<T> store{p.alpha, p.beta};
    APERTURE_UNROLL
    for (int r = 0; r < at_once; ++r) {
        if (!exists[r]) continue;
        T* to = first_to + problem[r] * p.y.stride[0] + row[r] * p.y.stride[1];
        APERTURE_UNROLL
        for (int i = 0; i < row_width; ++i) {
            store(to, sum[r][i]);
            to += p.y.stride[1];
        }
    }
}

/// Operands of `products_of_four_rows`.
template <class T>
struct RowProductArguments : VectorProduct<T> {
    int lane_bits;             ///< log2 of the neighbouring threads that share rows
    unsigned period_blocks;    ///< blocks that share
    int problems_per_period;   ///< so many whole problems
    FastDivider of_a_problem;  ///< fours of rows
};

/// Thread: every 2^lane_bits-th chunk of four neighbouring rows of op(A), which share those of x,
/// `at_once` chunks of each at a time; conj(A) x = conj(A conj(x)). Rows and x are contiguous.
/// Block: 256 threads. Grid: the rows of all problems, on x. Bytes and flops as above.
template <class T, int at_once>
__global__ void __launch_bounds__(vector_threads, at_once == 1 ? 4 : 3)
    products_of_four_rows(RowProductArguments<T> p) {
    constexpr int rows = 4;
    constexpr int width = chunk_entries<T>;
    const int lanes = 1 << p.lane_bits;
    const int lane = core::thread_rank() & (lanes - 1);
    const unsigned period = p.period_blocks == 1 ? blockIdx.x : blockIdx.x / p.period_blocks;
    const int four =
        static_cast<int>(blockIdx.x - period * p.period_blocks) * (vector_threads >> p.lane_bits) +
        (core::thread_rank() >> p.lane_bits);
    const int its = p.problems_per_period == 1 ? 0 : p.of_a_problem.quotient(four);
    index_t problem = static_cast<index_t>(period) * p.problems_per_period + its;
    const int row = (four - its * p.of_a_problem.size()) * rows;
    const bool exists = problem < p.a.extent[0];
    // Threads without a problem load the first one, and rows that are missing are the last one.
    if (!exists) problem = 0;
    const int left_rows = static_cast<int>(p.a.extent[1]) - row;
    const T* factor = p.x.data + problem * p.x.stride[0] + lane * width;
    const T* from[rows];
    from[0] = p.a.data + problem * p.a.stride[0] + row * p.a.stride[1] + lane * width;
    APERTURE_UNROLL
    for (int r = 1; r < rows; ++r) from[r] = from[r - 1] + (r < left_rows ? p.a.stride[1] : 0);

    T sum[rows] = {};
    const int depth = static_cast<int>(p.a.extent[2]);
    const int step = lanes * width;
    APERTURE_NO_UNROLL
    for (int k = lane * width; k < depth; k += at_once * step) {
        T left[at_once][rows][width] = {}, right[at_once][width] = {};
        APERTURE_UNROLL
        for (int d = 0; d < at_once; ++d) {
            if (d > 0 && k + d * step >= depth) continue;
            APERTURE_UNROLL
            for (int r = 0; r < rows; ++r) {
                if constexpr (at_once == 1) {
                    load_chunks(left[d][r], from[r]);
                } else {
                    load_chunk_once(left[d][r], from[r] + d * step);
                }
            }
            load_chunks(right[d], factor + d * step);
            APERTURE_UNROLL
            for (int i = 0; i < width; ++i) {
                if (p.conjugate) right[d][i] = core::conj(right[d][i]);
            }
        }
        factor += at_once * step;
        APERTURE_UNROLL
        for (int r = 0; r < rows; ++r) {
            from[r] += at_once * step;
            APERTURE_UNROLL
            for (int i = 0; i < at_once * width; ++i) {
                sum[r] = core::multiply_add(sum[r], left[i / width][r][i % width],
                                            right[i / width][i % width]);
            }
        }
    }
    APERTURE_NO_UNROLL
    for (int distance = 1; distance < lanes; distance *= 2) {
        APERTURE_UNROLL
        for (int r = 0; r < rows; ++r) sum[r] = sum[r] + core::exchange_xor(sum[r], distance);
    }
    if (lane != 0 || !exists) return;
    T* to = p.y.data + problem * p.y.stride[0] + row * p.y.stride[1];
    const ScaledStore<T> store{p.alpha, p.beta};
    APERTURE_UNROLL
    for (int r = 0; r < rows; ++r) {
        if (r < left_rows) store(to, p.conjugate ? core::conj(sum[r]) : sum[r]);
        to += p.y.stride[1];
    }
}

}  // namespace aperture::dense
