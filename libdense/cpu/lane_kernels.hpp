// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "libcore/cpu/multiply_add.hpp"
#include "libcore/rounding.hpp"
#include "libdense/cpu/lane_columns.hpp"
#include "libdense/cpu/lane_elements.hpp"
#include "libdense/cpu/lane_runs.hpp"

#if defined(__FMA__)
#include <immintrin.h>
#endif

/// Small dense linear algebra on problems in lanes. Everything is built from one loop, sum[r][c] +=
/// a(r, k) * b(c, k) (or its conjugate), over tiles in registers.
namespace aperture::dense::lanes {

/// The register tile has tile_rows x tile_columns sums; diagonal tiles have tile_diagonal rows.
/// With 32 registers 4 x 3 complex sums need 24 and leave 8 for the operands: 81 % of the FMA peak
/// in `solve` of order 18 with 16 right-hand sides on a Zen 5, against 77 % for 3 x 3, 74 % for 3 x
/// 4 and 66 % for 2 x 4. Real sums need half the registers. With 16 registers 2 x 2 and 3 x 3 fit.
template <Scalar T>
inline constexpr int tile_rows = core::simd_bytes == 64 ? (is_complex<T> ? 4 : 6)
                                                        : (is_complex<T> ? 2 : 3);
template <Scalar T>
inline constexpr int tile_columns = core::simd_bytes == 64 ? (is_complex<T> ? 3 : 4)
                                                           : (is_complex<T> ? 2 : 3);
template <Scalar T>
inline constexpr int tile_diagonal = core::simd_bytes == 64 ? 4 : (is_complex<T> ? 2 : 3);

enum class Second { plain, conjugated };

/// sum += a b, or a conj(b).
template <Second second, Scalar T>
[[gnu::always_inline]] inline void add_product(Element<T>& sum, const Element<T>& a,
                                               const Element<T>& b) {
    using R = Real<T>;
    sum.re = core::multiply_add<R>(a.re, b.re, sum.re);
    if constexpr (is_complex<T>) {
        if constexpr (second == Second::conjugated) {
            sum.im = core::multiply_add<R>(a.im, b.re, sum.im);
            sum.re = core::multiply_add<R>(a.im, b.im, sum.re);
            sum.im = core::multiply_add<R>(-a.re, b.im, sum.im);
        } else {
            sum.im = core::multiply_add<R>(a.re, b.im, sum.im);
            sum.re = core::multiply_add<R>(-a.im, b.im, sum.re);
            sum.im = core::multiply_add<R>(a.im, b.re, sum.im);
        }
    }
}

/// sum -= a b, or a conj(b).
template <Second second, Scalar T>
[[gnu::always_inline]] inline void subtract_product(Element<T>& sum, const Element<T>& a,
                                                    const Element<T>& b) {
    sum.re -= a.re * b.re;
    if constexpr (is_complex<T>) {
        sum.im -= a.im * b.re;
        if constexpr (second == Second::conjugated) {
            sum.re -= a.im * b.im;
            sum.im += a.re * b.im;
        } else {
            sum.re += a.im * b.im;
            sum.im -= a.re * b.im;
        }
    }
}

template <Scalar T>
[[gnu::always_inline]] inline Element<T> scaled(Element<T> value, core::Pack<Real<T>> factor) {
    value.re *= factor;
    if constexpr (is_complex<T>) value.im *= factor;
    return value;
}

/// a b, or a conj(b). The same bits wherever the compiler puts it: the first products are rounded.
template <Second second = Second::plain, Scalar T>
[[gnu::always_inline]] inline Element<T> product(const Element<T>& a, const Element<T>& b) {
    using R = Real<T>;
    Element<T> result = scaled(a, b.re);
    if constexpr (is_complex<T>) {
        const core::Pack<R> im = second == Second::conjugated ? -b.im : b.im;
        result.re = core::multiply_add<R>(-a.im, im, result.re);
        result.im = core::multiply_add<R>(a.re, im, result.im);
    }
    return result;
}

/// The same factor in all lanes; Factor: Real<T>, or T itself.
template <Scalar T, class Factor>
[[gnu::always_inline]] inline Element<T> times(const Element<T>& value, Factor factor) {
    if constexpr (std::same_as<Factor, Real<T>>) {
        return scaled(value, core::broadcast(factor));
    } else {
        return product(value,
                       Element<T>{core::broadcast(factor.real()), core::broadcast(factor.imag())});
    }
}

template <Scalar T>
[[gnu::always_inline]] inline Element<T> sum_of(Element<T> a, const Element<T>& b) {
    a.re += b.re;
    if constexpr (is_complex<T>) a.im += b.im;
    return a;
}

/// In every lane `a` where the condition holds, else `b`.
template <Scalar T, class Condition>
[[gnu::always_inline]] inline Element<T> select(const Condition& condition, const Element<T>& a,
                                                const Element<T>& b) {
    Element<T> result;
    result.re = condition ? a.re : b.re;
    if constexpr (is_complex<T>) result.im = condition ? a.im : b.im;
    return result;
}

template <Scalar T>
[[gnu::always_inline]] inline Element<T> difference(Element<T> a, const Element<T>& b) {
    a.re -= b.re;
    if constexpr (is_complex<T>) a.im -= b.im;
    return a;
}

/// The one inner loop: sum[r][c] += sum over k < depth of a(r, k) op(b(c, k)). `lower` skips the
/// sums above the diagonal.
template <Second second, bool lower = false, Scalar T, int rows, int columns>
[[gnu::always_inline]] inline void add_products(Element<T> (&sum)[rows][columns],
                                                const Matrix<T>& a, const Matrix<T>& b,
                                                std::ptrdiff_t depth) {
    for (std::ptrdiff_t k = 0; k < depth; ++k) {
        Element<T> left[rows];
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) left[r] = a.load(r, k);
#pragma GCC unroll 8
        for (int c = 0; c < columns; ++c) {
            Element<T> right = b.load(c, k);
            core::hold(right.re);
            if constexpr (is_complex<T>) core::hold(right.im);
#pragma GCC unroll 8
            for (int r = 0; r < rows; ++r) {
                if (!lower || c <= r) add_product<second>(sum[r][c], left[r], right);
            }
        }
    }
}

