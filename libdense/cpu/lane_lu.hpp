// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "aperture/dense/batch_factor.hpp"
#include "libdense/cpu/lane_elimination.hpp"
#include "libdense/cpu/lane_kernels.hpp"
#include "libdense/cpu/lane_pivots.hpp"
#include "libdense/cpu/right_hand_sides.hpp"

/// LU factors of general matrices, one per SIMD lane, and what is made of them.
namespace aperture::dense::lanes {

/// Exchanges rows k and chosen[lane], which is in [k, n), in every lane, by loads and stores of all
/// of these rows.
template <int columns, Scalar T>
[[gnu::always_inline]] inline void exchange_among_all(int k, int n, const Info<T>& chosen,
                                                      const Matrix<T>& a) {
    Element<T> top[columns];
    Element<T> found[columns];
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) top[j] = found[j] = a.load(k, j);
    for (int i = k + 1; i < n; ++i) {
        const auto here = chosen == i;
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) {
            const Element<T> value = a.load(i, j);
            found[j] = select(here, value, found[j]);
            a.store(i, j, select(here, top[j], value));
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) a.store(k, j, found[j]);
}

/// Exchanges rows k and rows[lane], which is in [k, n), in every lane.
template <Scalar T>
inline void exchange_rows(int k, int n, const int* rows, std::ptrdiff_t columns,
                          const Matrix<T>& a) {
    // So few rows are all loaded and stored in less time than the lanes' own ones, one by one.
    constexpr int few = 12;
    if (n - k <= few) {
        constexpr int at_once = is_complex<T> ? 2 : 4;
        Info<T> chosen;
        for (int l = 0; l < width<T>; ++l) chosen[l] = rows[l];
        std::ptrdiff_t j = 0;
        for (; j + at_once <= columns; j += at_once) {
            exchange_among_all<at_once>(k, n, chosen, a.from(0, j));
        }
        for (; j < columns; ++j) exchange_among_all<1>(k, n, chosen, a.from(0, j));
        return;
    }
    for (int l = 0; l < width<T>; ++l) {
        if (rows[l] == k) continue;
        Real<T>* one = a.at(k, 0) + l;
        Real<T>* other = a.at(rows[l], 0) + l;
        const std::ptrdiff_t step = a.column_stride * element_reals<T>;
        for (std::ptrdiff_t j = 0; j < columns; ++j, one += step, other += step) {
            std::swap(*one, *other);
            if constexpr (is_complex<T>) std::swap(one[width<T>], other[width<T>]);
        }
    }
}

/// The row in [k, n) of the largest entry of column k, in every lane: the first of several.
template <Scalar T>
inline Info<T> pivot_rows(int k, int n, const Matrix<T>& a) {
    Mask<Real<T>> largest = pivot_key<T>(a.load(k, k));
    Info<T> row = Info<T>{} + k;
    for (int i = k + 1; i < n; ++i) {
        const Mask<Real<T>> here = pivot_key<T>(a.load(i, k));
        row = here > largest ? Info<T>{} + i : row;
        largest = here > largest ? here : largest;
    }
    return row;
}

/// The rows that are exchanged in the steps of one pack, [step][lane].
template <Scalar T>
using PivotRows = std::array<int, max_order * width<T>>;

/// Columns of a panel; matrices of so few columns are one panel, others have panels of tiles.
template <Scalar T>
inline constexpr int widest_panel = std::max(tile_columns<T>, 4);

/// The step of LU factors whose pivot is the first element of the n rows of `a`, in its first
/// columns.
template <int columns, Scalar T>
[[gnu::always_inline]] inline void subtract_row(int n, const PivotReciprocal<T>& reciprocal,
                                                const Matrix<T>& a, Ahead& ahead) {
    Element<T> top[columns];
#pragma GCC unroll 8
    for (int j = 1; j < columns; ++j) top[j] = a.load(0, j);
    for (int i = 1; i < n; ++i) {
        const Element<T> factor = reciprocal.times(a.load(i, 0));
        a.store(i, 0, factor);
        ahead.fetch();
#pragma GCC unroll 8
        for (int j = 1; j < columns; ++j) {
            Element<T> value = a.load(i, j);
            subtract_product<Second::plain>(value, factor, top[j]);
            a.store(i, j, value);
        }
    }
}

