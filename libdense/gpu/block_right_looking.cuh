// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// LU factorisation of a large matrix that a block shares: all threads bring a panel up to date by
// the one before and exchange rows, then one warp factors it, while the others subtract the product
// of the one before from what is behind it. With a warp for each scheduler or more this is faster
// than looking left (block_left_looking.cuh), where threads without a row or column wait, although
// entries are loaded and stored once a panel.

#include "libdense/gpu/block_left_looking.cuh"
#include "libdense/gpu/panel_product.cuh"

namespace aperture::dense {

/// P A = L U in place, with the exchanged rows and info. All threads of the block must call, after
/// a barrier, and wait before they use the factors.
template <int slots, class T, class Matrix>
__device__ __forceinline__ void factor_lu_looking_right(bool exchange, int n, Matrix a,
                                                        const RowExchanges<T>& exchanges) {
    constexpr int most = panel_width<T>;
    constexpr int at_once = chunk_entries<T>;
    const int first_warp = core::block_threads() > core::warp_size ? 1 : 0;
    int info = 0;
    exchanges.clear(n);
    __syncthreads();
    if (core::warp_rank() == 0) factor_lu_panel_of<slots>(exchange, 0, n, a, exchanges, info);
    __syncthreads();
    APERTURE_NO_UNROLL
    for (int first = 0;; first += most) {
        const int behind = first + most;
        const int width = n - first < most ? n - first : most;
        // Exchanges in all other columns, and the panel's rows of U.
        for (int j = core::thread_rank(); j < n; j += core::block_threads()) {
            if (j < behind && (j >= first || !exchange)) continue;
            T entry[most];
            if (exchange) {
                exchanges.exchange(a, first, width, j, entry);
            } else {
                APERTURE_UNROLL
                for (int c = 0; c < most; ++c) entry[c] = a(first + c, j);
            }
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) {
                if (c >= width) continue;
                if (j >= behind) {
                    T row[most];
                    a.load_row(row, first + c, first);
                    APERTURE_UNROLL
                    for (int t = 0; t < c; ++t) {
                        entry[c] = core::multiply_add(entry[c], -row[t], entry[t]);
                    }
                }
                a(first + c, j) = entry[c];
            }
        }
        __syncthreads();
        if (behind >= n) break;
        update_panel<T>(behind, n, behind, first, behind, 0, a,
                        [&](int k, T(&common)[at_once][most]) {
                            APERTURE_UNROLL
                            for (int e = 0; e < at_once; ++e) a.load_row(common[e], k + e, behind);
                        });
        __syncthreads();
        if (core::warp_rank() == 0) {
            factor_lu_panel_of<slots>(exchange, behind, n, a, exchanges, info);
        }
        if (core::warp_rank() >= first_warp) {
            const int next = behind + most;
            subtract_panel_product<T>(
                behind, n, n - next, first_warp, [&](int j) { return next + j; }, a,
                [&](const auto& part, int i, auto& row) { part.load_row(row, i, first); },
                [&](int j, T(&column)[most]) {
                    APERTURE_UNROLL
                    for (int k = 0; k < most; ++k) column[k] = a(first + k, j);
                });
        }
        __syncthreads();
    }
    if (core::thread_rank() == 0) exchanges.rows[n] = info;
}

}  // namespace aperture::dense
