// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/block_bodies.cuh"

/// Factors, solutions and inverses of the small matrices of batches.
namespace aperture::compose::bodies {

/// A = L L^H, L lower triangular; reads A on and below the diagonal.
struct Cholesky {
    template <class Group, class L, class A>
    APERTURE_HD static void of(const Group& group, const L& l, const A& a) {
        const int order = a.rows;
        each_entry(group, order, order, [&](int row, int column) {
            l(row, column) = column <= row ? a(row, column) : typename L::Number(0);
        });
        group.sync();
        in_turn(group, 0, order, [&](int j) {
            each(group, order - j, [&](int i) {
                auto sum = l(j + i, j);
                in_turn(group, 0, j,
                        [&](int k) { sum = multiply_add_conj(sum, -l(j + i, k), l(j, k)); });
                l(j + i, j) = sum;
            });
            group.sync();
            const auto root = sqrt(real_part(l(j, j)));
            const auto inverse = reciprocal(root);
            each(group, order - j - 1, [&](int i) { l(j + 1 + i, j) = l(j + 1 + i, j) * inverse; });
            group.sync();
            if (group.rank == 0) l(j, j) = root;
        });
    }
};

enum class Diagonal { any, real, ones };

template <Diagonal diagonal, class T>
APERTURE_HD auto inverse_of(T entry) {
    if constexpr (diagonal == Diagonal::any) return reciprocal(entry);
    if constexpr (diagonal == Diagonal::real) return reciprocal(real_part(entry));
    if constexpr (diagonal == Diagonal::ones) return RealOf<T>(1);
}

/// Whether there are as many columns as threads, so that a thread computes all of a column.
template <class Group, class X>
APERTURE_HD constexpr bool fills_columns() {
    if constexpr (Group::size == 1) {
        return true;
    } else {
        return X::columns >= Group::size;
    }
}

/// X = T^-1 X, of a triangular T that is read in a form; its columns are eliminated from the first
/// on if it is lower triangular, else from the last on. Also waits for X.
template <bool lower, Diagonal diagonal, Form form, class Group, class T, class X>
APERTURE_HD void solve_triangle(const Group& group, const T& t, const X& x) {
    const int order = x.rows;
    const auto place = [&](int step) { return lower ? step : order - 1 - step; };
    if constexpr (fills_columns<Group, X>()) {
        in_turn(group, 0, order, [&](int step) {
            const int row = place(step);
            const auto inverse = inverse_of<diagonal>(t(row, row));
            each(group, x.columns, [&](int column) {
                auto sum = x(row, column);
                in_turn(group, 0, step, [&](int before) {
                    const int k = place(before);
                    sum = multiply_add(sum, -entry<form>(t, row, k), x(k, column));
                });
                x(row, column) = diagonal == Diagonal::ones ? sum : scaled(sum, inverse);
            });
        });
        group.sync();
    } else {
        in_turn(group, 0, order, [&](int step) {
            const int k = place(step);
            if constexpr (diagonal != Diagonal::ones) {
                const auto inverse = inverse_of<diagonal>(t(k, k));
                each(group, x.columns,
                     [&](int column) { x(k, column) = scaled(x(k, column), inverse); });
                group.sync();
            }
            each_entry(group, order - 1 - step, x.columns, [&](int i, int column) {
                const int row = place(step + 1 + i);
                x(row, column) =
                    multiply_add(x(row, column), -entry<form>(t, row, k), x(k, column));
            });
            group.sync();
        });
    }
}

/// The row, from k on, of column k's largest entry. All threads find it.
template <class Group, class A>
APERTURE_HD auto pivot_row(const Group& group, const A& a, int k) {
    auto largest = weight(a(k, k));
    IndexOf<decltype(largest)> pivot(k);
    in_turn(group, k + 1, a.rows, [&](int row) {
        const auto other = weight(a(row, k));
        const auto larger = largest < other;
        largest = choose(larger, other, largest);
        pivot = choose_index(larger, row, pivot);
    });
    return pivot;
}

/// P A = L U in place, the ones of L's diagonal left out. Rows of X are exchanged, too, where there
/// are pivots.
template <bool pivots, class Group, class A, class X>
APERTURE_HD void factor_lu(const Group& group, const A& a, const X& x) {
    const int order = a.rows;
    in_turn(group, 0, order, [&](int k) {
        each(group, order - k, [&](int i) {
            auto sum = a(k + i, k);
            in_turn(group, 0, k, [&](int m) { sum = multiply_add(sum, -a(k + i, m), a(m, k)); });
            a(k + i, k) = sum;
        });
        group.sync();
        if constexpr (pivots) {
            const auto pivot = pivot_row(group, a, k);
            group.sync();
            each(group, order, [&](int column) { exchange_rows(group, a, k, pivot, column); });
            each(group, x.columns, [&](int column) { exchange_rows(group, x, k, pivot, column); });
            group.sync();
        }
        each(group, order - k - 1, [&](int i) {
            auto sum = a(k, k + 1 + i);
            in_turn(group, 0, k,
                    [&](int m) { sum = multiply_add(sum, -a(k, m), a(m, k + 1 + i)); });
            a(k, k + 1 + i) = sum;
        });
        const auto inverse = reciprocal(a(k, k));
        each(group, order - k - 1,
             [&](int i) { a(k + 1 + i, k) = product(a(k + 1 + i, k), inverse); });
        group.sync();
    });
}

/// A = L U without exchanges of rows, ones on the diagonal of L; or row p(i) of A is row i of L U.
struct Lu {
    template <class Group, class L, class A>
    APERTURE_HD static void of(const Group& group, const L& l, const L& u, const A& a) {
        Copied::of(group, u, a);
        group.sync();
        factor_lu<false>(group, u, u);
        take_apart(group, l, u);
    }
    template <class Group, class L, class P, class A>
    APERTURE_HD static void of(const Group& group, const L& l, const L& u, const P& p, const A& a) {
        Copied::of(group, u, a);
        each(group, p.rows, [&](int row) { p(row, 0) = typename P::Number(row); });
        group.sync();
        factor_lu<true>(group, u, p);
        take_apart(group, l, u);
    }

