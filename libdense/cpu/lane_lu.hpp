// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "aperture/dense/batch_factor.hpp"
#include "libdense/cpu/lane_kernels.hpp"
#include "libdense/cpu/right_hand_sides.hpp"

/// LU factors and Gauss-Jordan elimination of general matrices, one per SIMD lane.
namespace aperture::dense::lanes {

template <class P>
inline P absolute(P value) {
    return value < 0 ? -value : value;
}

/// Per lane 0, or all bits where a condition holds.
template <class R>
using Mask = decltype(core::Pack<R>{} < core::Pack<R>{});

template <class M>
[[gnu::always_inline]] inline bool any(M mask) {
    decltype(mask[0] + mask[0]) bits = 0;
    for (std::size_t l = 0; l < sizeof(mask) / sizeof(mask[0]); ++l) bits |= mask[l];
    return bits != 0;
}

/// The larger of |re| and |im|: compares pivots without overflow.
template <Scalar T>
inline core::Pack<Real<T>> magnitude(const Element<T>& value) {
    const core::Pack<Real<T>> re = absolute(value.re);
    if constexpr (is_complex<T>) {
        const core::Pack<Real<T>> im = absolute(value.im);
        // Also if im is NaN.
        return re > im ? re : im;
    } else {
        return re;
    }
}

/// 1 / value, without overflow on the way.
template <Scalar T>
inline Element<T> reciprocal(const Element<T>& value) {
    using R = Real<T>;
    if constexpr (is_complex<T>) {
        const core::Pack<R> scale = R{1} / magnitude(value);
        const core::Pack<R> re = value.re * scale;
        const core::Pack<R> im = value.im * scale;
        const core::Pack<R> factor = scale / (re * re + im * im);
        return {re * factor, -im * factor};
    } else {
        return {R{1} / value.re};
    }
}

/// What makes subnormal sizes normal, whose reciprocal would overflow: a power of two, 1 for
/// others.
template <class R>
inline core::Pack<R> scale_up(const core::Pack<R>& size) {
    const core::Pack<R> one = core::broadcast(R{1});
    return size < std::numeric_limits<R>::min() ? one * R(1ull << 60) : one;
}

/// A pivot's reciprocal is that of `up` times the pivot, times `up`.
template <Scalar T>
struct PivotReciprocal {
    core::Pack<Real<T>> up;
    Element<T> of_scaled;

