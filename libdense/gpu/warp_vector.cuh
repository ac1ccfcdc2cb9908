// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A vector in the registers of a warp, and what triangular matrices and reflectors do to it.

#include "libdense/gpu/block_matrix.cuh"

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
    /// Entry i becomes of(its slot, the entry), which all lanes get.
    template <class Of>
    __device__ __forceinline__ T solve(int i, Of of) {
        T mine = of(0, entry[0]);
        APERTURE_UNROLL
        for (int s = 1; s < slots; ++s) {
            if (i / core::warp_size == s) mine = of(s, entry[s]);
        }
        const T solved = core::broadcast(mine, i % core::warp_size);
        for_each(i, i + 1, [&](int, T& its) { its = solved; });
        return solved;
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

/// L x = b in place, with a lower triangular matrix, or one with ones on its diagonal.
template <bool unit_diagonal, class T, int slots, class Matrix>
__device__ __forceinline__ void substitute_lower(int n, const Matrix& l, WarpVector<T, slots>& x) {
    const DiagonalReciprocals<T, slots> diagonal(unit_diagonal ? 0 : n, l);
    APERTURE_UNROLL_BY(4)
    for (int k = 0; k < n; ++k) {
        const T solved = x.solve(k, [&](int s, T entry) {
            return unit_diagonal ? entry : diagonal.entry[s].times(entry);
        });
        x.for_each(k + 1, n,
                   [&](int i, T& entry) { entry = core::multiply_add(entry, -l(i, k), solved); });
    }
}

/// U x = b in place, with an upper triangular matrix.
template <class T, int slots, class Matrix>
__device__ __forceinline__ void substitute_upper(int n, const Matrix& u, WarpVector<T, slots>& x) {
    const DiagonalReciprocals<T, slots> diagonal(n, u);
    APERTURE_UNROLL_BY(4)
    for (int k = n - 1; k >= 0; --k) {
        const T solved = x.solve(k, [&](int s, T entry) { return diagonal.entry[s].times(entry); });
        x.for_each(0, k,
                   [&](int i, T& entry) { entry = core::multiply_add(entry, -u(i, k), solved); });
    }
}

/// G G^H x = b in place.
template <class T, int slots, class Matrix>
__device__ __forceinline__ void solve_cholesky_in_warp(int n, const Matrix& g,
                                                       WarpVector<T, slots>& x) {
    substitute_lower<false>(n, g, x);
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
