// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/block_solve.cuh"
#include "libdense/gpu/solve_arguments.cuh"

namespace aperture::dense {

/// Bytes of shared memory of `solve_in_block`.
template <class T>
APERTURE_HD constexpr int block_solve_shared_bytes(int row_tiles, int right_hand_side_tiles) {
    return 2 * block_side * (2 * row_tiles + right_hand_side_tiles) * static_cast<int>(sizeof(T));
}

/// Solves A X = B with one problem in the registers of a block (see block_solve.cuh), for any order
/// up to 16 row_tiles.
///
/// Thread: row_tiles x (row_tiles + right_hand_side_tiles) entries of [A | B]. Block: 16 x 16
/// threads, one problem; 16 right_hand_side_tiles right-hand sides a pass, further ones in further
/// passes with the factor in registers. Grid: problems on x.
/// Shared: two buffers of a pivot column [16 row_tiles] and a pivot row [16 (row_tiles +
/// right_hand_side_tiles)] of T.
/// Bytes and flops per problem as for `solve_in_registers`; an Interleaved batch moves a sector (32
/// bytes) for every element.
/// Source: Anderson 2014, ch. 4 and 6.3 (one problem per block, 2-D cyclic in registers).
template <class T, int row_tiles, int right_hand_side_tiles, Elimination elimination>
__global__ void __launch_bounds__(block_side* block_side) solve_in_block(SolveArguments<T> p) {
    using R = RealOf<T>;
    constexpr int column_tiles = row_tiles + right_hand_side_tiles;
    const index_t problem = blockIdx.x;
    const T zero = T(R(0));
    BlockEntries<T, row_tiles, column_tiles> tiles;
    tiles.ty = static_cast<int>(threadIdx.y);
    tiles.tx = static_cast<int>(threadIdx.x);
    PublishedLines<T> lines{core::shared<T>(), block_side * row_tiles,
                            block_side * (row_tiles + column_tiles)};

    APERTURE_UNROLL
    for (int a = 0; a < row_tiles; ++a) {
        APERTURE_UNROLL
        for (int b = 0; b < row_tiles; ++b) {
            const int row = block_side * a + tiles.ty;
            const int column = block_side * b + tiles.tx;
            T entry = zero;
            if (row < p.order && column < p.order) {
                const bool lower = row >= column;
                entry = p.a(problem, lower ? row : column, lower ? column : row);
                if (!lower) entry = core::conj(entry);
            }
            tiles.entry[a][b] = entry;
        }
    }

    Pivots<R> pivots;
    APERTURE_NO_UNROLL
    for (int begin = 0; begin == 0 || begin < p.right_hand_sides;
         begin += block_side * right_hand_side_tiles) {
        APERTURE_UNROLL
        for (int b = 0; b < right_hand_side_tiles; ++b) {
            const int r = begin + block_side * b + tiles.tx;
            APERTURE_UNROLL
            for (int a = 0; a < row_tiles; ++a) {
                const int row = block_side * a + tiles.ty;
                tiles.entry[a][row_tiles + b] =
                    row < p.order && r < p.right_hand_sides ? p.x(problem, r, row) : zero;
            }
        }
        if (begin == 0) {
            eliminate_in_block<elimination, true, row_tiles>(
                tiles, lines, p.order, [&](int k, R pivot) { return pivots.add(k, pivot); });
        } else {
            eliminate_in_block<elimination, false, row_tiles>(
                tiles, lines, p.order, [](int, R pivot) { return R(1) / pivot; });
        }
        if (elimination == Elimination::below) {
            back_substitute_in_block(tiles, lines, p.order);
        }
        APERTURE_UNROLL
        for (int b = 0; b < right_hand_side_tiles; ++b) {
            const int r = begin + block_side * b + tiles.tx;
            APERTURE_UNROLL
            for (int a = 0; a < row_tiles; ++a) {
                const int row = block_side * a + tiles.ty;
                if (row < p.order && r < p.right_hand_sides) {
                    p.x(problem, r, row) = pivots.info == 0 ? tiles.entry[a][row_tiles + b] : zero;
                }
            }
        }
    }
    if (core::thread_rank() == 0) p.report(problem, pivots);
}

}  // namespace aperture::dense