/// What the diagonal of a triangular matrix holds.
enum class Diagonal {
    real_reciprocals,  ///< reciprocals of real entries, in the real parts
    reciprocals,
    unused,  ///< the entries are one
};

/// Solves one tile of X op(G)^T = B, with a lower triangular G. The tile is columns [j, j +
/// columns) of rows [0, rows) of x; columns [first, j) already hold the solution, columns before
/// `first` are zero. B, a Matrix or a SharedMatrix, may alias X.
template <Second second, Diagonal diagonal, int rows, int columns, Scalar T, class Sides>
[[gnu::noinline]] void substitute_tile(const Matrix<T>& g, const Sides& b, const Matrix<T>& x,
                                       std::ptrdiff_t first, std::ptrdiff_t j) {
    Element<T> sum[rows][columns] = {};
    add_products<second>(sum, x.from(0, first), g.from(j, first), j - first);
#pragma GCC unroll 8
    for (int c = 0; c < columns; ++c) {
        Element<T> row_of_g[columns];
#pragma GCC unroll 8
        for (int k = 0; k <= c; ++k) row_of_g[k] = g.load(j + c, j + k);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            Element<T> value = difference(b.load(r, j + c), sum[r][c]);
#pragma GCC unroll 8
            for (int k = 0; k < c; ++k) subtract_product<second>(value, sum[r][k], row_of_g[k]);
            if constexpr (diagonal == Diagonal::real_reciprocals) {
                value = scaled(value, row_of_g[c].re);
            } else if constexpr (diagonal == Diagonal::reciprocals) {
                value = product<second>(value, row_of_g[c]);
            }
            sum[r][c] = value;
            x.store(r, j + c, sum[r][c]);
        }
    }
}

