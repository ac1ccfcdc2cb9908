// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Solutions by LU factors.

#include "libdense/gpu/warp_vector.cuh"

namespace aperture::dense {

/// P x in place.
template <class T, int slots>
__device__ __forceinline__ void exchange_entries(int n, const int* rows, WarpVector<T, slots>& x) {
    APERTURE_NO_UNROLL
    for (int k = 0; k < n; ++k) {
        const int row = rows[k];
        if (row == k) continue;
        const T one = x.at(k);
        const T other = x.at(row);
        x.for_each(k, k + 1, [&](int, T& entry) { entry = other; });
        x.for_each(row, row + 1, [&](int, T& entry) { entry = one; });
    }
}

/// A x = b in place by factors P A = L U.
template <class T, int slots, class Matrix>
__device__ __forceinline__ void solve_lu_in_warp(int n, const Matrix& lu, const int* rows,
                                                 WarpVector<T, slots>& x) {
    exchange_entries(n, rows, x);
    substitute<Cleared::below, true>(n, lu, x);
    substitute_upper(n, lu, x);
}

}  // namespace aperture::dense
