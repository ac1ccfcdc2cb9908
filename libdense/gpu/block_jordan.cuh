// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gauss-Jordan elimination of a matrix that a block shares: one warp eliminates a panel in
// registers (warp_panel.cuh), then all warps apply it to all columns that it changes. All threads
// of the block must call, after a barrier, and wait before they use the factors.

#include "libdense/gpu/row_exchanges.cuh"

namespace aperture::dense {

/// c(i, j) -= sum over k < panel_width of left(i)[k] right(j)[k], for rows [first_row, rows) and j
/// = column(0), ... column(columns - 1): load_left(i, row) and load_right(j, row) fill the factors.
/// A thread has 4 rows and 2 columns, 16 apart; the halves of a warp share 8 rows.
template <class T, class Column, class LoadLeft, class LoadRight>
__device__ __forceinline__ void subtract_panel_product(int first_row, int rows, int columns,
                                                       Column column, const PanelMatrix<T>& c,
                                                       LoadLeft load_left, LoadRight load_right) {
    constexpr int most = panel_width<T>;
    constexpr int height = 4;
    constexpr int width = 2;
    constexpr int lanes = 16;
    const int half = core::lane_rank() / lanes;
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (int left = 0; left < columns; left += width * lanes) {
        const int j = left + core::lane_rank() % lanes;
        if (j >= columns) continue;
        const bool has_second = j + lanes < columns;
        const int at_column[width] = {column(j), column(has_second ? j + lanes : j)};
        APERTURE_NO_UNROLL
        for (int top = core::warp_rank() * 2 * height; top < rows - first_row;
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
                load_left(i, of_left[a]);
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

/// Gauss-Jordan elimination in place. Column k keeps the factors that clear it, but on the diagonal
/// the pivot. With `invert` rows are exchanged, and the matrix becomes (P A)^-1. `pivot_rows` is of
/// [panel_width][n], in shared memory.
template <int slots, bool invert, class T>
__device__ __forceinline__ void eliminate_in_block(PanelMatrix<T> a, const JordanPanel<T>& applied,
                                                   const RowExchanges<T>& exchanges,
                                                   T* pivot_rows) {
    constexpr int most = panel_width<T>;
    const int n = applied.n;
    const T zero = T(RealOf<T>(0));
    int info = 0;
    exchanges.clear(n);
    __syncthreads();
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        WarpPanel<T, slots> panel(first, n, n);
        const int width = panel.width;
        if (core::warp_rank() == 0) {
            panel.template load<true>(a);
            eliminate_panel<invert>(panel, applied, exchanges.rows, info);
            panel.template store<true>(a);
            if (invert) {
                applied.exchange(panel);
                exchanges.record(panel);
            }
        }
        __syncthreads();
        const int behind = first + width;
        for (int j = core::thread_rank(); j < n; j += core::block_threads()) {
            if (j < behind && (j >= first || !invert)) continue;
            T entry[most];
            if (invert) {
                exchanges.exchange(a, first, width, j, entry);
            } else {
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    if (k < width) entry[k] = a(first + k, j);
                }
            }
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                if (k >= width) {
                    pivot_rows[k * n + j] = zero;
                    continue;
                }
                const T solved = applied.reciprocals[k].times(entry[k]);
                pivot_rows[k * n + j] = solved;
                APERTURE_UNROLL
                for (int t = 0; t < most; ++t) {
                    if (t >= width) continue;
                    entry[t] = t == k ? solved
                                      : core::multiply_add(entry[t], -applied.factor(first + t, k),
                                                           solved);
                }
            }
            APERTURE_UNROLL
            for (int t = 0; t < most; ++t) {
                if (t < width) a(first + t, j) = entry[t];
            }
        }
        __syncthreads();
        const int before = invert ? first : 0;
        subtract_panel_product(
            0, n, before + n - behind, [&](int j) { return j < before ? j : j - before + behind; },
            a,
            [&](int i, T(&row)[most]) {
                const bool own = i >= first && i < behind;
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    row[k] = own || k >= width ? zero : applied.factor(i, k);
                }
            },
            [&](int j, T(&row)[most]) {
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) row[k] = pivot_rows[k * n + j];
            });
        __syncthreads();
    }
    if (core::thread_rank() == 0) exchanges.rows[n] = info;
}

}  // namespace aperture::dense
