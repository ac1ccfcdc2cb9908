// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A vector in the registers of a warp, and what triangular matrices and reflectors do to it.

#include "libdense/gpu/block_workspace.cuh"

namespace aperture::dense {

/// Entry i is entry[i / 32] of lane i % 32.
template <class T, int slots>
struct WarpVector {
    T entry[slots];

    /// Calls visit(i, entry) for the entries in [first, last) of this lane.
    template <class Visit>
    __device__ __forceinline__ void for_each(int first, int last, Visit visit) {
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const int i = s * core::warp_size + core::lane_rank();
            if (i >= first && i < last) visit(i, entry[s]);
        }
    }
    /// Entry i, in all lanes.
    __device__ __forceinline__ T at(int i) const {
        T mine = entry[0];
        APERTURE_UNROLL
        for (int s = 1; s < slots; ++s) {
            if (i / core::warp_size == s) mine = entry[s];
        }
        return core::broadcast(mine, i % core::warp_size);
    }
};

/// Reciprocals of a matrix's diagonal.
template <class T, int slots>
struct DiagonalReciprocals {
    PivotReciprocal<T> entry[slots];

    template <class Matrix>
    __device__ __forceinline__ DiagonalReciprocals(int n, const Matrix& a) {
        APERTURE_UNROLL
        for (int s = 0; s < slots; ++s) {
            const int i = s * core::warp_size + core::lane_rank();
            entry[s] = i < n ? reciprocal_of_pivot(a(i, i)) : PivotReciprocal<T>{};
        }
    }
};

/// Entries (i, k), (i, k + 1), ... of a matrix of n columns.
template <int count, class T, class Matrix>
__device__ __forceinline__ void load_entries(T (&to)[count], int n, const Matrix& a, int i, int k) {
    APERTURE_UNROLL
    for (int e = 0; e < count; ++e) to[e] = k + e < n ? a(i, k + e) : T(RealOf<T>(0));
}
template <int count, class T, class Lines, MatrixPlace place>
__device__ __forceinline__ void load_entries(T (&to)[count], int,
                                             const PanelMatrix<T, Lines, place>& a, int i, int k) {
    a.load_row(to, i, k);
}

/// The entries of x that a step of a substitution changes.
enum class Cleared { below, above, below_and_above };

/// A x = b in place, with a lower or upper triangular matrix, or one whose columns clear all
/// others; with `unit_diagonal` one with ones on its diagonal.
template <Cleared cleared, bool unit_diagonal, class T, int slots, class Matrix>
__device__ __forceinline__ void substitute(int n, const Matrix& a, WarpVector<T, slots>& x) {
    constexpr int at_once = 4;
    // Triangles have at most max_order rows.
    constexpr int used = slots < order_slots ? slots : order_slots;
    constexpr bool forward = cleared != Cleared::above;
    const int lane = core::lane_rank();
    const DiagonalReciprocals<T, used> diagonal(unit_diagonal ? 0 : n, a);
    APERTURE_UNROLL
    for (int turn = 0; turn < used; ++turn) {
        const int slot = forward ? turn : used - 1 - turn;
        const int first = slot * core::warp_size;
        const int steps = n - first < core::warp_size ? n - first : core::warp_size;
        APERTURE_NO_UNROLL
        for (int done = 0; done < steps; done += at_once) {
            const int step = forward ? done : (steps - 1 - done) / at_once * at_once;
            T row[used][at_once];
            APERTURE_UNROLL
            for (int s = 0; s < used; ++s) {
                if ((cleared == Cleared::below && s < slot) ||
                    (cleared == Cleared::above && s > slot)) {
                    continue;
                }
                const int i = s * core::warp_size + lane;
                load_entries(row[s], n, a, i < n ? i : n - 1, first + step);
            }
            APERTURE_UNROLL
            for (int turned = 0; turned < at_once; ++turned) {
                const int e = forward ? turned : at_once - 1 - turned;
                if (step + e >= steps) continue;
                const T mine =
                    unit_diagonal ? x.entry[slot] : diagonal.entry[slot].times(x.entry[slot]);
                const T solved = core::broadcast(mine, step + e);
                if (!unit_diagonal) x.entry[slot] = lane == step + e ? solved : x.entry[slot];
                APERTURE_UNROLL
                for (int s = 0; s < used; ++s) {
                    const bool below = s > slot || (s == slot && lane > step + e);
                    const bool above = s < slot || (s == slot && lane < step + e);
                    if ((cleared != Cleared::above && below) ||
                        (cleared != Cleared::below && above)) {
                        x.entry[s] = core::multiply_add(x.entry[s], -row[s][e], solved);
                    }
                }
            }
        }
    }
}

/// U x = b in place, with an upper triangular matrix.
template <class T, int slots, class Matrix>
__device__ __forceinline__ void substitute_upper(int n, const Matrix& u, WarpVector<T, slots>& x) {
    substitute<Cleared::above, false>(n, u, x);
}

/// G G^H x = b in place.
template <class T, int slots, class Matrix>
__device__ __forceinline__ void solve_cholesky_in_warp(int n, const Matrix& g,
                                                       WarpVector<T, slots>& x) {
    substitute<Cleared::below, false>(n, g, x);
    substitute_upper(
        n, [&](int i, int k) { return core::conj(g(k, i)); }, x);
}

/// x -= factor (v^H x) v for the reflector in column k of `qr`, v = (1, v_k+1, ..., v_m-1).
template <class T, int slots, class Matrix>
__device__ __forceinline__ void reflect(int m, int k, const Matrix& qr, T factor,
                                        WarpVector<T, slots>& x) {
    const T one = T(RealOf<T>(1));
    T sum = T(RealOf<T>(0));
    x.for_each(k, m, [&](int i, T& entry) {
        sum = core::multiply_add_conj(sum, entry, i == k ? one : qr(i, k));
    });
    sum = core::warp_reduce(sum) * factor;
    x.for_each(k, m, [&](int i, T& entry) {
        entry = core::multiply_add(entry, -sum, i == k ? one : qr(i, k));
    });
}

}  // namespace aperture::dense