    Element<T> times(const Element<T>& value) const {
        return product(scaled(value, up), of_scaled);
    }
};

/// Validates pivot number `order` (counted from 1). In lanes where it is zero or not finite, sets
/// info if it is not set yet, and the reciprocal is 1.
template <Scalar T>
inline PivotReciprocal<T> accept_general_pivot(Element<T> pivot, int order, Info<T>& info) {
    using R = Real<T>;
    constexpr R largest = std::numeric_limits<R>::max();
    core::Pack<R> size = absolute(pivot.re);
    if constexpr (is_complex<T>) size = size * R(0.5) + absolute(pivot.im) * R(0.5);
    const auto good = (size > R{0}) & (size <= largest);
    const Info<T> here = good ? Info<T>{} : Info<T>{} + order;
    info = info == 0 ? here : info;
    const core::Pack<R> up = scale_up<R>(size);
    return {up, reciprocal(select(good, scaled(pivot, up), unit<T>()))};
}

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

/// The row in [k, n) of the largest entry of column k, in every lane: the first of several, k if
/// none is larger than an entry that is NaN.
template <Scalar T>
inline Info<T> pivot_rows(int k, int n, const Matrix<T>& a) {
    core::Pack<Real<T>> largest = magnitude(a.load(k, k));
    Info<T> row = Info<T>{} + k;
    for (int i = k + 1; i < n; ++i) {
        const core::Pack<Real<T>> here = magnitude(a.load(i, k));
        row = here > largest ? Info<T>{} + i : row;
        largest = here > largest ? here : largest;
    }
    return row;
}

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

constexpr int lu_steps(int n) { return n * (n - 1) / 2; }

/// P A = L U in place, left-looking by panels of columns. `pivots` is [n][lane] where rows are
/// exchanged. Fetches `ahead` in lu_steps(n) steps.
template <Scalar T>
Info<T> factor_lu(Pivoting pivoting, int n, const Matrix<T>& a, int* pivots, Ahead ahead = {}) {
    const int panel = n <= widest_panel<T> ? n : tile_columns<T>;
    Info<T> info{};
    for (int first = 0; first < n; first += panel) {
        const int last = std::min(first + panel, n);
        // The panel's columns, as rows: U above the panel's diagonal, then what U subtracts below.
        const Matrix<T> columns = a.from(0, first).transposed();
        substitute<Second::plain, Diagonal::unused>(first, last - first, a, columns, columns);
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

/// U x = y for the rows of x, after `invert_diagonal`.
template <Scalar T>
void substitute_upper(int n, int rows, const Matrix<T>& lu, const Matrix<T>& x) {
    const Matrix<T> reversed = reversed_rows(n, x);
    substitute<Second::plain, Diagonal::reciprocals>(n, rows, lu.reversed(n), reversed, reversed);
}

/// A x = b for the rows of x, in place, after `invert_diagonal`.
template <Scalar T>
void solve_lu(Pivoting pivoting, int n, int rows, const Matrix<T>& lu, const RowScales<T>& scales,
              const int* pivots, const Matrix<T>& x) {
    if (pivoting == Pivoting::partial) {
        const Matrix<T> entries = x.transposed();
        for (int k = 0; k < n; ++k) exchange_rows(k, n, pivots + k * width<T>, rows, entries);
    }
    substitute<Second::plain, Diagonal::unused>(n, rows, lu, x, x);
    scales.apply(n, rows, x);
    substitute_upper(n, rows, lu, x);
}

/// The inverse, transposed: row r of x is column r of it. After `invert_diagonal`.
template <Scalar T>
void invert(int n, const Matrix<T>& lu, const RowScales<T>& scales, const int* pivots,
            const Matrix<T>& x) {
    using R = Real<T>;
    constexpr int some = tile_rows<T>;
    // Larger matrices have their columns exchanged at the end: forward substitution then starts
    // from the identity and skips its zeros.
    constexpr int few = 24;
    const bool exchanges_first = n <= few;
    std::array<core::Pack<R>, few> numbers;
    if (exchanges_first) {
        const Matrix<R> column{reinterpret_cast<R*>(numbers.data()), 1, 1};
        for (int j = 0; j < n; ++j) numbers[j] = core::broadcast(static_cast<R>(j));
        for (int k = 0; k < n; ++k) exchange_rows(k, n, pivots + k * width<T>, 1, column);
    }
    for (int first = 0; first < n; first += some) {
        const int rows = std::min(some, n - first);
        for (int r = first; r < first + rows; ++r) {
            for (int j = 0; j < n; ++j) {
                Element<T> entry{};
                if (exchanges_first) {
                    entry.re = numbers[j] == static_cast<R>(r) ? core::broadcast(R{1}) : entry.re;
                } else if (j == r) {
                    entry = unit<T>();
                }
                x.store(r, j, entry);
            }
        }
        const Matrix<T> part = x.from(first, 0);
        substitute<Second::plain, Diagonal::unused>(n, rows, lu, part, part,
                                                    exchanges_first ? 0 : first);
        scales.apply(n, rows, part);
        substitute_upper(n, rows, lu, part);
    }
    if (exchanges_first) return;
    for (int k = n - 1; k >= 0; --k) exchange_rows(k, n, pivots + k * width<T>, n, x);
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

/// Divides row k of [A | B] by its pivot and clears the rest of column k; x's rows are columns of
/// B. Columns left of k are not needed any more.
template <Scalar T>
void eliminate_column(int k, int n, int rows, const PivotReciprocal<T>& reciprocal,
                      const Matrix<T>& a, const Matrix<T>& x) {
    for (int j = k + 1; j < n; ++j) a.store(k, j, reciprocal.times(a.load(k, j)));
    for (int r = 0; r < rows; ++r) x.store(r, k, reciprocal.times(x.load(r, k)));
    for (int i = 0; i < n; ++i) {
        if (i == k) continue;
        const Element<T> factor = a.load(i, k);
        for (int j = k + 1; j < n; ++j) {
            Element<T> value = a.load(i, j);
            subtract_product<Second::plain>(value, factor, a.load(k, j));
            a.store(i, j, value);
        }
        for (int r = 0; r < rows; ++r) {
            Element<T> value = x.load(r, i);
            subtract_product<Second::plain>(value, factor, x.load(r, k));
            x.store(r, i, value);
        }
    }
}

}  // namespace aperture::dense::lanes