/// alpha value + beta old(), which is not called where beta is 0. The same bits wherever the
/// compiler puts it: alpha's product is rounded.
template <Scalar T, class Factor, class Old>
[[gnu::always_inline]] inline Element<T> combined(Factor alpha, const Element<T>& value,
                                                  Factor beta, const Old& old) {
    Element<T> result = times(value, alpha);
    if (beta == Factor{0}) return result;
    core::hold(result.re);
    if constexpr (is_complex<T>) core::hold(result.im);
    if constexpr (!std::same_as<Factor, Real<T>>) {
        return sum_of(result, times(old(), beta));
    } else {
        const Element<T> before = old();
        const core::Pack<Factor> by = core::broadcast(beta);
        result.re = core::multiply_add<Factor>(before.re, by, result.re);
        if constexpr (is_complex<T>) {
            result.im = core::multiply_add<Factor>(before.im, by, result.im);
        }
        return result;
    }
}

/// One tile of C = alpha A op(B)^T + beta C; `lower`: only elements on or below the diagonal.
/// Factor: Real<T>, or T itself.
template <Second second, bool lower, int rows, int columns, Scalar T, class Factor>
[[gnu::noinline]] void product_tile(std::ptrdiff_t depth, Factor alpha, const Matrix<T>& a,
                                    const Matrix<T>& b, Factor beta, const Matrix<T>& c) {
    Element<T> sum[rows][columns] = {};
    add_products<second, lower>(sum, a, b, depth);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
        for (int s = 0; s < columns; ++s) {
            if (lower && s > r) continue;
            c.store(r, s, combined(alpha, sum[r][s], beta, [&] { return c.load(r, s); }));
        }
    }
}

/// Pivot statistics of `factor`, per lane.
template <Scalar T>
struct Pivots {
    using Integers = decltype(core::Pack<Real<T>>{} < core::Pack<Real<T>>{});

    Integers info{};  ///< 0, or the order of the first leading minor that is not positive
    core::Pack<Real<T>> smallest = core::broadcast(std::numeric_limits<Real<T>>::max());
    core::Pack<Real<T>> largest{};

    /// Ratio of the largest to the smallest pivot; infinity if info is not 0.
    core::Pack<Real<T>> ratio() const {
        const auto infinity = core::broadcast(std::numeric_limits<Real<T>>::infinity());
        return info == 0 ? largest / smallest : infinity;
    }
};

#if defined(__FMA__)
/// 1 / sqrt(x) of normal numbers.
inline core::Pack<float> reciprocal_square_root_of_normal(core::Pack<float> x) {
    using P = core::Pack<float>;
    // The guess y is off by 2^-11 at most. The result is y (1 + e / 2 + 3/8 e^2) with e = 1 - x
    // y^2, of which what x y loses is a part, too.
#if defined(__AVX512F__)
    const P y = _mm512_maskz_rsqrt14_ps(0xFFFF, x);
#else
    const P y = _mm256_rsqrt_ps(x);
#endif
    const auto add = core::multiply_add<float>;
    const P root = x * y;
    const P lost = add(x, y, -root);
    const P e = add(-lost, y, add(-root, y, P{} + 1.0F));
    return add(y * e, add(e, P{} + 0.375F, P{} + 0.5F), y);
}
#endif

/// 1 / sqrt(x). Rounded almost correctly: its square is a factor of every solution (1 dB in the
/// solutions of order 18).
template <class R>
inline core::Pack<R> reciprocal_square_root(core::Pack<R> x) {
#if defined(__FMA__)
    if constexpr (sizeof(R) == 4) {
        constexpr R least = std::numeric_limits<R>::min();
        constexpr R most = std::numeric_limits<R>::max();
        if (!any(~((x >= least) & (x <= most)))) return reciprocal_square_root_of_normal(x);
    }
#endif
    alignas(core::simd_bytes) R value[core::lanes<R>];
    core::store(value, x);
    for (R& v : value) v = static_cast<R>(1.0 / std::sqrt(static_cast<double>(v)));
    return core::load(value);
}

