// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A few columns of a matrix in the registers of one warp, and the steps that factor them without
// barriers: the panels of blocked factorisations. Source: Golub & Van Loan 2013, sections 3.2.11
// and 4.2.6.

#include <bit>

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

/// Columns [first, first + width) of a matrix of `rows` rows: entry[s][c] of lane l is entry (first
/// + 32 s + l, first + c). Where `wrap` is set, rows before `first` follow the last one, in a ring
/// of 32 slots rows. Entries beyond the matrix are zero.
template <class T, int slots>
struct WarpPanel {
    static constexpr int most = panel_width<T>;
    T entry[slots][most];
    int position[slots];  ///< offset to which exchanges have brought the row; negative if none
    int first;
    int width;
    int rows;

    __device__ __forceinline__ WarpPanel(int first_column, int columns, int all_rows)
        : first(first_column),
          width(columns - first_column < most ? columns - first_column : most),
          rows(all_rows) {
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) position[s] = exists(s) ? offset(s) : -1;
    }

    /// Of a row from `first` on.
    __device__ __forceinline__ static int offset(int slot) {
        return slot * core::warp_size + core::lane_rank();
    }
    __device__ __forceinline__ bool exists(int slot) const { return first + offset(slot) < rows; }

    /// Calls visit(row, slot) for the rows of this lane.
    template <bool wrap, class Visit>
    __device__ __forceinline__ void for_each_row(Visit visit) const {
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const int row = first + offset(s);
            const int in_ring = wrap ? row % (slots * core::warp_size) : row;
            if (in_ring < rows) visit(in_ring, s);
        }
    }
    template <bool wrap, class Matrix>
    __device__ __forceinline__ void load(const Matrix& a) {
        const T zero = T(RealOf<T>(0));
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) entry[s][c] = zero;
        }
        for_each_row<wrap>([&](int row, int s) {
            a.load_row(entry[s], row, first);
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) entry[s][c] = c < width ? entry[s][c] : zero;
        });
    }
    template <bool wrap, class Matrix>
    __device__ __forceinline__ void store(const Matrix& a) const {
        for_each_row<wrap>([&](int row, int s) {
            a.store_row(entry[s], exists(s) ? first + position[s] : row, first);
        });
    }

    /// Brings the pivot of `step`, the largest entry of its column from row `step` on, to that row,
    /// without moving it: of several the first, and row `step` if its entry is NaN. Returns the
    /// row where it was; lane 0 records it in `recorded`.
    __device__ __forceinline__ int exchange_pivot(int step, int* recorded) {
        using Bits =
            typename core::Conditional<sizeof(RealOf<T>) == 4, unsigned, unsigned long long>::Type;
        Bits bits[slots];
        Bits largest = 0;
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const RealOf<T> size = magnitude(entry[s][step]);
            const bool wanted = position[s] == step || (position[s] > step && size == size);
            bits[s] = wanted ? std::bit_cast<Bits>(size) : 0;
            largest = core::Maximum()(largest, bits[s]);
        }
        largest = core::warp_maximum(largest);
        unsigned first_of_them = ~0u;
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const bool wanted = bits[s] == largest && position[s] >= step;
            first_of_them =
                core::Minimum()(first_of_them, wanted ? static_cast<unsigned>(position[s]) : ~0u);
        }
        const auto row = static_cast<int>(core::warp_minimum(first_of_them));
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const int its = position[s];
            position[s] = its == row ? step : its == step ? row : its;
        }
        if (core::lane_rank() == 0) recorded[first + step] = first + row;
        return row;
    }
    /// Entries of the row in position `step`, in all lanes. It passes `memory`, in shared memory:
    /// two rows that take turns.
    __device__ __forceinline__ void load_row_at(int step, T* memory, T (&row)[most]) const {
        T* const its = memory + step % 2 * most;
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (position[s] == step) store_chunks(its, entry[s]);
        }
        __syncwarp();
        load_chunks(row, its);
    }
};

/// Calls visit(panel) with the panel at column `first` of a matrix of order n, in as few registers
/// as its rows need.
template <class T, int slots, class Visit>
__device__ __forceinline__ void visit_panel(int first, int n, Visit visit) {
    if constexpr (slots > 1) {
        if (n - first <= slots / 2 * core::warp_size) {
            visit_panel<T, slots / 2>(first, n, visit);
            return;
        }
    }
    visit(WarpPanel<T, slots>(first, n, n));
}

