// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/operand_panels.cuh"

namespace aperture::dense {

inline constexpr int product_threads = 256;
/// Slices of the operands that are in shared memory at once: one is used, the next is being copied.
inline constexpr int product_stages = 2;

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
    FastDivider row_blocks;
    unsigned blocks_of_c;        ///< of a problem
    FastDivider threads_of_c;    ///< threads with a problem's block of C
    FastDivider thread_columns;  ///< of these in a row
    int thread_rows;
    int depth;                   ///< of a slice
    int b_offset, stage_stride;  ///< in shared memory
    PanelOrder panel_a, panel_b, panel_c;
    int a_problem, a_depth, b_problem, b_depth, c_problem, c_row;  ///< strides in shared memory
};

/// sum += A B for `steps` of the depth. Both operands are in shared memory, `left_step` and
/// `right_step` between depths; the chunks of a thread are `left_distance` and `right_distance`
/// apart.
template <int rows, int columns, class T>
__device__ __forceinline__ void add_products(T (&sum)[rows][columns], const T* left_at,
                                             int left_step, int left_distance, const T* right_at,
                                             int right_step, int right_distance, int steps) {
    APERTURE_UNROLL_BY(4)
    for (int s = 0; s < steps; ++s) {
        T left[rows], right[columns];
        load_chunks(left, left_at, left_distance);
        load_chunks(right, right_at, right_distance);
        left_at += left_step;
        right_at += right_step;
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < columns; ++j) {
                sum[i][j] = core::multiply_add(sum[i][j], left[i], right[j]);
            }
        }
    }
}

/// Blocks of 256 threads whose registers a multiprocessor must have.
template <class T, int tile_rows, int tile_columns>
inline constexpr int product_blocks = tile_rows* tile_columns * sizeof(T) <= 64    ? 4
                                      : tile_rows* tile_columns * sizeof(T) <= 128 ? 3
                                                                                   : 2;

/// Thread: tile_rows x tile_columns entries of C of one problem, in chunks of 16 bytes that are
/// a chunk of every other thread apart. Block: 256 threads or fewer, `rows` x `columns` entries of
/// C of `problems_per_block` problems. Grid: groups of problems times blocks of C on x, the latter
/// fastest. Shared: slices of A and B, later C. Bytes per problem: sizeof(T) (m k + k n + m n), and
/// m n more where beta is not 0. Flops per problem: 2 m n k (times 4 if complex).
template <class T, int tile_rows, int tile_columns>
__global__ void __launch_bounds__(product_threads, product_blocks<T, tile_rows, tile_columns>)
    products_in_tiles(ProductArguments<T> p) {
    constexpr int width = chunk_entries<T>;
    static_assert(tile_rows % width == 0 && tile_columns % width == 0);
    const T zero = T(RealOf<T>(0));
    T* const stages = core::shared<T>();
    const index_t first = static_cast<index_t>(blockIdx.x / p.blocks_of_c) * p.problems_per_block;
    const auto block_of_c = static_cast<int>(blockIdx.x % p.blocks_of_c);
    const int column_block = p.row_blocks.quotient(block_of_c);
    const int first_row = (block_of_c - column_block * p.row_blocks.size()) * p.rows;
    const int first_column = column_block * p.columns;
    const auto least = [](index_t left, int planned) {
        return left < planned ? static_cast<int>(left) : planned;
    };
    const int problems = least(p.c.extent[0] - first, p.problems_per_block);
    const int rows = least(p.c.extent[1] - first_row, p.rows);
    const int columns = least(p.c.extent[2] - first_column, p.columns);
    const auto depth = static_cast<int>(p.a.extent[2]);

    const T* const from_a = p.a.data + first * p.a.stride[0] + first_row * p.a.stride[1];
    const T* const from_b = p.b.data + first * p.b.stride[0] + first_column * p.b.stride[1];
    const auto steps_of = [&](int slice) {
        const int left = depth - slice * p.depth;
        return left < p.depth ? left : p.depth;
    };
    const auto stage = [&](int slice) { return stages + slice % product_stages * p.stage_stride; };
    const auto load = [&](int slice) {
        if (slice * p.depth < depth) {
            const int steps = steps_of(slice);
            const index_t k = slice * p.depth;
            start_to_load(stage(slice), from_a + k * p.a.stride[2], p.panel_a,
                          {problems, rows, steps});
            start_to_load(stage(slice) + p.b_offset, from_b + k * p.b.stride[2], p.panel_b,
                          {problems, columns, steps});
        }
        core::commit_copies();
    };

    const int local = p.threads_of_c.quotient(core::thread_rank());
    const int own = core::thread_rank() - local * p.threads_of_c.size();
    const int thread_row = p.thread_columns.quotient(own);
    const int thread_column = own - thread_row * p.thread_columns.size();
    const bool active = local < problems;
    const int row_distance = p.thread_rows * width;
    const int column_distance = p.thread_columns.size() * width;
    const int own_a = (active ? local : 0) * p.a_problem + thread_row * width;
    const int own_b = p.b_offset + (active ? local : 0) * p.b_problem + thread_column * width;

    T sum[tile_rows][tile_columns] = {};
    load(0);
    APERTURE_NO_UNROLL
    for (int slice = 0; slice * p.depth < depth; ++slice) {
        const int steps = steps_of(slice);
        T* const a = stage(slice);
        core::wait_for_copies<0>();
        if constexpr (core::is_complex<T>) {
            if (p.conjugate_a) conjugate_own(a, from_a, p.panel_a, {problems, rows, steps});
            if (p.conjugate_b)
                conjugate_own(a + p.b_offset, from_b, p.panel_b, {problems, columns, steps});
        }
        __syncthreads();
        load(slice + 1);
        add_products(sum, a + own_a, p.a_depth, row_distance, a + own_b, p.b_depth, column_distance,
                     steps);
    }

    // C passes through shared memory, so that global memory is accessed contiguously.
    __syncthreads();
    T* const to =
        p.c.data + first * p.c.stride[0] + first_row * p.c.stride[1] + first_column * p.c.stride[2];
    const bool reads_c = !(p.beta == zero);
    if (reads_c) {
        start_to_load<T>(stages, to, p.panel_c, {problems, rows, columns});
        core::commit_copies();
        core::wait_for_copies<0>();
        __syncthreads();
    }
    if (active) {
        T* const own_c =
            stages + local * p.c_problem + thread_row * width * p.c_row + thread_column * width;
        APERTURE_UNROLL
        for (int i = 0; i < tile_rows; ++i) {
            T* const row = own_c + (i / width * row_distance + i % width) * p.c_row;
            T old[tile_columns] = {};
            if (reads_c) load_chunks(old, row, column_distance);
            APERTURE_UNROLL
            for (int j = 0; j < tile_columns; ++j) {
                const T value = p.alpha * sum[i][j];
                old[j] = reads_c ? value + p.beta * old[j] : value;
            }
            store_chunks(row, old, column_distance);
        }
    }
    __syncthreads();
    store_panel<T>(to, stages, p.panel_c, {problems, rows, columns});
}

}  // namespace aperture::dense