/// Validates pivot number `order` (counted from 1) and returns 1 / sqrt(pivot). In lanes where the
/// pivot is not positive and finite, returns 1 and sets info.
template <Scalar T>
inline core::Pack<Real<T>> accept_pivot(core::Pack<Real<T>> pivot, int order, Pivots<T>& pivots) {
    using R = Real<T>;
    const auto one = core::broadcast(R{1});
    const auto good = (pivot > R{0}) & (pivot <= std::numeric_limits<R>::max());
    const typename Pivots<T>::Integers here =
        good ? typename Pivots<T>::Integers{} : typename Pivots<T>::Integers{} + order;
    pivots.info = pivots.info == 0 ? here : pivots.info;
    const core::Pack<R> reciprocal = good ? reciprocal_square_root<R>(pivot) : one;
    pivot = good ? pivot : one;
    pivots.smallest = pivot < pivots.smallest ? pivot : pivots.smallest;
    pivots.largest = pivot > pivots.largest ? pivot : pivots.largest;
    return reciprocal;
}

/// Factors the diagonal tile at (j, j) of `g`; the columns before j are already factored.
template <int size, Scalar T>
[[gnu::noinline]] void factor_diagonal_tile(const Matrix<T>& g, std::ptrdiff_t j,
                                            Pivots<T>& pivots) {
    Element<T> sum[size][size] = {};
    add_products<Second::conjugated, true>(sum, g.from(j, 0), g.from(j, 0), j);
#pragma GCC unroll 8
    for (int c = 0; c < size; ++c) {
        core::Pack<Real<T>> reciprocal{};
#pragma GCC unroll 8
        for (int r = c; r < size; ++r) {
            Element<T> value = difference(g.load(j + r, j + c), sum[r][c]);
#pragma GCC unroll 8
            for (int k = 0; k < c; ++k) {
                subtract_product<Second::conjugated>(value, sum[r][k], sum[c][k]);
            }
            if (r == c) {
                reciprocal = accept_pivot<T>(value.re, static_cast<int>(j) + c + 1, pivots);
                value = Element<T>{};
                value.re = reciprocal;
            } else {
                value = scaled(value, reciprocal);
            }
            sum[r][c] = value;
            g.store(j + r, j + c, value);
        }
    }
}

template <Scalar T>
constexpr int cholesky_steps(int n) {
    int steps = 0;
    for (int j = 0; j < n; j += tile_diagonal<T>) {
        const int below = std::max(n - j - tile_diagonal<T>, 0);
        steps += 1 + (below + tile_rows<T> - 1) / tile_rows<T>;
    }
    return steps;
}

/// Factors Hermitian positive definite matrices of order n in place. Reads and writes the lower
/// triangle only, which becomes G of A = G G^H with 1 / G_jj in place of G_jj. (G = L D^1/2 of A =
/// L D L^H; Higham 2002, alg. 10.2, by tiles, left-looking.) Lanes with a matrix that is not
/// positive definite get a meaningless factor, finite or infinite, and a nonzero info. Fetches
/// `ahead` in cholesky_steps(n) steps.
template <Scalar T>
Pivots<T> factor(int n, const Matrix<T>& a, Ahead& ahead) {
    constexpr int size = tile_diagonal<T>;
    Pivots<T> pivots;
    for (int j = 0; j < n; j += size) {
        ahead.fetch();
        with_constant<size>(n - j, [&](auto columns) {
            factor_diagonal_tile<columns>(a, j, pivots);
            for (int i = j + size; i < n; i += tile_rows<T>) {
                ahead.fetch();
                with_constant<tile_rows<T>>(n - i, [&](auto rows) {
                    const Matrix<T> below = a.from(i, 0);
                    substitute_tile<Second::conjugated, Diagonal::real_reciprocals, rows, columns>(
                        a, below, below, 0, j);
                });
            }
        });
    }
    return pivots;
}

