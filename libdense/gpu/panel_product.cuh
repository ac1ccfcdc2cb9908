// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products with a panel that a block subtracts from its matrix.

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

/// c(i, j) -= sum over k < panel_width of left(i)[k] right(j)[k], for rows [first_row, rows) and j
/// = column(0), ... column(columns - 1): load_left(c, i, row) and load_right(j, row) fill the
/// factors, by warps from `first_warp` on. A thread has 4 rows and 2 columns, 16 apart; the halves
/// of a warp share 8 rows.
template <class T, class Matrix, class Column, class LoadLeft, class LoadRight>
__device__ __forceinline__ void subtract_from_rows(int first_row, int rows, int columns,
                                                   int first_warp, Column column, const Matrix& c,
                                                   LoadLeft load_left, LoadRight load_right) {
    constexpr int most = panel_width<T>;
    constexpr int height = 4;
    constexpr int width = 2;
    constexpr int lanes = 16;
    const int half = core::lane_rank() / lanes;
    const int warps = core::block_threads() / core::warp_size - first_warp;
    APERTURE_NO_UNROLL
    for (int left = 0; left < columns; left += width * lanes) {
        const int j = left + core::lane_rank() % lanes;
        if (j >= columns) continue;
        const bool has_second = j + lanes < columns;
        const int at_column[width] = {column(j), column(has_second ? j + lanes : j)};
        APERTURE_NO_UNROLL
        for (int top = (core::warp_rank() - first_warp) * 2 * height; top < rows - first_row;
             top += warps * 2 * height) {
            const int row = first_row + top + half * height;
            if (row >= rows) continue;
            T sum[height][width];
            T of_left[height][most];
            T of_right[width][most];
            APERTURE_UNROLL
            for (int b = 0; b < width; ++b) load_right(at_column[b], of_right[b]);
            APERTURE_UNROLL
            for (int a = 0; a < height; ++a) {
                const int i = row + a < rows ? row + a : row;
                load_left(c, i, of_left[a]);
                APERTURE_UNROLL
                for (int b = 0; b < width; ++b) sum[a][b] = c(i, at_column[b]);
            }
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                APERTURE_UNROLL
                for (int a = 0; a < height; ++a) {
                    APERTURE_UNROLL
                    for (int b = 0; b < width; ++b) {
                        sum[a][b] = core::multiply_add(sum[a][b], -of_left[a][k], of_right[b][k]);
                    }
                }
            }
            APERTURE_UNROLL
            for (int a = 0; a < height; ++a) {
                if (row + a >= rows) continue;
                c(row + a, at_column[0]) = sum[a][0];
                if (has_second) c(row + a, at_column[1]) = sum[a][1];
            }
        }
    }
}

/// The same of a matrix whose first rows may be in scratch memory.
template <class T, class Matrix, class Column, class LoadLeft, class LoadRight>
__device__ __forceinline__ void subtract_panel_product(int first_row, int rows, int columns,
                                                       int first_warp, Column column,
                                                       const Matrix& c, LoadLeft load_left,
                                                       LoadRight load_right) {
    const int inside = c.first_inside();
    if (first_row < inside) {
        subtract_from_rows<T>(first_row, rows < inside ? rows : inside, columns, first_warp, column,
                              c, load_left, load_right);
        first_row = inside;
    }
    subtract_from_rows<T>(first_row, rows, columns, first_warp, column, c.inside(), load_left,
                          load_right);
}

}  // namespace aperture::dense
