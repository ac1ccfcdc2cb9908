// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows that a factorisation of a matrix in a block exchanges.

#include "libdense/gpu/block_workspace.cuh"
#include "libdense/gpu/warp_panel.cuh"

namespace aperture::dense {

/// The exchanges of rows in a factorisation, in shared memory.
template <class T>
struct RowExchanges {
    static constexpr int most = panel_width<T>;
    T* pivot_rows;  ///< [2][panel_width], for the steps of a panel
    int* from;      ///< [panel_width] rows that the last panel has brought to its first rows
    int* to;        ///< [panel_width] where those that were there are now
    int* order;     ///< [n] rows of A where they are now
    int* rows;      ///< [n + 1] the exchanged rows, and info

    /// Of `bytes` at `memory`.
    __device__ __forceinline__ RowExchanges(T* memory, int n)
        : pivot_rows(memory),
          from(reinterpret_cast<int*>(memory + 2 * most)),
          to(from + most),
          order(to + most),
          rows(order + n) {}
    APERTURE_HD static constexpr int bytes(int n) {
        return 2 * most * static_cast<int>(sizeof(T)) + index_bytes(2 * most + 2 * n + 1);
    }

    __device__ __forceinline__ void clear(int n) const {
        for (int i = core::thread_rank(); i < n; i += core::block_threads()) {
            order[i] = i;
            rows[i] = i;
        }
    }
    /// Records where the panel's rows are, by its warp.
    template <int slots>
    __device__ __forceinline__ void record(const WarpPanel<T, slots>& panel) const {
        int its[slots];
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const int row = panel.first + panel.offset(s);
            its[s] = panel.exists(s) ? order[row] : 0;
        }
        __syncwarp();
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (!panel.exists(s)) continue;
            const int row = panel.first + panel.offset(s);
            const int now = panel.first + panel.position[s];
            order[now] = its[s];
            if (panel.offset(s) < panel.width) to[panel.offset(s)] = now;
            if (panel.position[s] < panel.width) from[panel.position[s]] = row;
        }
    }
    /// The entries of column j in the rows of a panel after its exchanges in the whole column.
    template <class Matrix>
    __device__ __forceinline__ void exchange(const Matrix& a, int first, int width, int j,
                                             T (&entry)[most]) const {
        T before[most];
        int its_from[most];
        int its_to[most];
        load_chunks(its_from, from);
        load_chunks(its_to, to);
        APERTURE_UNROLL
        for (int s = 0; s < most; ++s) {
            if (s >= width) continue;
            before[s] = a(first + s, j);
            entry[s] = a(its_from[s], j);
        }
        APERTURE_UNROLL
        for (int s = 0; s < most; ++s) {
            if (s < width && its_to[s] >= first + width) a(its_to[s], j) = before[s];
        }
    }
};

/// Factors the panel of LU factors at column `first`, by one warp.
template <int slots, class T, class Matrix>
__device__ __forceinline__ void factor_lu_panel_of(bool exchange, int first, int n, const Matrix& a,
                                                   const RowExchanges<T>& exchanges, int& info) {
    visit_panel<T, slots>(first, n, [&](auto panel) {
        panel.template load<false>(a);
        if (exchange) {
            factor_lu_panel<true>(panel, exchanges.rows, exchanges.pivot_rows, info);
            exchanges.record(panel);
        } else {
            factor_lu_panel<false>(panel, exchanges.rows, exchanges.pivot_rows, info);
        }
        panel.template store<false>(a);
    });
}

}  // namespace aperture::dense