/// Replaces v by the solution x of G x = v, from row `first` on; G is lower triangular as rows of v
/// are counted. divide(k, value) divides by G's diagonal, entry(i, k) is below it.
template <Second second, int most, Scalar T, class Divide, class Entry>
[[gnu::always_inline]] inline void substitute_column(int first, Column<most, T>& v,
                                                     const Divide& divide, const Entry& entry) {
#pragma GCC unroll 16
    for (int k = 0; k < most; ++k) {
        if (k < first || !v.has(k)) continue;
        divide(k, v[k]);
#pragma GCC unroll 16
        for (int i = k + 1; i < most; ++i) {
            if (v.has(i)) subtract_product<second>(v[i], v[k], entry(i, k));
        }
    }
}

/// Solves x op(G)^T = b for one row of n elements, which stays in registers. Fetches `ahead` in n
/// steps.
template <Second second, Diagonal diagonal, int most, Scalar T, class Sides>
[[gnu::noinline]] void substitute_row(int n, const Matrix<T>& g, const Sides& b, const Matrix<T>& x,
                                      Ahead& ahead) {
    Column<most, T> v(n);
#pragma GCC unroll 16
    for (int i = 0; i < most; ++i) v[i] = v.has(i) ? b.load(0, i) : Element<T>{};
    const auto divide = [&](int k, Element<T>& value) {
        ahead.fetch();
        if constexpr (diagonal == Diagonal::real_reciprocals) {
            value = scaled(value, g.load(k, k).re);
        } else if constexpr (diagonal == Diagonal::reciprocals) {
            value = product<second>(value, g.load(k, k));
        }
    };
    substitute_column<second>(0, v, divide, [&](int i, int k) { return g.load(i, k); });
    v.store(x.transposed());
}

/// Steps in which `substitute` fetches memory ahead.
template <Scalar T>
constexpr core::index_t substitution_steps(int n, core::index_t rows) {
    if (rows == 1 && is_in_registers(n)) return n;
    return core::ceil_div<core::index_t>(n, tile_columns<T>) *
           core::ceil_div<core::index_t>(rows, tile_rows<T>);
}

/// Solves X op(G)^T = B for `rows` rows of x of n elements each, with a lower triangular G. B may
/// alias X. Columns of x before `first` are taken for zeros and left alone.
template <Second second, Diagonal diagonal = Diagonal::real_reciprocals, Scalar T, class Sides>
void substitute(int n, int rows, const Matrix<T>& g, const Sides& b, const Matrix<T>& x,
                Ahead& ahead, int first = 0) {
    if (rows == 1 && first == 0 && is_in_registers(n)) {
        return with_most_rows(
            n, [&](auto most) { substitute_row<second, diagonal, most>(n, g, b, x, ahead); });
    }
    for (int j = first; j < n; j += tile_columns<T>) {
        with_constant<tile_columns<T>>(n - j, [&](auto columns) {
            for (int r = 0; r < rows; r += tile_rows<T>) {
                ahead.fetch();
                with_constant<tile_rows<T>>(rows - r, [&](auto some) {
                    substitute_tile<second, diagonal, some, columns>(g, b.from(r, 0), x.from(r, 0),
                                                                     first, j);
                });
            }
        });
    }
}

/// The matrix whose rows, of n elements, are those of x from their last element back.
template <Scalar T>
Matrix<T> reversed_rows(int n, const Matrix<T>& x) {
    return {x.at(0, n - 1), x.row_stride, -x.column_stride};
}

/// Solves A x = b for every row of x ([right-hand side][n]), with A = G G^H from `factor`; b may
/// alias x. In lanes with info != 0 the solutions are meaningless. Fetches `ahead` in twice
/// substitution_steps(n, right_hand_sides) steps.
template <Scalar T, class Sides>
void solve(int n, int right_hand_sides, const Matrix<T>& g, const Sides& b, const Matrix<T>& x,
           Ahead& ahead) {
    substitute<Second::plain>(n, right_hand_sides, g, b, x, ahead);
    // In reverse order G^H is lower triangular: back-substitution is the forward sweep on reversed
    // views.
    const Matrix<T> reversed_x = reversed_rows(n, x);
    substitute<Second::conjugated>(n, right_hand_sides, g.transposed().reversed(n), reversed_x,
                                   reversed_x, ahead);
}

