// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Building blocks of a Hermitian positive definite solve A X = B in registers. The batched solve
// wraps these functions; fused kernels combine them with their own.
//
// One problem belongs to a sub-warp of `lanes` = 1, 2, 4, ... 32 consecutive lanes. The columns of
// the augmented matrix [A | B] are distributed cyclically:
//
//     columns[slot][row] of lane g is entry (row, slot * lanes + g) of [A | B],
//
// With `order` rows and `slots` columns a lane, lanes * slots - order right-hand sides are solved
// together. Every index into `columns` is a constant once the loops are unrolled, so that it stays
// in registers: slots * order * sizeof(T) / 4 of them, below about 200. A step broadcasts the pivot
// column by shuffles, one element for `slots` multiply-adds, and updates whole slots; slots of
// finished columns are skipped at compile time. Fully unrolled, a solve is about order^2 (2 +
// slots) instructions times 1 for float, 2 for Complex<float> (shuffles) to 4 (multiply-adds).
//
//     T columns[slots][order];
//     Pivots<core::RealOf<T>> pivots;
//     fill_columns<lanes>(columns, lane, matrix, right_hand_side);
//     eliminate<Elimination::below, lanes>(columns, lane, pivots);
//     back_substitute<lanes>(columns, lane);   // not after Elimination::above_and_below
//     for_each_solution<lanes>(columns, lane, store);
//
// All 32 lanes of the warp must call, also those without a problem (with any finite numbers).
// Sub-warps do not affect each other.
//
// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10 and 14.4.

#include "libcore/gpu/warp.cuh"

namespace aperture::dense {

using core::RealOf;

/// Rows that a step clears in the pivot column: `below` yields the factors of A = L D L^H and needs
/// `back_substitute`; `above_and_below` (Gauss-Jordan) yields the solutions.
enum class Elimination { below, above_and_below };

template <class R>
inline constexpr R largest_finite = R(3.40282346638528859812e+38);
template <>
inline constexpr double largest_finite<double> = 1.79769313486231570815e+308;

/// Statistics of one problem's pivots so far; identical in all its lanes.
template <class R>
struct Pivots {
    /// 0, or the order of the first leading minor that is not positive and finite. A pivot with an
    /// infinite reciprocal counts as not positive.
    int info = 0;
    R smallest = largest_finite<R>;
    R largest = R(0);

    /// Validates pivot `k` and returns its reciprocal.
    __device__ __forceinline__ R add(int k, R pivot) {
        const R reciprocal = R(1) / pivot;
        const bool good =
            pivot > R(0) && pivot <= largest_finite<R> && reciprocal <= largest_finite<R>;
        if (!good && info == 0) info = k + 1;
        smallest = pivot < smallest ? pivot : smallest;
        largest = pivot > largest ? pivot : largest;
        return reciprocal;
    }

    /// Ratio of the largest to the smallest pivot; 1 without pivots, infinity if info is not 0.
    __device__ __forceinline__ R ratio() const {
        if (info != 0) return largest_finite<R> * R(2);
        return largest > R(0) ? largest / smallest : R(1);
    }
};

/// 1 / pivot from the reciprocal of its real part. If both halves of a Hermitian matrix are
/// eliminated, rounding leaves an imaginary part; dropping it would make errors grow with the
/// square of the condition number.
template <class R>
__device__ __forceinline__ R pivot_reciprocal(R, R of_real_part) {
    return of_real_part;
}
template <class R>
__device__ __forceinline__ core::Complex<R> pivot_reciprocal(core::Complex<R> pivot,
                                                             R of_real_part) {
    return {of_real_part, -(pivot.im * of_real_part) * of_real_part};
}

/// Fills the lane's columns. `matrix(row, column)` returns A and is called for row >= column only
/// (the other triangle is its mirror image). `right_hand_side(row, r)` returns entry `row` of
/// right-hand side r, 0 <= r < lanes * slots - order, and must return zero where there is none.
template <int lanes, int slots, int order, class T, class Matrix, class RightHandSide>
__device__ __forceinline__ void fill_columns(T (&columns)[slots][order], int lane, Matrix matrix,
                                             RightHandSide right_hand_side) {
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int column = slot * lanes + lane;
        if (slot * lanes < order && (slot * lanes + lanes <= order || column < order)) {
            APERTURE_UNROLL
            for (int row = 0; row < order; ++row) {
                const bool lower = row >= column;
                const T entry = matrix(lower ? row : column, lower ? column : row);
                columns[slot][row] = lower ? entry : core::conj(entry);
            }
        } else {
            APERTURE_UNROLL
            for (int row = 0; row < order; ++row) {
                columns[slot][row] = right_hand_side(row, column - order);
            }
        }
    }
}

/// Refills the right-hand sides only, for another pass with a stored factor.
template <int lanes, int slots, int order, class T, class RightHandSide>
__device__ __forceinline__ void refill_right_hand_sides(T (&columns)[slots][order], int lane,
                                                        RightHandSide right_hand_side) {
    APERTURE_UNROLL
    for (int slot = order / lanes; slot < slots; ++slot) {
        const int column = slot * lanes + lane;
        if (slot * lanes >= order || column >= order) {
            APERTURE_UNROLL
            for (int row = 0; row < order; ++row) {
                columns[slot][row] = right_hand_side(row, column - order);
            }
        }
    }
}