/// Eliminates below the panel's pivots: factors of L replace what they clear. Rows keep their
/// lanes. `pivot_rows` is of [2][panel_width] in shared memory.
template <bool exchange, class T, int slots>
__device__ __forceinline__ void factor_lu_panel(WarpPanel<T, slots>& panel, int* rows,
                                                T* pivot_rows, int& info) {
    constexpr int most = panel_width<T>;
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        if (exchange) panel.exchange_pivot(step, rows);
        T of_pivot[most];
        panel.load_row_at(step, pivot_rows, of_pivot);
        const PivotReciprocal<T> reciprocal =
            accept_general_pivot(of_pivot[step], panel.first + step, info);
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (panel.position[s] <= step) continue;
            panel.entry[s][step] = reciprocal.times(panel.entry[s][step]);
            APERTURE_UNROLL
            for (int c = step + 1; c < most; ++c) {
                panel.entry[s][c] =
                    core::multiply_add(panel.entry[s][c], -panel.entry[s][step], of_pivot[c]);
            }
        }
    }
}

/// What applies a panel of a Gauss-Jordan elimination to a column, in shared memory.
template <class T>
struct JordanPanel {
    int n;
    T* factors;  ///< [panel_width][n], those that clear a column above and below its pivot
    PivotReciprocal<T>* reciprocals;  ///< [panel_width]

    __device__ __forceinline__ T& factor(int row, int step) const {
        return factors[step * n + row];
    }
    /// Brings the factors to where the panel's rows are.
    template <int slots>
    __device__ __forceinline__ void exchange(const WarpPanel<T, slots>& panel) const {
        APERTURE_NO_UNROLL
        for (int k = 0; k < panel.width; ++k) {
            T its[slots];
            panel.template for_each_row<false>([&](int row, int s) { its[s] = factor(row, k); });
            __syncwarp();
            panel.template for_each_row<false>(
                [&](int, int s) { factor(panel.first + panel.position[s], k) = its[s]; });
        }
    }
};

/// Gauss-Jordan elimination of the panel. Its columns keep the pivots and the factors of
/// `applied`; with `invert` rows are exchanged, but not their factors, and they become those of the
/// inverse.
template <bool invert, class T, int slots>
__device__ __forceinline__ void eliminate_panel(WarpPanel<T, slots>& panel,
                                                const JordanPanel<T>& applied, int* rows,
                                                T* pivot_rows, int& info) {
    constexpr int most = panel_width<T>;
    const T zero = T(RealOf<T>(0));
    const T one = T(RealOf<T>(1));
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        if (invert) panel.exchange_pivot(step, rows);
        T of_pivot[most];
        panel.load_row_at(step, pivot_rows, of_pivot);
        const PivotReciprocal<T> reciprocal =
            accept_general_pivot(of_pivot[step], panel.first + step, info);
        if (core::lane_rank() == 0) applied.reciprocals[step] = reciprocal;
        panel.template for_each_row<true>(
            [&](int row, int s) { applied.factor(row, step) = panel.entry[s][step]; });
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) {
            of_pivot[c] = reciprocal.times(c == step ? one : of_pivot[c]);
        }
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const bool is_pivot = panel.position[s] == step;
            const T factor = panel.entry[s][step];
            if (invert) panel.entry[s][step] = zero;
            APERTURE_UNROLL
            for (int c = invert ? 0 : step + 1; c < most; ++c) {
                panel.entry[s][c] =
                    is_pivot ? of_pivot[c]
                             : core::multiply_add(panel.entry[s][c], -factor, of_pivot[c]);
            }
        }
    }
}

/// The panel of A = G G^H, of its lower triangle. A pivot that is not positive and finite
/// becomes 1. A lane adds at most one to its `pivots`.
template <class T, int slots>
__device__ __forceinline__ void factor_cholesky_panel(WarpPanel<T, slots>& panel,
                                                      Pivots<RealOf<T>>& pivots) {
    using R = RealOf<T>;
    constexpr int most = panel_width<T>;
    R own_pivot = R(1);
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        R pivot = core::real_part(core::broadcast(panel.entry[0][step], step));
        const bool diagonal = panel.offset(0) == step;
        own_pivot = diagonal ? pivot : own_pivot;
        if (!(pivot > R(0)) || pivot > largest_finite<R>) pivot = R(1);
        const R scale = reciprocal_root(pivot);
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) panel.entry[s][step] = panel.entry[s][step] * scale;
        panel.entry[0][step] = diagonal ? T(pivot * scale) : panel.entry[0][step];
        APERTURE_UNROLL
        for (int c = step + 1; c < most; ++c) {
            const T factor = core::conj(core::broadcast(panel.entry[0][step], c));
            APERTURE_UNROLL
            for (int s = 0; s < slots; ++s) {
                panel.entry[s][c] =
                    core::multiply_add(panel.entry[s][c], -panel.entry[s][step], factor);
            }
        }
    }
    if (panel.offset(0) < panel.width) pivots.add(panel.first + panel.offset(0), own_pivot);
}

/// Those of all lanes.
template <class R>
__device__ __forceinline__ Pivots<R> pivots_of_warp(const Pivots<R>& own) {
    return {static_cast<int>(core::warp_minimum(static_cast<unsigned>(own.info) - 1u) + 1u),
            core::warp_reduce(own.smallest, core::Minimum()),
            core::warp_reduce(own.largest, core::Maximum())};
}

}  // namespace aperture::dense
