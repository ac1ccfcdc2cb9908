// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elimination of general matrices in registers, distributed as in register_solve.cuh:
//
//     columns[slot][row] of lane g is entry (row, slot * lanes + g) of [A | B].
//
// All lanes of the warp must call, also those without a problem (with any finite numbers).

#include "libdense/gpu/reflector.cuh"

namespace aperture::dense {

/// Fills the lane's columns: `matrix(row, column)` for the first `order` columns, `side(row, r)`
/// for the others, 0 <= r < lanes * slots - order.
template <int lanes, int order, int slots, int rows, class T, class Matrix, class Side>
__device__ __forceinline__ void fill_general_columns(T (&columns)[slots][rows], int lane,
                                                     Matrix matrix, Side side) {
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + lane;
        if (slot * lanes < order && (slot * lanes + lanes <= order || column < order)) {
            APERTURE_UNROLL
            for (int row = 0; row < rows; ++row) columns[slot][row] = matrix(row, column);
        } else {
            APERTURE_UNROLL
            for (int row = 0; row < rows; ++row) columns[slot][row] = side(row, column - order);
        }
    }
}

/// Calls `store(row, column, value)` for the entries of the first `order` columns.
template <int lanes, int order, int slots, int rows, class T, class Store>
__device__ __forceinline__ void for_each_column_entry(const T (&columns)[slots][rows], int lane,
                                                      Store store) {
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + lane;
        if (slot * lanes < order && (slot * lanes + lanes <= order || column < order)) {
            APERTURE_UNROLL
            for (int row = 0; row < rows; ++row) store(row, column, columns[slot][row]);
        }
    }
}

/// The row in [k, order) of the largest entry of column k: the first of several, k if none is
/// larger than an entry that is NaN.
template <int lanes, int slots, int order, class T>
__device__ __forceinline__ int find_pivot_row(const T (&columns)[slots][order], int k) {
    RealOf<T> largest = magnitude(columns[k / lanes][k]);
    int row = k;
    APERTURE_UNROLL
    for (int i = k + 1; i < order; ++i) {
        const RealOf<T> here = magnitude(columns[k / lanes][i]);
        const bool larger = here > largest;
        largest = larger ? here : largest;
        row = larger ? i : row;
    }
    return core::broadcast<lanes>(row, k % lanes);
}

/// Exchanges rows k and row >= k of the slots from `first_slot` on.
template <int slots, int order, class T>
__device__ __forceinline__ void exchange_rows(T (&columns)[slots][order], int first_slot, int k,
                                              int row) {
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        if (slot < first_slot) continue;
        const T upper = columns[slot][k];
        T chosen = upper;
        APERTURE_UNROLL
        for (int i = k + 1; i < order; ++i) {
            const T here = columns[slot][i];
            columns[slot][i] = i == row ? upper : here;
            chosen = i == row ? here : chosen;
        }
        columns[slot][k] = chosen;
    }
}

/// One sweep over all pivots that solves A X = B, as detail::sweep: `below` leaves a unit upper
/// triangle for `back_substitute`, `above_and_below` the solutions. `exchange`: partial pivoting.
/// Finished columns lose what these do not need.
template <Elimination elimination, bool exchange, int lanes, int slots, int order, class T>
__device__ __forceinline__ void eliminate_general(T (&columns)[slots][order], int& info) {
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const int slot_of_k = k / lanes;
        if (exchange) exchange_rows(columns, slot_of_k, k, find_pivot_row<lanes>(columns, k));
        const T pivot = core::broadcast<lanes>(columns[slot_of_k][k], k % lanes);
        const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot, k, info);
        T pivot_row[slots] = {};
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            if (slot * lanes + lanes - 1 <= k) continue;
            columns[slot][k] = reciprocal.times(columns[slot][k]);
            pivot_row[slot] = -columns[slot][k];
        }
        APERTURE_UNROLL
        for (int row = elimination == Elimination::below ? k + 1 : 0; row < order; ++row) {
            if (row == k) continue;
            const T multiplier = core::broadcast<lanes>(columns[slot_of_k][row], k % lanes);
            APERTURE_UNROLL
            for (int slot = slot_of_k; slot < slots; ++slot) {
                if (slot * lanes + lanes - 1 <= k) continue;
                columns[slot][row] =
                    core::multiply_add(columns[slot][row], multiplier, pivot_row[slot]);
            }
        }
    }
}

