// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/chunks.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

inline constexpr int vector_threads = 256;
/// Rows, or chunks of them, that a thread loads at once.
inline constexpr int vector_rows_at_once = 4;

/// y = alpha op(A) x + beta y. `a` is [problem][row of op(A)][depth], whatever the strides.
template <class T>
struct VectorProductArguments {
    KernelView<const T, 3> a;
    KernelView<const T, 2> x;
    KernelView<T, 2> y;
    T alpha, beta;
    bool conjugate;
    int lane_bits;        ///< log2 of the threads that share a row
    int lane_shift;       ///< log2 of the threads between two of them
    bool by_problems;     ///< whether neighbouring threads have neighbouring problems
    int units;            ///< rows, or chunks of them, of a problem
    unsigned row_blocks;  ///< blocks that share problems
    FastDivider fastest;  ///< problems of a block if by_problems, otherwise units
    int problems_per_block, units_per_block;
};

/// Thread: every 2^lane_bits-th piece of four rows of op(A), or of four chunks of rows where
/// `row_width` is more than 1; pieces are `depth_width` entries long. Block: 256 threads. Grid:
/// the rows of all problems, on x. Bytes per problem: sizeof(T) (m k + k + m), and m more where
/// beta is not 0. Flops per problem: 2 m k (times 4 if complex).
template <class T, int row_width, int depth_width>
__global__ void __launch_bounds__(vector_threads, 3)
    products_with_vectors(VectorProductArguments<T> p) {
    constexpr int at_once = vector_rows_at_once;
    constexpr int width = row_width * depth_width;
    const T zero = T(RealOf<T>(0));
    const int rank = core::thread_rank();
    const int lanes = 1 << p.lane_bits;
    const int lane = rank >> p.lane_shift & (lanes - 1);
    const int neighbour = rank & ((1 << p.lane_shift) - 1);
    const int own = rank >> (p.lane_shift + p.lane_bits) << p.lane_shift | neighbour;
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
            for (int i = 0; i < width; ++i) {
                const T entry = p.conjugate ? core::conj(left[r][i]) : left[r][i];
                T& its = sum[r][i % row_width];
                its = core::multiply_add(its, entry, right[r][i % depth_width]);
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
    const bool scales = !(p.alpha == T(RealOf<T>(1)));
    const bool adds = !(p.beta == zero);
    APERTURE_UNROLL
    for (int r = 0; r < at_once; ++r) {
        if (!exists[r]) continue;
        T* to = first_to + problem[r] * p.y.stride[0] + row[r] * p.y.stride[1];
        APERTURE_UNROLL
        for (int i = 0; i < row_width; ++i) {
            T value = sum[r][i];
            if (scales) value = p.alpha * value;
            if (adds) value = value + p.beta * *to;
            *to = value;
            to += p.y.stride[1];
        }
    }
}

}  // namespace aperture::dense
