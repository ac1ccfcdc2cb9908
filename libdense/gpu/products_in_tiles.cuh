// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/fast_divider.hpp"

namespace aperture::dense {

inline constexpr int product_threads = 256;
/// Rows and columns of C that a thread has in registers.
inline constexpr int product_tile = 4;

/// How a panel of an operand is loaded to shared memory, [problem][depth][line]: its lines are rows
/// of op(A) or columns of op(B). Arrays are in the order of the dimensions in global memory, from
/// the fastest.
struct PanelOrder {
    int dimension[3];  ///< 0: problem, 1: line, 2: depth
    FastDivider extent[2];
    index_t stride[3];  ///< in global memory
    int tile_stride[3];
    int line_stride;     ///< between depths in shared memory, odd
    int problem_stride;  ///< in shared memory
};

/// C = alpha op(A) op(B) + beta C. `a` is [problem][row of op(A)][depth] and `b` [problem][column
/// of op(B)][depth], whatever the strides.
template <class T>
struct ProductArguments {
    KernelView<const T, 3> a;
    KernelView<const T, 3> b;
    KernelView<T, 3> c;
    T alpha, beta;
    bool conjugate_a, conjugate_b;
    int problems_per_block;
    int rows, columns;  ///< of C in a block
    FastDivider row_blocks, tiles, tile_columns;
    int depth;  ///< of a panel
    PanelOrder panel_a, panel_b;
};

/// Loads a panel of `problems` x `lines` x `depth` from a first position on; what does not exist is
/// zero. A thread loads several entries before it stores them.
template <class T>
__device__ __forceinline__ void load_panel(T* tile, const KernelView<const T, 3>& from,
                                           bool conjugate, const PanelOrder& order,
                                           index_t first_problem, int first_line, int first_depth,
                                           int problems, int lines, int depth) {
    constexpr int at_once = 4;
    const index_t first[3] = {first_problem, first_line, first_depth};
    const int extent[3] = {problems, lines, depth};
    const T* data = from.data;
    int limit[3];
    APERTURE_UNROLL
    for (int d = 0; d < 3; ++d) {
        index_t begin = 0;
        index_t left = 0;
        APERTURE_UNROLL
        for (int e = 0; e < 3; ++e) {
            if (order.dimension[d] != e) continue;
            begin = first[e];
            left = from.extent[e] - first[e];
            limit[d] = left < extent[e] ? static_cast<int>(left) : extent[e];
        }
        data += begin * order.stride[d];
    }
    const int entries = problems * lines * depth;
    const int step = core::block_threads();
    APERTURE_NO_UNROLL
    for (int base = core::thread_rank(); base < entries; base += at_once * step) {
        T value[at_once];
        int to[at_once];
        APERTURE_UNROLL
        for (int u = 0; u < at_once; ++u) {
            const int i = base + u * step;
            const int rest = order.extent[0].quotient(i);
            const int last = order.extent[1].quotient(rest);
            const int fastest = i - rest * order.extent[0].size();
            const int middle = rest - last * order.extent[1].size();
            const bool exists = fastest < limit[0] && middle < limit[1] && last < limit[2];
            value[u] = exists ? data[fastest * order.stride[0] + middle * order.stride[1] +
                                     last * order.stride[2]]
                              : T(RealOf<T>(0));
            to[u] = i < entries ? fastest * order.tile_stride[0] + middle * order.tile_stride[1] +
                                      last * order.tile_stride[2]
                                : -1;
        }
        APERTURE_UNROLL
        for (int u = 0; u < at_once; ++u) {
            if (to[u] >= 0) tile[to[u]] = conjugate ? core::conj(value[u]) : value[u];
        }
    }
}

/// Thread: 4 x `tile_columns` entries of C of one problem. Block: 256 threads or fewer, `rows` x
/// `columns` entries of C of `problems_per_block` problems. Grid: groups of problems times blocks
/// of C on x, the latter fastest. Shared: a panel of A and one of B. Bytes per problem: sizeof(T)
/// (m k + k n + m n), and m n more where beta is not 0. Flops per problem: 2 m n k (times 4 if
/// complex).
template <class T, int tile_columns>
__global__ void __launch_bounds__(product_threads) products_in_tiles(ProductArguments<T> p) {
    constexpr int tile = product_tile;
    const T zero = T(RealOf<T>(0));
    T* const lines_of_a = core::shared<T>();
    T* const lines_of_b = lines_of_a + p.problems_per_block * p.panel_a.problem_stride;
    const auto blocks_of_c =
        static_cast<unsigned>(p.row_blocks.size() * ((p.c.extent[2] + p.columns - 1) / p.columns));
    const index_t first = static_cast<index_t>(blockIdx.x / blocks_of_c) * p.problems_per_block;
    const auto block_of_c = static_cast<int>(blockIdx.x % blocks_of_c);
    const int column_block = p.row_blocks.quotient(block_of_c);
    const int first_row = (block_of_c - column_block * p.row_blocks.size()) * p.rows;
    const int first_column = column_block * p.columns;

    const int local = p.tiles.quotient(core::thread_rank());
    const int own_tile = core::thread_rank() - local * p.tiles.size();
    const int tile_row = p.tile_columns.quotient(own_tile);
    const int row = tile_row * tile;
    const int column = (own_tile - tile_row * p.tile_columns.size()) * tile_columns;
    const bool active = local < p.problems_per_block && first + local < p.c.extent[0];
    const T* const own_a = lines_of_a + (active ? local : 0) * p.panel_a.problem_stride + row;
    const T* const own_b = lines_of_b + (active ? local : 0) * p.panel_b.problem_stride + column;

    T sum[tile][tile_columns] = {};
    const auto depth = static_cast<int>(p.a.extent[2]);
    APERTURE_NO_UNROLL
    for (int k = 0; k < depth; k += p.depth) {
        __syncthreads();
        load_panel(lines_of_a, p.a, p.conjugate_a, p.panel_a, first, first_row, k,
                   p.problems_per_block, p.rows, p.depth);
        load_panel(lines_of_b, p.b, p.conjugate_b, p.panel_b, first, first_column, k,
                   p.problems_per_block, p.columns, p.depth);
        __syncthreads();
        const int steps = depth - k < p.depth ? depth - k : p.depth;
        APERTURE_UNROLL_BY(2)
        for (int s = 0; s < steps; ++s) {
            T left[tile], right[tile_columns];
            APERTURE_UNROLL
            for (int i = 0; i < tile; ++i) left[i] = own_a[s * p.panel_a.line_stride + i];
            APERTURE_UNROLL
            for (int j = 0; j < tile_columns; ++j) right[j] = own_b[s * p.panel_b.line_stride + j];
            APERTURE_UNROLL
            for (int i = 0; i < tile; ++i) {
                APERTURE_UNROLL
                for (int j = 0; j < tile_columns; ++j) {
                    sum[i][j] = core::multiply_add(sum[i][j], left[i], right[j]);
                }
            }
        }
    }
    if (!active) return;
    APERTURE_UNROLL
    for (int i = 0; i < tile; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < tile_columns; ++j) {
            const int r = first_row + row + i;
            const int c = first_column + column + j;
            if (row + i >= p.rows || column + j >= p.columns || r >= p.c.extent[1] ||
                c >= p.c.extent[2]) {
                continue;
            }
            T value = p.alpha * sum[i][j];
            if (!(p.beta == zero)) value = value + p.beta * p.c(first + local, r, c);
            p.c(first + local, r, c) = value;
        }
    }
}

}  // namespace aperture::dense