/// Factors columns [first, last) of rows [first, n), which lack nothing but each other's updates.
template <Scalar T>
void factor_panel(Pivoting pivoting, int n, int first, int last, const Matrix<T>& a, int* pivots,
                  Info<T>& info, Ahead& ahead) {
    for (int k = first; k < last; ++k) {
        if (pivoting == Pivoting::partial) {
            int* const rows = pivots + std::ptrdiff_t{k} * width<T>;
            const Info<T> chosen = pivot_rows(k, n, a);
            for (int l = 0; l < width<T>; ++l) rows[l] = static_cast<int>(chosen[l]);
            exchange_rows(k, n, rows, n, a);
        }
        const PivotReciprocal<T> reciprocal = accept_general_pivot<T>(a.load(k, k), k + 1, info);
        with_constant<widest_panel<T>>(last - k, [&](auto columns) {
            subtract_row<columns>(n - k, reciprocal, a.from(k, k), ahead);
        });
    }
}

constexpr core::index_t factor_steps(Pivoting pivoting, int n) {
    return (pivoting == Pivoting::partial && is_in_registers(n) ? 2 : 1) * column_steps(n);
}

/// P A = L U in place, left-looking by panels of columns. `pivots` is [n][lane] where rows are
/// exchanged. Fetches `ahead` in factor_steps(pivoting, n) steps.
template <Scalar T>
Info<T> factor_lu(Pivoting pivoting, int n, const Matrix<T>& a, int* pivots, Ahead& ahead) {
    if (pivoting == Pivoting::partial && is_in_registers(n)) {
        Info<T> result;
        with_elimination<T>(n, [&](auto& elimination) {
            result = elimination.eliminate(a, ahead);
            elimination.store_factors(a, pivots, ahead);
        });
        return result;
    }
    const int panel = n <= widest_panel<T> ? n : tile_columns<T>;
    Info<T> info{};
    Ahead nothing;
    for (int first = 0; first < n; first += panel) {
        const int last = std::min(first + panel, n);
        // The panel's columns, as rows: U above the panel's diagonal, then what U subtracts below.
        const Matrix<T> columns = a.from(0, first).transposed();
        substitute<Second::plain, Diagonal::unused>(first, last - first, a, columns, columns,
                                                    nothing);
        if (first > 0) {
            multiply<Second::plain>(n - first, last - first, first, Real<T>{-1}, a.from(first, 0),
                                    columns, Real<T>{1}, a.from(first, first));
        }
        factor_panel(pivoting, n, first, last, a, pivots, info, ahead);
    }
    return info;
}

/// Powers of two by which rows of U, and so of y in U x = y, are multiplied in each lane.
template <Scalar T>
struct RowScales {
    std::array<core::Pack<Real<T>>, max_order> of_row;
    bool are_one = true;  ///< all of them

    void apply(int n, int rows, const Matrix<T>& y) const {
        for (int r = 0; r < rows && !are_one; ++r) {
            for (int k = 0; k < n; ++k) y.store(r, k, scaled(y.load(r, k), of_row[k]));
        }
    }
};

/// Replaces U's diagonal by its reciprocals. Rows of subnormal pivots are scaled up.
template <Scalar T>
void invert_diagonal(int n, const Matrix<T>& lu, RowScales<T>& scales) {
    Mask<Real<T>> is_scaled{};
    for (int k = 0; k < n; ++k) {
        const Element<T> pivot = lu.load(k, k);
        core::Pack<Real<T>>& up = scales.of_row[k];
        up = scale_up<Real<T>>(magnitude(pivot));
        is_scaled |= up > Real<T>{1};
        lu.store(k, k, reciprocal(scaled(pivot, up)));
    }
    scales.are_one = !any(is_scaled);
    for (int k = 0; k < n && !scales.are_one; ++k) {
        for (int j = k + 1; j < n; ++j) {
            lu.store(k, j, scaled(lu.load(k, j), scales.of_row[k]));
        }
    }
}

/// U x = y for the rows of x, after `invert_diagonal`. Fetches `ahead` in substitution_steps(n,
/// rows) steps.
template <Scalar T>
void substitute_upper(int n, int rows, const Matrix<T>& lu, const Matrix<T>& x, Ahead& ahead) {
    const Matrix<T> reversed = reversed_rows(n, x);
    substitute<Second::plain, Diagonal::reciprocals>(n, rows, lu.reversed(n), reversed, reversed,
                                                     ahead);
}