  private:
    template <class Group, class L>
    APERTURE_HD static void take_apart(const Group& group, const L& l, const L& u) {
        using Number = typename L::Number;
        each_entry(group, u.rows, u.rows, [&](int row, int column) {
            l(row, column) = column < row ? u(row, column) : Number(row == column ? 1 : 0);
            if (column < row) u(row, column) = Number(0);
        });
    }
};

/// What is known of a matrix.
enum class Shape { general, positive_definite, lower, upper };

/// X = A^-1 X; matrices that are factored need `work`, a matrix of A's extents.
template <Shape shape, class Group, class A, class X, class... Work>
APERTURE_HD void solve_in_place(const Group& group, const A& a, const X& x, const Work&... work) {
    if constexpr (shape == Shape::general) {
        Copied::of(group, work..., a);
        group.sync();
        factor_lu<true>(group, work..., x);
        solve_triangle<true, Diagonal::ones, Form::plain>(group, work..., x);
        solve_triangle<false, Diagonal::any, Form::plain>(group, work..., x);
    } else if constexpr (shape == Shape::positive_definite) {
        Cholesky::of(group, work..., a);
        group.sync();
        solve_triangle<true, Diagonal::real, Form::plain>(group, work..., x);
        solve_triangle<false, Diagonal::real, Form::adjoint>(group, work..., x);
    } else {
        group.sync();
        solve_triangle<shape == Shape::lower, Diagonal::any, Form::plain>(group, a, x);
    }
}

/// X = A^-1 B
template <Shape shape>
struct Solve {
    template <class Group, class X, class A, class B, class... Work>
    APERTURE_HD static void of(const Group& group, const X& x, const A& a, const B& b,
                               const Work&... work) {
        Copied::of(group, x, b);
        solve_in_place<shape>(group, a, x, work...);
    }
};

template <Shape shape>
struct Inverse {
    template <class Group, class X, class A, class... Work>
    APERTURE_HD static void of(const Group& group, const X& x, const A& a, const Work&... work) {
        each_entry(group, a.rows, a.rows, [&](int row, int column) {
            x(row, column) = typename X::Number(row == column ? 1 : 0);
        });
        solve_in_place<shape>(group, a, x, work...);
    }
};

/// A = Q R by Householder's reflections of [A, B] = `work`: R, with a diagonal that is real and not
/// negative, and the first rows of Q^H B.
template <class Group, class Work>
APERTURE_HD void factor_qr(const Group& group, const Work& work, int columns) {
    using Number = typename Work::Number;
    in_turn(group, 0, columns, [&](int k) {
        RealOf<Number> squares(0);
        in_turn(group, k, work.rows, [&](int i) { squares = add_norm(squares, work(i, k)); });
        const Number head = work(k, k);
        const auto length = sqrt(squares), of_head = sqrt(norm(head));
        const RealOf<Number> zero(0), one(1);
        const Number phase = choose(zero < of_head, quotient(head, of_head), Number(one));
        const Number top = head + phase * length;
        const auto scale = choose(zero < length, one / (length * (length + of_head)), zero);
        each(group, work.columns - k - 1, [&](int j) {
            const int column = k + 1 + j;
            Number sum = product(conj(top), work(k, column));
            in_turn(group, k + 1, work.rows,
                    [&](int i) { sum = multiply_add_conj(sum, work(i, column), work(i, k)); });
            sum = sum * scale;
            in_turn(group, k + 1, work.rows, [&](int i) {
                work(i, column) = multiply_add(work(i, column), -work(i, k), sum);
            });
            work(k, column) = product(-conj(phase), work(k, column) - product(top, sum));
        });
        group.sync();
        if (group.rank == 0) work(k, k) = Number(length);
    });
    group.sync();
}

struct Qr {
    template <class Group, class R, class A, class Work>
    APERTURE_HD static void of(const Group& group, const R& r, const A& a, const Work& work) {
        Copied::of(group, work, a);
        group.sync();
        factor_qr(group, work, a.columns);
        store_r(group, r, work);
    }
    template <class Group, class R, class Y, class A, class B, class Work>
    APERTURE_HD static void of(const Group& group, const R& r, const Y& y, const A& a, const B& b,
                               const Work& work) {
        each_entry(group, work.rows, work.columns, [&](int row, int column) {
            work(row, column) = column < a.columns ? a(row, column) : b(row, column - a.columns);
        });
        group.sync();
        factor_qr(group, work, a.columns);
        store_r(group, r, work);
        each_entry(group, y.rows, y.columns,
                   [&](int row, int column) { y(row, column) = work(row, a.columns + column); });
    }

  private:
    template <class Group, class R, class Work>
    APERTURE_HD static void store_r(const Group& group, const R& r, const Work& work) {
        each_entry(group, r.rows, r.columns, [&](int row, int column) {
            r(row, column) = column < row ? typename R::Number(0) : work(row, column);
        });
    }
};

}  // namespace aperture::compose::bodies
