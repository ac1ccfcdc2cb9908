// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of C in batched products: what a thread or a warp has of them in registers, and how it adds
// products of panels in shared memory.

#include "libdense/gpu/operand_panels.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {

/// A panel of op(A) or op(B) in shared memory, [line][depth] with these strides.
template <class T>
struct ProductPanel {
    const T* data;
    int line, depth;
};

/// The tiles of a block's part of C.
struct TileGrid {
    int rows;
    FastDivider columns;
    int pair_bits;  ///< 1: neighbouring threads alternate between two rows of tiles
};

/// A thread's entries of C: chunks of 16 bytes that are a chunk of every other thread apart. A warp
/// that alternates between two rows loads 16 different bytes by two threads each, which costs half
/// of the cycles. `by_depth`: chunks of A in shared memory are along the depth, otherwise along
/// lines.
template <class T, bool by_depth, bool large = false>
struct ThreadTile {
    static constexpr tuning::ProductShape shape =
        large ? tuning::large_tiles : tuning::small_product<T>;
    static constexpr int width = chunk_entries<T>;
    static constexpr int rows = shape.rows, columns = shape.columns;
    static_assert(rows % width == 0 && columns % width == 0);

    int first_row, first_column, row_distance, column_distance;
    T sum[rows][columns] = {};

    __device__ __forceinline__ ThreadTile(int own, const TileGrid& grid) {
        const int pair = own >> grid.pair_bits;
        const int row = grid.columns.quotient(pair);
        first_row = ((row << grid.pair_bits) + (own & ((1 << grid.pair_bits) - 1))) * width;
        first_column = (pair - row * grid.columns.size()) * width;
        row_distance = grid.rows * width;
        column_distance = grid.columns.size() * width;
    }

    /// Adds A B for `steps` of the depth; with `by_depth` whole chunks of them.
    __device__ __forceinline__ void add(const ProductPanel<T>& a, const ProductPanel<T>& b,
                                        int steps) {
        constexpr int at_once = by_depth ? width : 1;
        const T* right_at = b.data + first_column;
        const T* left_at[by_depth ? rows / width : 1];
        APERTURE_UNROLL
        for (int i = 0; i < (by_depth ? rows / width : 1); ++i) {
            left_at[i] = a.data + (first_row + i * row_distance) * a.line;
        }
        APERTURE_UNROLL_BY((by_depth ? 1 : 4))
        for (int s = 0; s < steps; s += at_once) {
            T left[rows][at_once];
            if constexpr (by_depth) {
                APERTURE_UNROLL
                for (int i = 0; i < rows; ++i) {
                    load_chunks(left[i], left_at[i / width] + i % width * a.line);
                }
                APERTURE_UNROLL
                for (int i = 0; i < rows / width; ++i) left_at[i] += width;
            } else {
                T column[rows];
                load_chunks(column, left_at[0], row_distance);
                APERTURE_UNROLL
                for (int i = 0; i < rows; ++i) left[i][0] = column[i];
                left_at[0] += a.depth;
            }
            APERTURE_UNROLL
            for (int k = 0; k < at_once; ++k) {
                T right[columns];
                load_chunks(right, right_at, column_distance);
                right_at += b.depth;
                APERTURE_UNROLL
                for (int i = 0; i < rows; ++i) {
                    APERTURE_UNROLL
                    for (int j = 0; j < columns; ++j) {
                        sum[i][j] = core::multiply_add(sum[i][j], left[i][k], right[j]);
                    }
                }
            }
        }
    }

    /// Calls visit(row, column, chunk) for all chunks of the tile, which are along rows.
    template <class Visit>
    __device__ __forceinline__ void for_each_chunk(const Visit& visit) const {
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < columns; j += width) {
                Chunk<T> chunk;
                APERTURE_UNROLL
                for (int e = 0; e < width; ++e) chunk.entry[e] = sum[i][j + e];
                visit(first_row + i / width * row_distance + i % width,
                      first_column + j / width * column_distance, chunk);
            }
        }
    }
};

}  // namespace aperture::dense
