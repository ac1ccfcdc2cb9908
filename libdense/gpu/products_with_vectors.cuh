// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/chunks.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

inline constexpr int vector_threads = 256;
/// Pieces of a matrix that a thread loads at once.
inline constexpr int vector_pieces_at_once = 4;

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
/// `row_width` is more than 1; pieces are `depth_width` entries long. With `deep_pieces` of 2, two
/// pieces at once of two neighbouring rows, which share those of x. Block: 256 threads. Grid: the
/// rows of all problems, on x. Bytes per problem: sizeof(T) (m k + k + m), and m more where beta is
/// not 0. Flops per problem: 2 m k (times 4 if complex).
template <class T, int row_width, int depth_width, int deep_pieces>
__global__ void __launch_bounds__(vector_threads, 3)
    products_with_vectors(VectorProductArguments<T> p) {
    constexpr int at_once = vector_pieces_at_once / deep_pieces;
    constexpr bool neighbours = deep_pieces > 1;
    constexpr int factors = neighbours ? 1 : at_once;
    constexpr int width = row_width * depth_width;
    const T zero = T(RealOf<T>(0));
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
    const T* factor[factors] = {};
    unsigned problem[at_once], row[at_once];  // in the block
    bool exists[at_once];
    APERTURE_UNROLL
    for (int r = 0; r < at_once; ++r) {
        const int i = neighbours ? own * at_once + r : own + r * units_at_once;
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
        if (r < factors) factor[r] = first_factor + problem[r] * p.x.stride[0];
    }

    T sum[at_once][row_width] = {};
    const index_t depth = p.a.extent[2];
    const index_t step = static_cast<index_t>(lanes) * depth_width;
    APERTURE_NO_UNROLL
    for (index_t k = lane * depth_width; k < depth; k += step * deep_pieces) {
        T left[deep_pieces][at_once][width] = {}, right[deep_pieces][factors][depth_width] = {};
        APERTURE_UNROLL
        for (int d = 0; d < deep_pieces; ++d) {
            if (d > 0 && k + d * step >= depth) continue;
            APERTURE_UNROLL
            for (int r = 0; r < at_once; ++r) {
                load_chunks(left[d][r], from[r] + d * step * p.a.stride[2]);
                if (r < factors) load_chunks(right[d][r], factor[r] + d * step * p.x.stride[1]);
            }
        }
        APERTURE_UNROLL
        for (int r = 0; r < at_once; ++r) {
            from[r] += deep_pieces * step * p.a.stride[2];
            if (r < factors) factor[r] += deep_pieces * step * p.x.stride[1];
            APERTURE_UNROLL
            for (int i = 0; i < deep_pieces * width; ++i) {
                const int d = i / width;
                const int j = i % width;
                const T entry = p.conjugate ? core::conj(left[d][r][j]) : left[d][r][j];
                T& its = sum[r][j % row_width];
                its = core::multiply_add(its, entry, right[d][r % factors][j % depth_width]);
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
