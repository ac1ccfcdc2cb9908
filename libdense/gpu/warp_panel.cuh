// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A few columns of a matrix in the registers of one warp, and the steps that factor them without
// barriers: the panels of blocked factorisations. Source: Golub & Van Loan 2013, sections 3.2.11
// and 4.2.6.

#include "libdense/gpu/block_matrix.cuh"
#include "libdense/gpu/reflector.cuh"

namespace aperture::dense {

/// Columns [first, first + width) of a matrix of `rows` rows: entry[s][c] of lane l is entry (first
/// + 32 s + l, first + c). Where `wrap` is set, rows before `first` follow the last one, in a ring
/// of 32 slots rows. Entries beyond the matrix are zero.
template <class T, int slots>
struct WarpPanel {
    static constexpr int most = panel_width<T>;
    T entry[slots][most];
    int first;
    int width;
    int rows;

    __device__ __forceinline__ WarpPanel(int first_column, int columns, int all_rows)
        : first(first_column),
          width(columns - first_column < most ? columns - first_column : most),
          rows(all_rows) {}

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
    template <bool wrap>
    __device__ __forceinline__ void load(const PanelMatrix<T>& a) {
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
    template <bool wrap>
    __device__ __forceinline__ void store(const PanelMatrix<T>& a) const {
        for_each_row<wrap>([&](int row, int s) { a.store_row(entry[s], row, first); });
    }

    /// Exchanges rows first + upper, with upper < 32, and first + lower.
    __device__ __forceinline__ void exchange_rows(int upper, int lower) {
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) {
            T mine = entry[0][c];
            APERTURE_UNROLL
            for (int s = 1; s < slots; ++s) {
                if (lower / core::warp_size == s) mine = entry[s][c];
            }
            const T from_lower = core::broadcast(mine, lower % core::warp_size);
            const T from_upper = core::broadcast(entry[0][c], upper);
            APERTURE_UNROLL
            for (int s = 0; s < slots; ++s) {
                if (offset(s) == lower) entry[s][c] = from_upper;
            }
            if (offset(0) == upper) entry[0][c] = from_lower;
        }
    }

    /// The offset of the row from `step` on with the largest entry of column `step`: the first of
    /// several, `step` if none is larger than an entry that is NaN.
    __device__ __forceinline__ int find_pivot(int step) const {
        using R = RealOf<T>;
        R largest = R(0);
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) {
            if (c == step) largest = core::broadcast(magnitude(entry[0][c]), step);
        }
        int pivot = step;
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            R here = R(0);
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) {
                if (c == step) here = magnitude(entry[s][c]);
            }
            if (exists(s) && offset(s) > step && here > largest) {
                largest = here;
                pivot = offset(s);
            }
        }
        APERTURE_UNROLL
        for (int distance = core::warp_size / 2; distance > 0; distance /= 2) {
            const R its_largest = core::exchange_xor(largest, distance);
            const int its_pivot = core::exchange_xor(pivot, distance);
            if (its_largest > largest || (its_largest == largest && its_pivot < pivot)) {
                largest = its_largest;
                pivot = its_pivot;
            }
        }
        return pivot;
    }
    /// Brings the pivot of `step` to its row if `exchange`, and returns the offset where it was;
    /// lane 0 records its row in `recorded`.
    __device__ __forceinline__ int exchange_pivot(int step, bool exchange, int* recorded) {
        const int pivot = exchange ? find_pivot(step) : step;
        if (core::lane_rank() == 0) recorded[first + step] = first + pivot;
        if (pivot != step) exchange_rows(step, pivot);
        return pivot;
    }
};

/// Eliminates below the panel's pivots: factors of L replace what they clear. Lane 0 records the
/// exchanged rows in `rows`.
template <class T, int slots>
__device__ __forceinline__ void factor_lu_panel(WarpPanel<T, slots>& panel, bool exchange,
                                                int* rows, int& info) {
    constexpr int most = panel_width<T>;
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        panel.exchange_pivot(step, exchange, rows);
        T of_pivot[most];
        APERTURE_UNROLL
        for (int c = step; c < most; ++c) of_pivot[c] = core::broadcast(panel.entry[0][c], step);
        const PivotReciprocal<T> reciprocal =
            accept_general_pivot(of_pivot[step], panel.first + step, info);
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (s == 0 && panel.offset(s) <= step) continue;
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
};

