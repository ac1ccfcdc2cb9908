// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "libdense/cpu/lane_lu.hpp"

/// Gaussian elimination of [A | B] with partial pivoting, one problem per SIMD lane: rows are
/// exchanged on the way of the elimination, and L is not kept.
namespace aperture::dense::lanes {

/// Largest order at which this takes less time than LU factors and substitution.
template <Scalar T>
inline constexpr int most_eliminated = is_complex<T> ? 12 : 16;

/// The multiples of a row that are subtracted from the rows below.
template <Scalar T>
using Multipliers = std::array<Element<T>, most_eliminated<T>>;

/// Exchanges rows k and chosen[lane] of some columns and subtracts multiples of the new row k from
/// the rows below.
template <int columns, Scalar T>
[[gnu::always_inline]] inline void eliminate_columns(int k, int n, const Info<T>& chosen,
                                                     const Multipliers<T>& multipliers,
                                                     const Matrix<T>& a) {
    Element<T> top[columns];
    Element<T> found[columns];
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) top[j] = found[j] = a.load(k, j);
    for (int i = k + 1; i < n; ++i) {
        const auto here = chosen == i;
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) found[j] = select(here, a.load(i, j), found[j]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) a.store(k, j, found[j]);
    for (int i = k + 1; i < n; ++i) {
        const auto here = chosen == i;
        const Element<T> multiplier = multipliers[i];
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) {
            Element<T> value = select(here, top[j], a.load(i, j));
            subtract_product<Second::plain>(value, multiplier, found[j]);
            a.store(i, j, value);
        }
    }
}

/// The same of all `columns` columns.
template <Scalar T>
void eliminate_all(int k, int n, const Info<T>& chosen, const Multipliers<T>& multipliers,
                   int columns, const Matrix<T>& a) {
    // Half of the registers hold the rows that are exchanged.
    constexpr int at_once = (core::simd_bytes == 64 ? 8 : 4) / (is_complex<T> ? 2 : 1);
    for (int j = 0; j < columns; j += at_once) {
        with_constant<at_once>(columns - j, [&](auto some) {
            eliminate_columns<some>(k, n, chosen, multipliers, a.from(0, j));
        });
    }
}

/// Replaces [A | B] by [U | y] with U x = y; rows of x are columns of B. What is below U's diagonal
/// has no meaning. Fetches `ahead` in lu_steps(n) steps.
template <Scalar T>
Info<T> eliminate(int n, int rows, const Matrix<T>& a, const Matrix<T>& x, Ahead ahead) {
    Info<T> info{};
    Multipliers<T> multipliers;
    for (int k = 0; k < n; ++k) {
        const Info<T> chosen = pivot_rows(k, n, a);
        const Element<T> top = a.load(k, k);
        Element<T> pivot = top;
        for (int i = k + 1; i < n; ++i) pivot = select(chosen == i, a.load(i, k), pivot);
        a.store(k, k, pivot);
        const PivotReciprocal<T> reciprocal = accept_general_pivot<T>(pivot, k + 1, info);
        for (int i = k + 1; i < n; ++i) {
            multipliers[i] = reciprocal.times(select(chosen == i, top, a.load(i, k)));
            ahead.fetch();
        }
        eliminate_all(k, n, chosen, multipliers, n - k - 1, a.from(0, k + 1));
        eliminate_all(k, n, chosen, multipliers, rows, x.transposed());
    }
    return info;
}

/// A x = b for the rows of x, in place; overwrites A.
template <Scalar T>
Info<T> solve_by_elimination(int n, int rows, const Matrix<T>& a, const Matrix<T>& x, Ahead ahead) {
    const Info<T> info = eliminate(n, rows, a, x, ahead);
    RowScales<T> scales;
    invert_diagonal(n, a, scales);
    scales.apply(n, rows, x);
    substitute_upper(n, rows, a, x);
    return info;
}

}  // namespace aperture::dense::lanes
