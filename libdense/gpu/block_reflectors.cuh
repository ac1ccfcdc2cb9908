// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// QR factorisation of a matrix that a block shares: one warp finds a panel's reflectors in
// registers (reflector_panel.cuh), then all warps apply them to the columns behind. All threads of
// the block must call, after a barrier, and wait before they use the factors.

#include "libdense/gpu/block_workspace.cuh"
#include "libdense/gpu/reflector_panel.cuh"

namespace aperture::dense {

/// A = Q R in place, reflectors below R; `tau` [n], `gram` and `triangle`
/// [panel_width][panel_width], and memory for a ReflectorPanel's column in shared memory.
template <int slots, class T, class Matrix>
__device__ __forceinline__ void factor_qr_in_block(int m, int n, Matrix a, T* tau, T* gram,
                                                   T* triangle, T* column_memory) {
    constexpr int most = panel_width<T>;
    // Quarters of a warp read without bank conflicts.
    constexpr int rows_at_once = sizeof(T) == 4 ? 2 : 4;
    constexpr int columns_at_once = 2;
    constexpr int lanes = 8;
    const int part = core::lane_rank() / lanes;
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (int first = 0; first < n; first += most) {
        const int behind = first + most;
        if (core::warp_rank() == 0) {
            ReflectorPanel<T, slots> panel(first, n, m);
            panel.load(a);
            panel.factor(tau, gram, column_memory);
            panel.store(a, triangle);
        }
        __syncthreads();
        // A quarter of a warp has a share of the rows; a thread two columns.
        APERTURE_NO_UNROLL
        for (int base = behind + core::warp_rank() * lanes * columns_at_once; base < n;
             base += warps * lanes * columns_at_once) {
            // Where there is no second column, the first one is computed twice.
            const int column = base + core::lane_rank() % lanes;
            const int distance = base + lanes < n ? lanes : 0;
            const auto for_each_row = [&](auto visit) {
                constexpr int at_once = 4 * rows_at_once;
                T* row = &a(first + part * rows_at_once, 0);
                int left = m - first;
                APERTURE_UNROLL_BY(2)
                for (; left >= at_once; left -= at_once, row += at_once * a.stride) {
                    APERTURE_UNROLL
                    for (int u = 0; u < rows_at_once; ++u) visit(row + u * a.stride);
                }
                APERTURE_UNROLL
                for (int u = 0; u < rows_at_once; ++u) {
                    if (part * rows_at_once + u < left) visit(row + u * a.stride);
                }
            };
            T y[most][columns_at_once];
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                APERTURE_UNROLL
                for (int b = 0; b < columns_at_once; ++b) y[k][b] = T(RealOf<T>(0));
            }
            for_each_row([&](const T* row) {
                const T entry[columns_at_once] = {row[column], row[column + distance]};
                T v[most];
                load_chunks(v, row + first);
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    APERTURE_UNROLL
                    for (int b = 0; b < columns_at_once; ++b) {
                        y[k][b] = core::multiply_add_conj(y[k][b], entry[b], v[k]);
                    }
                }
            });
            APERTURE_UNROLL
            for (int k = 0; k < most; ++k) {
                T products[most];
                load_chunks(products, gram + k * most);
                APERTURE_UNROLL
                for (int b = 0; b < columns_at_once; ++b) {
                    T sum = y[k][b];
                    sum = sum + core::exchange_xor(sum, lanes);
                    sum = sum + core::exchange_xor(sum, 2 * lanes);
                    APERTURE_UNROLL
                    for (int c = 0; c < k; ++c) {
                        sum = core::multiply_add(sum, -core::conj(products[c]), y[c][b]);
                    }
                    y[k][b] = sum * core::conj(tau[first + k]);
                }
            }
            for_each_row([&](T* row) {
                T entry[columns_at_once] = {row[column], row[column + distance]};
                T v[most];
                load_chunks(v, row + first);
                APERTURE_UNROLL
                for (int k = 0; k < most; ++k) {
                    APERTURE_UNROLL
                    for (int b = 0; b < columns_at_once; ++b) {
                        entry[b] = core::multiply_add(entry[b], -y[k][b], v[k]);
                    }
                }
                row[column] = entry[0];
                row[column + distance] = entry[1];
            });
        }
        __syncthreads();
        if (core::warp_rank() > 0) continue;
        for (int e = core::lane_rank(); e < most * most; e += core::warp_size) {
            const int row = e / most;
            const int column = e % most;
            if (row <= column && first + column < n) {
                a(first + row, first + column) = triangle[e];
            }
        }
    }
}

}  // namespace aperture::dense