/// Calls `store(row, r, value)` for every entry of the right-hand side columns of this lane.
template <int lanes, int slots, int order, class T, class Store>
__device__ __forceinline__ void for_each_solution(const T (&columns)[slots][order], int lane,
                                                  Store store) {
    APERTURE_UNROLL
    for (int slot = order / lanes; slot < slots; ++slot) {
        const int column = slot * lanes + lane;
        if (slot * lanes >= order || column >= order) {
            APERTURE_UNROLL
            for (int row = 0; row < order; ++row) store(row, column - order, columns[slot][row]);
        }
    }
}

namespace detail {

// Divides row k by the pivot, then subtracts (pivot column)_i times row k from rows i. Columns at
// or left of the last finished one hold multipliers and pivots; if `keep` is false they are not
// needed and get overwritten with garbage.
template <Elimination elimination, int lanes, bool keep, bool first_pass, int slots, int order,
          class T>
__device__ __forceinline__ void sweep(T (&columns)[slots][order], int lane,
                                      Pivots<RealOf<T>>& pivots) {
    using R = RealOf<T>;
    constexpr int first_slot = first_pass ? 0 : order / lanes;
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const T pivot = core::broadcast<lanes>(columns[k / lanes][k], k % lanes);
        const R real = core::real_part(pivot);
        const T reciprocal =
            pivot_reciprocal(pivot, first_pass ? pivots.add(k, real) : R(1) / real);
        const int last_finished = first_pass ? k : order - 1;
        T pivot_row[slots] = {};
        APERTURE_UNROLL
        for (int slot = first_slot; slot < slots; ++slot) {
            if (slot * lanes + lanes - 1 <= last_finished) continue;
            const T scaled = columns[slot][k] * reciprocal;
            if (keep && slot * lanes <= last_finished) {
                const bool active = slot * lanes + lane > last_finished;
                columns[slot][k] = active ? scaled : columns[slot][k];
                pivot_row[slot] = active ? -scaled : T(R(0));
            } else {
                columns[slot][k] = scaled;
                pivot_row[slot] = -scaled;
            }
        }
        APERTURE_UNROLL
        for (int row = elimination == Elimination::below ? k + 1 : 0; row < order; ++row) {
            if (row == k) continue;
            const T multiplier = core::broadcast<lanes>(columns[k / lanes][row], k % lanes);
            APERTURE_UNROLL
            for (int slot = first_slot; slot < slots; ++slot) {
                if (slot * lanes + lanes - 1 <= last_finished) continue;
                columns[slot][row] =
                    core::multiply_add(columns[slot][row], multiplier, pivot_row[slot]);
            }
        }
    }
}

}  // namespace detail

/// One sweep over all pivots. `below` leaves L^H (unit diagonal) in the upper triangle of A and
/// D^-1 L^-1 B in the right-hand sides; `above_and_below` leaves the solutions. With `keep_factor`
/// the multipliers stay in A's columns for `eliminate_again`.
template <Elimination elimination, int lanes, bool keep_factor = false, int slots, int order,
          class T>
__device__ __forceinline__ void eliminate(T (&columns)[slots][order], int lane,
                                          Pivots<RealOf<T>>& pivots) {
    detail::sweep<elimination, lanes, keep_factor, true>(columns, lane, pivots);
}

/// Eliminates refilled right-hand sides, with the factor stored by `eliminate<..., true>`.
template <Elimination elimination, int lanes, int slots, int order, class T>
__device__ __forceinline__ void eliminate_again(T (&columns)[slots][order], int lane) {
    Pivots<RealOf<T>> unused;
    detail::sweep<elimination, lanes, true, false>(columns, lane, unused);
}

/// Back-substitution after `eliminate<Elimination::below>`, X := L^-H X, column by column of L^H.
/// A's columns are unchanged.
template <int lanes, int slots, int order, class T>
__device__ __forceinline__ void back_substitute(T (&columns)[slots][order], int lane) {
    using R = RealOf<T>;
    constexpr int first_slot = order / lanes;
    APERTURE_UNROLL
    for (int k = order - 1; k > 0; --k) {
        T solution[slots] = {};
        APERTURE_UNROLL
        for (int slot = first_slot; slot < slots; ++slot) {
            const bool mine = slot * lanes >= order || slot * lanes + lane >= order;
            solution[slot] = mine ? -columns[slot][k] : T(R(0));
        }
        APERTURE_UNROLL
        for (int row = 0; row < k; ++row) {
            const T factor = core::broadcast<lanes>(columns[k / lanes][row], k % lanes);
            APERTURE_UNROLL
            for (int slot = first_slot; slot < slots; ++slot) {
                columns[slot][row] = core::multiply_add(columns[slot][row], factor, solution[slot]);
            }
        }
    }
}

}  // namespace aperture::dense