/// Gauss-Jordan elimination of the panel. Its columns keep the pivots and the factors of
/// `applied`; with `invert` rows are exchanged and they become those of the inverse.
template <bool invert, class T, int slots>
__device__ __forceinline__ void eliminate_panel(WarpPanel<T, slots>& panel,
                                                const JordanPanel<T>& applied, int* rows,
                                                int& info) {
    constexpr int most = panel_width<T>;
    const T zero = T(RealOf<T>(0));
    const T one = T(RealOf<T>(1));
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        const int from = panel.exchange_pivot(step, invert, rows);
        if (from != step) {
            __syncwarp();
            const int k = core::lane_rank();
            if (k < step) {
                const T upper = applied.factor(panel.first + step, k);
                applied.factor(panel.first + step, k) = applied.factor(panel.first + from, k);
                applied.factor(panel.first + from, k) = upper;
            }
            __syncwarp();
        }
        const T pivot = core::broadcast(panel.entry[0][step], step);
        const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot, panel.first + step, info);
        if (core::lane_rank() == 0) applied.reciprocals[step] = reciprocal;
        panel.template for_each_row<true>(
            [&](int row, int s) { applied.factor(row, step) = panel.entry[s][step]; });
        T of_pivot[most];
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) {
            of_pivot[c] =
                reciprocal.times(c == step ? one : core::broadcast(panel.entry[0][c], step));
        }
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const bool is_pivot = s == 0 && panel.offset(s) == step;
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
/// becomes 1.
template <class T, int slots>
__device__ __forceinline__ void factor_cholesky_panel(WarpPanel<T, slots>& panel,
                                                      Pivots<RealOf<T>>& pivots) {
    using R = RealOf<T>;
    constexpr int most = panel_width<T>;
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        R pivot = core::real_part(core::broadcast(panel.entry[0][step], step));
        pivots.add(panel.first + step, pivot);
        if (!(pivot > R(0)) || pivot > largest_finite<R>) pivot = R(1);
        const R root = sqrt(pivot);
        const R scale = R(1) / root;
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) panel.entry[s][step] = panel.entry[s][step] * scale;
        if (panel.offset(0) == step) panel.entry[0][step] = T(root);
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
}

/// The panel of A = Q R. Lane 0 stores the factors `tau` [rows of R] and the products `gram`[c,
/// step], c < step, of reflectors, v_c^H v_step.
template <class T, int slots>
__device__ __forceinline__ void factor_qr_panel(WarpPanel<T, slots>& panel, T* tau, T* gram) {
    using R = RealOf<T>;
    constexpr int most = panel_width<T>;
    APERTURE_UNROLL
    for (int step = 0; step < most; ++step) {
        if (step >= panel.width) break;
        // Products of the column's part below the diagonal: with itself, with reflectors before
        // and columns behind.
        R below = R(0);
        T product[most];
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) product[c] = T(R(0));
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (s == 0 && panel.offset(s) <= step) continue;
            const T entry = panel.entry[s][step];
            below = core::add_norm(below, entry);
            APERTURE_UNROLL
            for (int c = 0; c < most; ++c) {
                if (c == step) continue;
                product[c] = c < step
                                 ? core::multiply_add_conj(product[c], entry, panel.entry[s][c])
                                 : core::multiply_add_conj(product[c], panel.entry[s][c], entry);
            }
        }
        below = core::warp_reduce(below);
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) {
            if (c != step) product[c] = core::warp_reduce(product[c]);
        }
        const Reflector<T> reflector =
            make_reflector(core::broadcast(panel.entry[0][step], step), below);
        T share[most];
        APERTURE_UNROLL
        for (int c = 0; c < most; ++c) {
            share[c] = T(R(0));
            if (c == step) continue;
            const T on_diagonal = core::broadcast(panel.entry[0][c], step);
            if (c < step) {
                const T whole = core::conj(on_diagonal) + product[c] * reflector.factor;
                if (core::lane_rank() == 0) gram[c * most + step] = whole;
            } else {
                share[c] = core::conj(reflector.tau) *
                           (on_diagonal + product[c] * core::conj(reflector.factor));
            }
        }
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            if (s == 0 && panel.offset(s) < step) continue;
            const bool diagonal = s == 0 && panel.offset(s) == step;
            const T v = diagonal ? T(R(1)) : panel.entry[s][step] * reflector.factor;
            panel.entry[s][step] = diagonal ? T(reflector.beta) : v;
            APERTURE_UNROLL
            for (int c = step + 1; c < most; ++c) {
                panel.entry[s][c] = core::multiply_add(panel.entry[s][c], -share[c], v);
            }
        }
        if (core::lane_rank() == 0) tau[panel.first + step] = reflector.tau;
    }
}

}  // namespace aperture::dense
