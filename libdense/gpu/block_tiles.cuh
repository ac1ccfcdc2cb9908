// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elimination of a general matrix in the registers of a block of side x side threads, 2-D
// cyclically as in block_solve.cuh: entry[a][b] of thread (ty, tx) is entry (side a + ty, side b +
// tx). A step publishes the pivot's column and row, and with an exchange the other row, in
// double-buffered shared memory: one barrier a step, two with an exchange. Source: Anderson 2014,
// ch. 4.5 (two-dimensional cyclic layout).

#include "libdense/gpu/block_lu.cuh"
#include "libdense/gpu/factor_arguments.cuh"

namespace aperture::dense {

/// Elements of the published lines of a matrix of `length` = side * tiles rows.
APERTURE_HD constexpr int tiles_lines(int length) { return 2 * 3 * length; }

/// Eliminates `from`, of order n <= side * tiles, and stores the factors in `to`: those of
/// factor_lu_in_block or, by Gauss-Jordan elimination, of eliminate_in_block. All threads of the
/// block must call; they must wait before they use the factors and `rows`.
template <int side, int tiles, class T>
__device__ int eliminate_in_tiles(GeneralElimination elimination, int n, BlockMatrix<const T> from,
                                  BlockMatrix<T> to, int* rows, T* lines) {
    constexpr int length = side * tiles;
    const bool gauss_jordan = elimination == GeneralElimination::gauss_jordan;
    const bool exchange = elimination == GeneralElimination::pivoted_lu;
    const int ty = core::thread_rank() / side;
    const int tx = core::thread_rank() % side;
    const T zero = T(RealOf<T>(0));
    T entry[tiles][tiles];
    APERTURE_UNROLL
    for (int a = 0; a < tiles; ++a) {
        APERTURE_UNROLL
        for (int b = 0; b < tiles; ++b) {
            const int i = side * a + ty;
            const int j = side * b + tx;
            entry[a][b] = i < n && j < n ? from(i, j) : zero;
        }
    }
    int info = 0;
    APERTURE_UNROLL
    for (int tile = 0; tile < tiles; ++tile) {
        const int steps = n - side * tile < side ? n - side * tile : side;
        APERTURE_NO_UNROLL
        for (int step = 0; step < steps; ++step) {
            const int k = side * tile + step;
            T* const column = lines + (k & 1) * 3 * length;
            T* const row = column + length;
            T* const other_row = row + length;
            if (tx == step) {
                APERTURE_UNROLL
                for (int a = 0; a < tiles; ++a) column[side * a + ty] = entry[a][tile];
            }
            if (ty == step) {
                APERTURE_UNROLL
                for (int b = 0; b < tiles; ++b) row[side * b + tx] = entry[tile][b];
            }
            __syncthreads();
            const int pivots_row = exchange ? find_pivot<T>(k, n, {column, 1, 0}) : k;
            if (core::thread_rank() == 0) rows[k] = pivots_row;
            if (pivots_row != k) {
                APERTURE_UNROLL
                for (int a = 0; a < tiles; ++a) {
                    if (side * a + ty != pivots_row) continue;
                    APERTURE_UNROLL
                    for (int b = 0; b < tiles; ++b) {
                        other_row[side * b + tx] = entry[a][b];
                        entry[a][b] = row[side * b + tx];
                    }
                }
                __syncthreads();
                if (ty == step) {
                    APERTURE_UNROLL
                    for (int b = 0; b < tiles; ++b) entry[tile][b] = other_row[side * b + tx];
                }
            }
            const T* const pivot_row = pivots_row != k ? other_row : row;
            const PivotReciprocal<T> reciprocal = accept_general_pivot(column[pivots_row], k, info);
            T of_row[tiles];
            APERTURE_UNROLL
            for (int b = tile; b < tiles; ++b) {
                of_row[b] = pivot_row[side * b + tx];
                if (gauss_jordan) of_row[b] = reciprocal.times(of_row[b]);
                const bool active = b > tile || tx > step;
                if (gauss_jordan && active && ty == step) entry[tile][b] = of_row[b];
                if (!active) of_row[b] = zero;
            }
            APERTURE_UNROLL
            for (int a = 0; a < tiles; ++a) {
                const int i = side * a + ty;
                if (gauss_jordan ? i == k : i <= k) continue;
                const T of_column = column[i == pivots_row ? k : i];
                const T factor = gauss_jordan ? of_column : reciprocal.times(of_column);
                APERTURE_UNROLL
                for (int b = tile; b < tiles; ++b) {
                    entry[a][b] = core::multiply_add(entry[a][b], -factor, of_row[b]);
                }
                if (tx == step && !gauss_jordan) entry[a][tile] = factor;
            }
        }
    }
    APERTURE_UNROLL
    for (int a = 0; a < tiles; ++a) {
        APERTURE_UNROLL
        for (int b = 0; b < tiles; ++b) {
            const int i = side * a + ty;
            const int j = side * b + tx;
            if (i < n && j < n) to(i, j) = entry[a][b];
        }
    }
    return info;
}

}  // namespace aperture::dense
