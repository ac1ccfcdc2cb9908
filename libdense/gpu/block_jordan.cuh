// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gauss-Jordan elimination of a matrix that a block shares: one warp eliminates a panel in
// registers (warp_panel.cuh), then all warps apply it to all columns that it changes. All threads
// of the block must call, after a barrier, and wait before they use the factors.

#include "libdense/gpu/panel_product.cuh"
#include "libdense/gpu/row_exchanges.cuh"

namespace aperture::dense {

/// Gauss-Jordan elimination in place. Column k keeps the factors that clear it, but on the diagonal
/// the pivot. With `invert` rows are exchanged, and the matrix becomes (P A)^-1. `pivot_rows` is of
/// [panel_width][n], in shared memory.
template <int slots, bool invert, class T, class Matrix>
__device__ __forceinline__ void eliminate_in_block(Matrix a, const JordanPanel<T>& applied,
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
            eliminate_panel<invert>(panel, applied, exchanges.rows, exchanges.pivot_rows, info);
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
        subtract_panel_product<T>(
            0, n, before + n - behind, 0,
            [&](int j) { return j < before ? j : j - before + behind; }, a,
            [&](const auto&, int i, auto& row) {
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
