// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// LU factors of a matrix that a block shares.

#include "libdense/gpu/warp_vector.cuh"

namespace aperture::dense {

/// The row in [k, n) of the largest entry of column k, in all lanes of a warp: the first of
/// several, k if none is larger than an entry that is NaN.
template <class T>
__device__ __forceinline__ int find_pivot(int k, int n, const BlockMatrix<const T>& a) {
    using R = RealOf<T>;
    R largest = magnitude(a(k, k));
    int row = k;
    for (int i = k + core::lane_rank(); i < n; i += core::warp_size) {
        const R here = magnitude(a(i, k));
        if (here > largest) {
            largest = here;
            row = i;
        }
    }
    APERTURE_UNROLL
    for (int distance = core::warp_size / 2; distance > 0; distance /= 2) {
        const R its_largest = core::exchange_xor(largest, distance);
        const int its_row = core::exchange_xor(row, distance);
        if (its_largest > largest || (its_largest == largest && its_row < row)) {
            largest = its_largest;
            row = its_row;
        }
    }
    return row;
}

/// P A = L U in place; `rows` [n] in shared memory gets the exchanged rows. All threads of the
/// block must call, after a barrier, and get info; they must wait before they use the factors.
template <class T>
__device__ int factor_lu_in_block(bool exchange, int n, BlockMatrix<T> a, int* rows) {
    int info = 0;
    const int thread = core::thread_rank();
    const int threads = core::block_threads();
    APERTURE_NO_UNROLL
    for (int k = 0; k < n; ++k) {
        if (exchange) {
            if (core::warp_rank() == 0) {
                const int row = find_pivot<T>(k, n, a);
                if (thread == 0) rows[k] = row;
            }
            __syncthreads();
            const int row = rows[k];
            if (row != k) {
                for (int j = thread; j < n; j += threads) {
                    const T upper = a(k, j);
                    a(k, j) = a(row, j);
                    a(row, j) = upper;
                }
            }
            __syncthreads();
        } else if (thread == 0) {
            rows[k] = k;
        }
        const PivotReciprocal<T> reciprocal = accept_general_pivot(a(k, k), k, info);
        for (int i = k + 1 + thread; i < n; i += threads) a(i, k) = reciprocal.times(a(i, k));
        __syncthreads();
        for_each_entry_of(k + 1, n, k + 1, n, [&](int i, int j) {
            a(i, j) = core::multiply_add(a(i, j), -a(i, k), a(k, j));
        });
        __syncthreads();
    }
    return info;
}

/// Gauss-Jordan elimination without pivoting: column k keeps the factors that clear it, but on the
/// diagonal the pivot. All threads of the block must call, after a barrier.
template <class T>
__device__ int eliminate_in_block(int n, BlockMatrix<T> a) {
    int info = 0;
    const int thread = core::thread_rank();
    const int threads = core::block_threads();
    APERTURE_NO_UNROLL
    for (int k = 0; k < n; ++k) {
        const PivotReciprocal<T> reciprocal = accept_general_pivot(a(k, k), k, info);
        for (int j = k + 1 + thread; j < n; j += threads) a(k, j) = reciprocal.times(a(k, j));
        __syncthreads();
        for_each_entry_of(0, n, k + 1, n, [&](int i, int j) {
            if (i != k) a(i, j) = core::multiply_add(a(i, j), -a(i, k), a(k, j));
        });
        __syncthreads();
    }
    return info;
}

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

/// A x = b in place by the factors of `factor_lu_in_block`.
template <class T, int slots>
__device__ __forceinline__ void solve_lu_in_warp(int n, BlockMatrix<const T> lu, const int* rows,
                                                 WarpVector<T, slots>& x) {
    exchange_entries(n, rows, x);
    substitute_lower(
        n, lu, [](int, T entry) { return entry; }, x);
    substitute_upper(
        n, lu, [&](int k, T entry) { return entry * reciprocal(lu(k, k)); },
        [](T entry) { return entry; }, x);
}

/// A x = b in place by the factors of `eliminate_in_block`.
template <class T, int slots>
__device__ __forceinline__ void solve_eliminated_in_warp(int n, BlockMatrix<const T> a,
                                                         WarpVector<T, slots>& x) {
    APERTURE_NO_UNROLL
    for (int k = 0; k < n; ++k) {
        int unused = 0;
        const PivotReciprocal<T> reciprocal = accept_general_pivot(a(k, k), k, unused);
        x.for_each(k, k + 1, [&](int, T& entry) { entry = reciprocal.times(entry); });
        const T solved = x.at(k);
        x.for_each(0, n, [&](int i, T& entry) {
            if (i != k) entry = core::multiply_add(entry, -a(i, k), solved);
        });
    }
}

}  // namespace aperture::dense
