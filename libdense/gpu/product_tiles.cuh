// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tiles of C in batched products: what a thread or a warp has of them in registers, and how it adds
// products of panels in shared memory.

#include "libcore/gpu/tensor_core_fp64.cuh"
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
template <class T, bool large, bool by_depth>
struct ThreadTile {
    static constexpr tuning::ProductShape shape =
        large ? tuning::large_product<T> : tuning::small_product<T>;
    static constexpr int width = chunk_entries<T>;
    static constexpr int rows = shape.rows, columns = shape.columns;
    static constexpr int lanes = 1;
    static_assert(rows % width == 0 && columns % width == 0);
    static constexpr int panel_stride(int entries, bool) { return chunked_stride<T>(entries); }

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

/// A warp's entries of C in fp64 on tensor cores: products of 16 x 8 real or 8 x 8 complex numbers.
/// The latter have real and imaginary parts of A as 16 rows, which are multiplied with real parts
/// of B and, turned by i, with imaginary ones.
template <class T>
struct WarpProductTile {
    static constexpr tuning::ProductShape shape = tuning::large_product<T>;
    static constexpr bool complex = core::is_complex<T>;
    static constexpr int rows = shape.rows, columns = shape.columns;
    static constexpr int lanes = core::warp_size;
    static constexpr int product_rows = complex ? 8 : 16, product_columns = 8;
    static constexpr int row_products = rows / product_rows;
    static constexpr int column_products = columns / product_columns;
    /// Eight lines and four steps are in different banks.
    static constexpr int panel_stride(int entries, bool along_depth) {
        const int rest = complex && !along_depth ? 2 : 4;
        return (entries + 7 - rest) / 8 * 8 + rest;
    }

    int first_row, first_column;
    double sum[row_products][column_products][4] = {};

    __device__ __forceinline__ WarpProductTile(int own, const TileGrid& grid) {
        const int warp = own / lanes;
        const int row = grid.columns.quotient(warp);
        first_row = row * rows;
        first_column = (warp - row * grid.columns.size()) * columns;
    }

    /// Adds A B for `steps` of the depth.
    __device__ __forceinline__ void add(const ProductPanel<T>& a, const ProductPanel<T>& b,
                                        int steps) {
        const int lane = core::lane_rank();
        const T* left_at = a.data + (first_row + lane / 4) * a.line + lane % 4 * a.depth;
        const T* right_at = b.data + (first_column + lane / 4) * b.line + lane % 4 * b.depth;
        const auto add_eight = [&](int left_steps) {
            Slice upper[row_products], lower[row_products];
            APERTURE_UNROLL
            for (int i = 0; i < row_products; ++i) {
                const T* const its = left_at + product_rows * i * a.line;
                upper[i] = load(its, a.depth, left_steps);
                if constexpr (complex) {
                    lower[i] = {{{-upper[i].im.v[0], -upper[i].im.v[1]}}, upper[i].re};
                } else {
                    lower[i] = load(its + 8 * a.line, a.depth, left_steps);
                }
            }
            APERTURE_UNROLL
            for (int j = 0; j < column_products; ++j) {
                const Slice right =
                    load(right_at + product_columns * j * b.line, b.depth, left_steps);
                APERTURE_UNROLL
                for (int i = 0; i < row_products; ++i) {
                    if constexpr (complex) {
                        core::multiply_add<4>(sum[i][j], upper[i].re, upper[i].im, right.re);
                        core::multiply_add<4>(sum[i][j], lower[i].re, lower[i].im, right.im);
                    } else {
                        core::multiply_add(sum[i][j], upper[i].re, lower[i].re, right.re);
                    }
                }
            }
            left_at += 8 * a.depth;
            right_at += 8 * b.depth;
        };
        APERTURE_NO_UNROLL
        for (; steps >= 8; steps -= 8) add_eight(8);
        if (steps > 0) add_eight(steps - lane % 4);
    }

    template <class Visit>
    __device__ __forceinline__ void for_each_chunk(const Visit& visit) const {
        const int lane = core::lane_rank();
        APERTURE_UNROLL
        for (int i = 0; i < row_products; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < column_products; ++j) {
                const int row = first_row + product_rows * i + lane / 4;
                const int column = first_column + product_columns * j + lane % 4 * 2;
                const auto& its = sum[i][j];
                if constexpr (complex) {
                    visit(row, column, Chunk<T>{{{its[0], its[2]}}});
                    visit(row, column + 1, Chunk<T>{{{its[1], its[3]}}});
                } else {
                    visit(row, column, Chunk<T>{{its[0], its[1]}});
                    visit(row + 8, column, Chunk<T>{{its[2], its[3]}});
                }
            }
        }
    }

  private:
    struct Slice {
        core::Fp64Slice re, im;  ///< im of complex numbers alone
    };
    /// Steps 0 and 4 from `from` on; zeros where the panel has only `left` of them.
    __device__ __forceinline__ static Slice load(const T* from, int depth, int left) {
        Slice slice;
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) {
            const T value = 4 * i < left ? from[4 * i * depth] : T(0.0);
            slice.re.v[i] = core::real_part(value);
            if constexpr (complex) slice.im.v[i] = value.im;
        }
        return slice;
    }
};

}  // namespace aperture::dense