/// A x = b for the rows of x, in place, after `invert_diagonal`. Fetches `ahead` in twice
/// substitution_steps(n, rows) steps.
template <Scalar T>
void solve_lu(Pivoting pivoting, int n, int rows, const Matrix<T>& lu, const RowScales<T>& scales,
              const int* pivots, const Matrix<T>& x, Ahead& ahead) {
    if (pivoting == Pivoting::partial) {
        const Matrix<T> entries = x.transposed();
        for (int k = 0; k < n; ++k) exchange_rows(k, n, pivots + k * width<T>, rows, entries);
    }
    substitute<Second::plain, Diagonal::unused>(n, rows, lu, x, x, ahead);
    scales.apply(n, rows, x);
    substitute_upper(n, rows, lu, x, ahead);
}

/// The numbers of a matrix's rows, in every lane.
template <Scalar T>
using RowNumbers = std::array<core::Pack<Real<T>>, max_order>;

template <Scalar T>
void number_rows(int n, RowNumbers<T>& numbers) {
    for (int j = 0; j < n; ++j) numbers[j] = core::broadcast(static_cast<Real<T>>(j));
}

/// Columns [first, last) of the identity whose rows these are, as rows of x.
template <Scalar T>
void store_identity(int first, int last, int n, const RowNumbers<T>& rows, const Matrix<T>& x) {
    using R = Real<T>;
    for (int r = first; r < last; ++r) {
        for (int j = 0; j < n; ++j) {
            const auto here = rows[j] == static_cast<R>(r);
            x.store(r, j, select(here, unit<T>(), Element<T>{}));
        }
    }
}

/// Steps in which `invert` fetches memory ahead.
template <Scalar T>
constexpr core::index_t inverse_steps(int n) {
    if (is_in_registers(n)) return column_steps(n, n);
    return column_steps(n) + 2 * substitution_steps<T>(n, n);
}

/// The inverse, transposed: row r of x is column r of it. Overwrites `a`.
template <Scalar T>
Info<T> invert(int n, const Matrix<T>& a, const Matrix<T>& x, Ahead& ahead) {
    RowNumbers<T> numbers;
    number_rows<T>(n, numbers);
    if (is_in_registers(n)) {
        Info<T> info;
        with_elimination<T>(n, [&](auto& elimination) {
            info = elimination.eliminate(a, ahead);
            store_identity(0, n, n, numbers, x);
            elimination.solve(n, x, ahead);
        });
        return info;
    }
    PivotRows<T> pivots;
    const Info<T> info = factor_lu(Pivoting::partial, n, a, pivots.data(), ahead);
    RowScales<T> scales;
    invert_diagonal(n, a, scales);
    // Larger matrices have their columns exchanged at the end: forward substitution then starts
    // from the identity and skips its zeros.
    const bool exchanges_first = n <= 24;
    if (exchanges_first) {
        const Matrix<Real<T>> column{reinterpret_cast<Real<T>*>(numbers.data()), 1, 1};
        for (int k = 0; k < n; ++k) exchange_rows(k, n, pivots.data() + k * width<T>, 1, column);
    }
    for (int first = 0; first < n; first += tile_rows<T>) {
        const int rows = std::min(tile_rows<T>, n - first);
        store_identity(first, first + rows, n, numbers, x);
        const Matrix<T> part = x.from(first, 0);
        substitute<Second::plain, Diagonal::unused>(n, rows, a, part, part, ahead,
                                                    exchanges_first ? 0 : first);
        scales.apply(n, rows, part);
        substitute_upper(n, rows, a, part, ahead);
    }
    for (int k = n - 1; k >= 0 && !exchanges_first; --k) {
        exchange_rows(k, n, pivots.data() + k * width<T>, n, x);
    }
    return info;
}

/// The product of U's diagonal, its sign changed by every exchange.
template <Scalar T>
Element<T> determinant(int n, const Matrix<T>& lu, const int* pivots) {
    Element<T> result = unit<T>();
    for (int k = 0; k < n; ++k) {
        core::Pack<Real<T>> sign = core::broadcast(Real<T>{1});
        for (int l = 0; l < width<T>; ++l) {
            if (pivots[k * width<T> + l] != k) sign[l] = Real<T>{-1};
        }
        result = product(scaled(result, sign), lu.load(k, k));
    }
    return result;
}

}  // namespace aperture::dense::lanes
