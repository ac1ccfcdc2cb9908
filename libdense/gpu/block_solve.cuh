// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Building blocks of a Hermitian positive definite solve. The matrix is distributed over the
// registers of a block of 16 x 16 threads, 2-D cyclically:
//
//     entry[a][b] of thread (ty, tx) is entry (16 a + ty, 16 b + tx).
//
// The pivot loop is rolled, so that code size does not grow with the order; only tile numbers are
// compile-time. A step publishes the pivot's column and row in double-buffered shared memory: one
// barrier a step.
//
// Source: Anderson 2014, ch. 4 (2-D cyclic register distribution); Higham 2002, ch. 10 and 14.4.

#include "libdense/gpu/register_solve.cuh"

namespace aperture::dense {

inline constexpr int block_side = 16;

/// The shared buffers of published lines; `step` continues across sweeps.
template <class T>
struct PublishedLines {
    T* shared;  ///< two buffers of `elements`
    int column_elements;
    int elements;
    int step = 0;

    __device__ __forceinline__ T* column() const { return shared + (step & 1) * elements; }
    __device__ __forceinline__ T* row() const { return column() + column_elements; }
};

/// A thread's register tiles and its position in the block.
template <class T, int row_tiles, int column_tiles>
struct BlockEntries {
    T entry[row_tiles][column_tiles];
    int ty, tx;
};

/// Eliminates with the diagonal entries of the leading `pivot_tiles` x `pivot_tiles` tiles, up to
/// `order`; column tiles from `pivot_tiles` on are right-hand sides. Multipliers and pivots stay in
/// the columns they eliminate, L^H (unit diagonal) to the right of the diagonal. With `first_pass`
/// false, only the right-hand sides change, by the stored multipliers.
template <Elimination elimination, bool first_pass, int pivot_tiles, int row_tiles,
          int column_tiles, class T, class ReciprocalOf>
__device__ __forceinline__ void eliminate_in_block(BlockEntries<T, row_tiles, column_tiles>& tiles,
                                                   PublishedLines<T>& lines, int order,
                                                   ReciprocalOf reciprocal_of_pivot) {
    using R = RealOf<T>;
    const int ty = tiles.ty;
    const int tx = tiles.tx;
    APERTURE_UNROLL
    for (int tile = 0; tile < pivot_tiles; ++tile) {
        const int first_column = first_pass ? tile : pivot_tiles;
        const int steps =
            order - block_side * tile < block_side ? order - block_side * tile : block_side;
        APERTURE_NO_UNROLL
        for (int k = 0; k < steps; ++k) {
            T* column = lines.column();
            T* row = lines.row();
            if (tx == k) {
                APERTURE_UNROLL
                for (int a = 0; a < row_tiles; ++a) {
                    column[block_side * a + ty] = tiles.entry[a][tile];
                }
            }
            if (ty == k) {
                APERTURE_UNROLL
                for (int b = first_column; b < column_tiles; ++b) {
                    row[block_side * b + tx] = tiles.entry[tile][b];
                }
            }
            __syncthreads();
            ++lines.step;
            const T pivot = column[block_side * tile + k];
            const T reciprocal = pivot_reciprocal(
                pivot, reciprocal_of_pivot(block_side * tile + k, core::real_part(pivot)));
            T pivot_row[column_tiles] = {};
            APERTURE_UNROLL
            for (int b = first_column; b < column_tiles; ++b) {
                const bool active = b > tile || tx > k;
                const T scaled = row[block_side * b + tx] * reciprocal;
                pivot_row[b] = active ? -scaled : T(R(0));
                if (active && ty == k) tiles.entry[tile][b] = scaled;
            }
            APERTURE_UNROLL
            for (int a = elimination == Elimination::below ? tile : 0; a < row_tiles; ++a) {
                const bool cleared =
                    a != tile || (elimination == Elimination::below ? ty > k : ty != k);
                const T multiplier = cleared ? column[block_side * a + ty] : T(R(0));
                APERTURE_UNROLL
                for (int b = first_column; b < column_tiles; ++b) {
                    tiles.entry[a][b] =
                        core::multiply_add(tiles.entry[a][b], multiplier, pivot_row[b]);
                }
            }
        }
    }
}

/// After `eliminate_in_block<Elimination::below>`: X := L^-H X for the column tiles from
/// `row_tiles` on.
template <int row_tiles, int column_tiles, class T>
__device__ __forceinline__ void back_substitute_in_block(
    BlockEntries<T, row_tiles, column_tiles>& tiles, PublishedLines<T>& lines, int order) {
    using R = RealOf<T>;
    const int ty = tiles.ty;
    const int tx = tiles.tx;
    APERTURE_UNROLL
    for (int tile = row_tiles - 1; tile >= 0; --tile) {
        const int steps =
            order - block_side * tile < block_side ? order - block_side * tile : block_side;
        APERTURE_NO_UNROLL
        for (int k = steps - 1; k >= 0; --k) {
            T* column = lines.column();
            T* row = lines.row();
            if (tx == k) {
                APERTURE_UNROLL
                for (int a = 0; a <= tile; ++a) {
                    column[block_side * a + ty] = tiles.entry[a][tile];
                }
            }
            if (ty == k) {
                APERTURE_UNROLL
                for (int b = row_tiles; b < column_tiles; ++b) {
                    row[block_side * b + tx] = tiles.entry[tile][b];
                }
            }
            __syncthreads();
            ++lines.step;
            APERTURE_UNROLL
            for (int a = 0; a <= tile; ++a) {
                const T factor = a < tile || ty < k ? -column[block_side * a + ty] : T(R(0));
                APERTURE_UNROLL
                for (int b = row_tiles; b < column_tiles; ++b) {
                    tiles.entry[a][b] =
                        core::multiply_add(tiles.entry[a][b], factor, row[block_side * b + tx]);
                }
            }
        }
    }
}

}  // namespace aperture::dense