/// P A = L U in place; calls record(k, row) for the exchanged rows, with the same in all lanes.
template <bool exchange, int lanes, int slots, int order, class T, class Record>
__device__ __forceinline__ void factor_lu_in_columns(T (&columns)[slots][order], int lane,
                                                     int& info, Record record) {
    const T zero = T(RealOf<T>(0));
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const int slot_of_k = k / lanes;
        const int owner = k % lanes;
        int row_of_pivot = k;
        if (exchange) {
            row_of_pivot = find_pivot_row<lanes>(columns, k);
            exchange_rows(columns, 0, k, row_of_pivot);
        }
        record(k, row_of_pivot);
        const T pivot = core::broadcast<lanes>(columns[slot_of_k][k], owner);
        const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot, k, info);
        T pivot_row[slots] = {};
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            // Finished columns keep their factors.
            pivot_row[slot] = slot > slot_of_k || lane > owner ? -columns[slot][k] : zero;
        }
        APERTURE_UNROLL
        for (int row = k + 1; row < order; ++row) {
            const T factor =
                reciprocal.times(core::broadcast<lanes>(columns[slot_of_k][row], owner));
            APERTURE_UNROLL
            for (int slot = slot_of_k; slot < slots; ++slot) {
                columns[slot][row] =
                    core::multiply_add(columns[slot][row], factor, pivot_row[slot]);
            }
            if (lane == owner) columns[slot_of_k][row] = factor;
        }
    }
}

/// The inverse of A with its rows exchanged, in place, by Gauss-Jordan elimination with partial
/// pivoting. Column j of the result is column exchanged_column(rows, j) of A^-1.
template <int lanes, int slots, int order, class T>
__device__ __forceinline__ void invert_in_columns(T (&columns)[slots][order], int lane, int& info,
                                                  int (&rows)[order]) {
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const int slot_of_k = k / lanes;
        const int owner = k % lanes;
        rows[k] = find_pivot_row<lanes>(columns, k);
        exchange_rows(columns, 0, k, rows[k]);
        const T pivot = core::broadcast<lanes>(columns[slot_of_k][k], owner);
        const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot, k, info);
        const T one = T(RealOf<T>(1));
        T pivot_row[slots];
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            // The pivot's column becomes that of the inverse.
            const bool pivots_column = slot == slot_of_k && lane == owner;
            columns[slot][k] = reciprocal.times(pivots_column ? one : columns[slot][k]);
            pivot_row[slot] = -columns[slot][k];
        }
        APERTURE_UNROLL
        for (int row = 0; row < order; ++row) {
            if (row == k) continue;
            const T multiplier = core::broadcast<lanes>(columns[slot_of_k][row], owner);
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) {
                const bool pivots_column = slot == slot_of_k && lane == owner;
                const T old = pivots_column ? T(RealOf<T>(0)) : columns[slot][row];
                columns[slot][row] = core::multiply_add(old, multiplier, pivot_row[slot]);
            }
        }
    }
}

/// The column of A^-1 that column `column` of `invert_in_columns` is.
template <int order>
__device__ __forceinline__ int exchanged_column(const int (&rows)[order], int column) {
    APERTURE_UNROLL
    for (int k = order - 1; k >= 0; --k) {
        column = column == k ? rows[k] : column == rows[k] ? k : column;
    }
    return column;
}

}  // namespace aperture::dense
