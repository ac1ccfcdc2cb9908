// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rows that a factorisation of a matrix in a block exchanges.

#include "libdense/gpu/warp_panel.cuh"

namespace aperture::dense {

/// The exchanges of rows in a factorisation, in shared memory.
template <class T>
struct RowExchanges {
    static constexpr int most = panel_width<T>;
    int* from;   ///< [panel_width] rows that the last panel has brought to its first rows
    int* to;     ///< [panel_width] where those that were there are now
    int* order;  ///< [n] rows of A where they are now
    int* rows;   ///< [n + 1] the exchanged rows, and info

    /// Of `words` numbers at `memory`.
    __device__ __forceinline__ RowExchanges(int* memory, int n)
        : from(memory), to(memory + most), order(memory + 2 * most), rows(order + n) {}
    APERTURE_HD static constexpr int words(int n) { return 2 * most + 2 * n + 1; }

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
    __device__ __forceinline__ void exchange(const PanelMatrix<T>& a, int first, int width, int j,
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

}  // namespace aperture::dense