/// C = alpha A op(B)^T + beta C with A of rows x depth, B of columns x depth; with beta = 0 the old
/// C is not read.
template <Second second, Scalar T, class Factor>
void multiply(int rows, int columns, int depth, Factor alpha, const Matrix<T>& a,
              const Matrix<T>& b, Factor beta, const Matrix<T>& c) {
    for (int j = 0; j < columns; j += tile_columns<T>) {
        with_constant<tile_columns<T>>(columns - j, [&](auto some_columns) {
            for (int i = 0; i < rows; i += tile_rows<T>) {
                with_constant<tile_rows<T>>(rows - i, [&](auto some_rows) {
                    product_tile<second, false, some_rows, some_columns>(
                        depth, alpha, a.from(i, 0), b.from(j, 0), beta, c.from(i, j));
                });
            }
        });
    }
}

/// The lower triangle of C = alpha A A^H + beta C, A of n x depth; with beta = 0 the old C is not
/// read. The diagonal's imaginary parts are zero up to those of the old C.
template <Scalar T>
void hermitian_rank_k(int n, int depth, Real<T> alpha, const Matrix<T>& a, Real<T> beta,
                      const Matrix<T>& c) {
    constexpr int size = tile_diagonal<T>;
    for (int j = 0; j < n; j += size) {
        with_constant<size>(n - j, [&](auto columns) {
            product_tile<Second::conjugated, true, columns, columns>(
                depth, alpha, a.from(j, 0), a.from(j, 0), beta, c.from(j, j));
            for (int i = j + size; i < n; i += tile_rows<T>) {
                with_constant<tile_rows<T>>(n - i, [&](auto rows) {
                    product_tile<Second::conjugated, false, rows, columns>(
                        depth, alpha, a.from(i, 0), a.from(j, 0), beta, c.from(i, j));
                });
            }
        });
    }
}

/// The upper triangle of H = G^-H, with zeros below inside the diagonal tiles: what Gauss-Jordan
/// elimination leaves above the pivots (scaled by D^1/2), by the same elementwise operations.
template <Scalar T>
void eliminate_above(int n, const Matrix<T>& g, const Matrix<T>& h) {
    Ahead nothing;
    for (int i = 0; i < n; i += tile_columns<T>) {
        const int rows = std::min(tile_columns<T>, n - i);
        for (int r = 0; r < rows; ++r) {
            for (int c = i; c < n; ++c) {
                Element<T> unit{};
                if (c == i + r) unit.re = core::broadcast(Real<T>{1});
                h.store(i + r, c, unit);
            }
        }
        substitute<Second::conjugated>(n, rows, g, h.from(i, 0), h.from(i, 0), nothing, i);
    }
}

/// Solves A x = b for every row of x by Gauss-Jordan elimination; b may alias x. y = G^-1 b pivot
/// by pivot, then x = H y (`eliminate_above`), a product without dependent steps.
template <Scalar T, class Sides>
void solve_eliminated(int n, int right_hand_sides, const Matrix<T>& g, const Matrix<T>& h,
                      const Sides& b, const Matrix<T>& x) {
    Ahead nothing;
    substitute<Second::plain>(n, right_hand_sides, g, b, x, nothing);
    // Column tile j reads y from column j on only, so it may overwrite y.
    for (int j = 0; j < n; j += tile_columns<T>) {
        multiply<Second::plain>(right_hand_sides, std::min(tile_columns<T>, n - j), n - j,
                                Real<T>{1}, x.from(0, j), h.from(j, j), Real<T>{0}, x.from(0, j));
    }
}

}  // namespace aperture::dense::lanes
