// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/product_tiles.cuh"

namespace aperture::dense {

/// Slices of the operands that are in shared memory at once: one is used, the next is being copied.
inline constexpr int product_stages = 2;

/// Operands of products_in_tiles.
template <class T>
struct ProductArguments : ProductOperands<T> {
    bool direct;  ///< chunks of C go from registers to global memory
    int problems_per_block;
    int rows, columns;  ///< of C in a block
    FastDivider row_blocks;
    unsigned blocks_of_c;      ///< of a problem
    FastDivider threads_of_c;  ///< threads with a problem's block of C
    TileGrid tiles;
    int depth;                   ///< of a slice
    int b_offset, stage_stride;  ///< in shared memory
    PanelOrder panel_a, panel_b, panel_c;
    int a_problem, a_line, a_depth, b_problem, b_line, b_depth;  ///< strides in shared memory
    int c_problem, c_row;
};

/// Thread or warp: a Tile of C of one problem (product_tiles.cuh). Block: tiles of `rows` x
/// `columns` entries of C of `problems_per_block` problems. Grid: groups of problems times blocks
/// of C on x, the latter fastest. Shared: slices of A and B, and, unless tiles are stored directly,
/// C. Bytes per problem: sizeof(T) (m k + k n + m n), and m n more where beta is not 0. Flops per
/// problem: 2 m n k (times 4 if complex).
template <class T, class Tile>
__global__ void __launch_bounds__(Tile::shape.most_rows* Tile::shape.most_columns,
                                  Tile::shape.blocks) products_in_tiles(ProductArguments<T> p) {
    constexpr int width = chunk_entries<T>;
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

    OwnPieces<const T> pieces_a(p.a.data + first * p.a.stride[0] + first_row * p.a.stride[1],
                                p.panel_a);
    OwnPieces<const T> pieces_b(p.b.data + first * p.b.stride[0] + first_column * p.b.stride[1],
                                p.panel_b);
    const auto steps_of = [&](int slice) {
        const int left = depth - slice * p.depth;
        return left < p.depth ? left : p.depth;
    };
    const auto stage = [&](int slice) { return stages + slice % product_stages * p.stage_stride; };
    const auto load = [&](int slice) {
        if (slice * p.depth < depth) {
            const int steps = steps_of(slice);
            start_to_load(pieces_a, stage(slice), p.panel_a, {problems, rows, steps});
            start_to_load(pieces_b, stage(slice) + p.b_offset, p.panel_b,
                          {problems, columns, steps});
            pieces_a.advance(p.depth * p.a.stride[2]);
            pieces_b.advance(p.depth * p.b.stride[2]);
        }
        core::commit_copies();
    };

    const int local = p.threads_of_c.quotient(core::thread_rank());
    const bool active = local < problems;
    const int own_problem = active ? local : 0;
    Tile tile(core::thread_rank() - local * p.threads_of_c.size(), p.tiles);
    load(0);
    APERTURE_NO_UNROLL
    for (int slice = 0; slice * p.depth < depth; ++slice) {
        const int steps = steps_of(slice);
        T* const a = stage(slice);
        T* const b = a + p.b_offset;
        core::wait_for_copies<0>();
        if constexpr (core::is_complex<T>) {
            if (p.conjugate_a) conjugate_own(pieces_a, a, p.panel_a, {problems, rows, steps});
            if (p.conjugate_b) conjugate_own(pieces_b, b, p.panel_b, {problems, columns, steps});
        }
        __syncthreads();
        load(slice + 1);
        tile.add({a + own_problem * p.a_problem, p.a_line, p.a_depth},
                 {b + own_problem * p.b_problem, p.b_line, p.b_depth}, steps);
    }

    T* const to =
        p.c.data + first * p.c.stride[0] + first_row * p.c.stride[1] + first_column * p.c.stride[2];
    const bool reads_c = !(p.beta == zero);
    const auto finish = [&](T* at, Chunk<T> chunk) {
        auto& its = *reinterpret_cast<Chunk<T>*>(at);
        Chunk<T> old = chunk;
        if (reads_c) old = its;
        APERTURE_UNROLL
        for (int e = 0; e < width; ++e) {
            const T value = p.alpha * chunk.entry[e];
            chunk.entry[e] = reads_c ? value + p.beta * old.entry[e] : value;
        }
        its = chunk;
    };
    if (p.direct) {
        T* const own_c = to + own_problem * p.c.stride[0];
        tile.for_each_chunk([&](int row, int column, const Chunk<T>& chunk) {
            if (active && row < rows && column < columns) {
                finish(own_c + row * p.c.stride[1] + column, chunk);
            }
        });
        return;
    }
    // C passes through shared memory, so that global memory is accessed contiguously.
    __syncthreads();
    if (reads_c) {
        start_to_load(OwnPieces<const T>(to, p.panel_c), stages, p.panel_c,
                      {problems, rows, columns});
        core::commit_copies();
        core::wait_for_copies<0>();
        __syncthreads();
    }
    if (active) {
        T* const own_c = stages + local * p.c_problem;
        tile.for_each_chunk([&](int row, int column, const Chunk<T>& chunk) {
            finish(own_c + row * p.c_row + column, chunk);
        });
    }
    __syncthreads();
    store_panel(OwnPieces<T>(to, p.panel_c), stages, p.panel_c, {problems, rows, columns});
}

}  // namespace aperture::dense
