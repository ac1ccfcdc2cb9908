// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/bodies.cuh"
#include "libcore/gpu/complex.cuh"

/// Bodies of operations on problems of batches: small matrices, and vectors as matrices of one
/// column. A group of threads works on one problem: `rank` is the thread's, `size` how many there
/// are, sync() waits for all, and `in_registers` says that numbers have no addresses, so that loops
/// must be unrolled. An entry is computed by one thread, in one order of sums, so that results are
/// the same bits for every group. Results must not be operands, and operands must be there before a
/// call; results are there after the next sync().
namespace aperture::compose::bodies {

using core::add_norm;
using core::conj;
using core::multiply_add;
using core::multiply_add_conj;
using core::norm;
using core::real_part;
using core::RealOf;

/// The group of a CPU.
struct Alone {
    static constexpr int rank = 0, size = 1;
    static constexpr bool in_registers = false;
    void sync() const {}
};

template <class T>
struct WithoutConst {
    using Type = T;
};
template <class T>
struct WithoutConst<const T> {
    using Type = T;
};

/// A matrix in C order whose extents the compiler knows.
template <class T, int row_count, int column_count>
struct Small {
    using Number = typename WithoutConst<T>::Type;
    static constexpr int rows = row_count, columns = column_count;
    T* entries;
    APERTURE_HD T& operator()(int row, int column) const { return entries[row * columns + column]; }
};
/// The same with extents that it does not.
template <class T>
struct Matrix {
    using Number = typename WithoutConst<T>::Type;
    T* entries;
    int rows, columns;
    APERTURE_HD T& operator()(int row, int column) const { return entries[row * columns + column]; }
};

/// Unroll the loop that follows: over numbers in registers, or on a device by fours, so that
/// neighbours in shared memory are read at once.
#if defined(__CUDACC__)
#define APERTURE_IN_REGISTERS _Pragma("unroll")
#define APERTURE_BY_FOURS _Pragma("unroll 4")
#else
#define APERTURE_IN_REGISTERS _Pragma("GCC unroll 8")
#define APERTURE_BY_FOURS
#endif

/// body(i) for first <= i < end, one after the other, by each thread of the group.
template <class Group, class Body>
APERTURE_HD void in_turn(const Group&, int first, int end, const Body& body) {
    if constexpr (Group::in_registers) {
        APERTURE_IN_REGISTERS
        for (int i = first; i < end; ++i) body(i);
    } else {
        APERTURE_BY_FOURS
        for (int i = first; i < end; ++i) body(i);
    }
}
/// body(i) for each i < count, by one thread of the group.
template <class Group, class Body>
APERTURE_HD void each(const Group& group, int count, const Body& body) {
    if constexpr (Group::size == 1) {
        in_turn(group, 0, count, body);
    } else {
        for (int i = group.rank; i < count; i += Group::size) body(i);
    }
}
/// body(row, column) for each entry, by one thread of the group.
template <class Group, class Body>
APERTURE_HD void each_entry(const Group& group, int rows, int columns, const Body& body) {
    if constexpr (Group::size == 1) {
        in_turn(group, 0, rows, [&](int row) {
            in_turn(group, 0, columns, [&](int column) { body(row, column); });
        });
    } else {
        for (int i = group.rank; i < rows * columns; i += Group::size) {
            body(i / columns, i % columns);
        }
    }
}

/// By a real number.
template <class T>
APERTURE_HD T quotient(T a, T b) {
    return a / b;
}
template <class T>
APERTURE_HD core::Complex<T> quotient(core::Complex<T> a, T b) {
    return {a.re / b, a.im / b};
}
template <class T>
APERTURE_HD T reciprocal(T a) {
    return T(1) / a;
}
template <class T>
APERTURE_HD core::Complex<T> reciprocal(core::Complex<T> a) {
    return conj(a) * reciprocal(norm(a));
}
template <class T>
APERTURE_HD T scaled(T a, T by) {
    return product(a, by);
}
template <class T>
APERTURE_HD core::Complex<T> scaled(core::Complex<T> a, T by) {
    return a * by;
}
/// What pivots are chosen by.
APERTURE_HD float weight(float a) { return fabs(a); }
APERTURE_HD double weight(double a) { return fabs(a); }
template <class T>
APERTURE_HD T weight(core::Complex<T> a) {
    return fabs(a.re) + fabs(a.im);
}

/// The type of row numbers that depend on comparisons of such numbers.
template <class Real>
struct IndexOfType {
    using Type = int;
};
template <class Real>
using IndexOf = typename IndexOfType<Real>::Type;
APERTURE_HD int choose_index(bool condition, int a, int b) { return condition ? a : b; }
template <class View>
APERTURE_HD void exchange_entries(const View& matrix, int row, int other, int column) {
    const auto entry = matrix(row, column);
    matrix(row, column) = matrix(other, column);
    matrix(other, column) = entry;
}
/// Of one column; `other` is not before `row`.
template <class Group, class View>
APERTURE_HD void exchange_rows(const Group& group, const View& matrix, int row, int other,
                               int column) {
    if constexpr (Group::in_registers) {  // The compiler must know each row.
        in_turn(group, row + 1, matrix.rows, [&](int below) {
            if (below == other) exchange_entries(matrix, row, below, column);
        });
    } else {
        exchange_entries(matrix, row, other, column);
    }
}

/// A number that all problems share, as problems that are computed at once need it.
template <class Number, class T>
struct Widened {
    APERTURE_HD static T of(T number) { return number; }
};

/// Of an entrywise operation: entries of matrices, or one number for all.
template <class Number, class T, int rows, int columns>
APERTURE_HD T entry_of(const Small<T, rows, columns>& matrix, int row, int column) {
    return matrix(row, column);
}
template <class Number, class T>
APERTURE_HD auto entry_of(const T& number, int, int) {
    return Widened<Number, T>::of(number);
}

/// An operation of bodies.cuh on all entries of `matrices` and numbers.
template <class Body, class Group, class Result, class... Operands>
APERTURE_HD void entrywise(const Group& group, const Result& result, const Operands&... operands) {
    each_entry(group, Result::rows, Result::columns, [&](int row, int column) {
        result(row, column) = Body::of(entry_of<typename Result::Number>(operands, row, column)...);
    });
}

/// How a matrix is read.
enum class Form { plain, transposed, adjoint };

template <Form form, class View>
APERTURE_HD typename View::Number entry(const View& matrix, int row, int column) {
    if constexpr (form == Form::plain) return matrix(row, column);
    if constexpr (form == Form::transposed) return matrix(column, row);
    if constexpr (form == Form::adjoint) return conj(matrix(column, row));
}

/// Keeps a number in a register, if it is one that compilers would load at each use.
template <class T>
APERTURE_HD void hold(T&) {}

/// Entries [row, row + rows) x [column, column + columns) of C = A B, by one thread.
template <int rows, int columns, Form form_a, Form form_b, class Group, class C, class A, class B>
APERTURE_HD void multiply_tile(const Group& group, const C& c, const A& a, const B& b, int row,
                               int column) {
    using Number = typename C::Number;
    const int depth = form_a == Form::plain ? a.columns : a.rows;
    Number sums[rows][columns];
    APERTURE_IN_REGISTERS
    for (int i = 0; i < rows; ++i) {
        APERTURE_IN_REGISTERS
        for (int j = 0; j < columns; ++j) sums[i][j] = Number(0);
    }
    in_turn(group, 0, depth, [&](int k) {
        Number left[rows];
        APERTURE_IN_REGISTERS
        for (int i = 0; i < rows; ++i) left[i] = entry<form_a>(a, row + i, k);
        APERTURE_IN_REGISTERS
        for (int j = 0; j < columns; ++j) {
            Number right = entry<form_b>(b, k, column + j);
            hold(right);
            APERTURE_IN_REGISTERS
            for (int i = 0; i < rows; ++i) sums[i][j] = multiply_add(sums[i][j], left[i], right);
        }
    });
    APERTURE_IN_REGISTERS
    for (int i = 0; i < rows; ++i) {
        APERTURE_IN_REGISTERS
        for (int j = 0; j < columns; ++j) c(row + i, column + j) = sums[i][j];
    }
}

/// C = A B
template <Form form_a, Form form_b>
struct MatrixMultiply {
    template <class Group, class C, class A, class B>
    APERTURE_HD static void of(const Group& group, const C& c, const A& a, const B& b) {
        if constexpr (Group::size == 1) {
            constexpr int tile = core::is_complex<typename C::Number> ? 2 : 4;
            const int tiles = c.rows / tile;
            in_turn(group, 0, tiles,
                    [&](int i) { multiply_rows<tile, tile>(group, c, a, b, i * tile); });
            in_turn(group, tiles * tile, c.rows,
                    [&](int row) { multiply_rows<1, tile>(group, c, a, b, row); });
        } else {
            constexpr int tile = rows_of_tile(C::rows, C::rows * C::columns / Group::size);
            each_entry(group, c.rows / tile, c.columns, [&](int i, int column) {
                multiply_tile<tile, 1, form_a, form_b>(group, c, a, b, i * tile, column);
            });
        }
    }

  private:
    /// A power of two, at most 8, that divides `rows`, so that a thread computes `entries`.
    APERTURE_HD static constexpr int rows_of_tile(int rows, int entries) {
        int tile = 8;
        while (tile > 1 && (tile > entries || rows % tile != 0)) tile /= 2;
        return tile;
    }
    template <int rows, int tile, class Group, class C, class A, class B>
    APERTURE_HD static void multiply_rows(const Group& group, const C& c, const A& a, const B& b,
                                          int row) {
        const int tiles = c.columns / tile;
        in_turn(group, 0, tiles, [&](int i) {
            multiply_tile<rows, tile, form_a, form_b>(group, c, a, b, row, i * tile);
        });
        in_turn(group, tiles * tile, c.columns, [&](int column) {
            multiply_tile<rows, 1, form_a, form_b>(group, c, a, b, row, column);
        });
    }
};

/// C = A A^H
struct RankK {
    template <class Group, class C, class A>
    APERTURE_HD static void of(const Group& group, const C& c, const A& a) {
        each_entry(group, c.rows, c.columns, [&](int row, int column) {
            if (column > row) return;
            typename C::Number sum(0);
            in_turn(group, 0, a.columns,
                    [&](int k) { sum = multiply_add_conj(sum, a(row, k), a(column, k)); });
            if (row == column) sum = real_part(sum);
            c(row, column) = sum;
            c(column, row) = conj(sum);
        });
    }
};

template <Form form>
struct Reformed {
    template <class Group, class C, class A>
    APERTURE_HD static void of(const Group& group, const C& c, const A& a) {
        each_entry(group, c.rows, c.columns,
                   [&](int row, int column) { c(row, column) = entry<form>(a, row, column); });
    }
};
using Copied = Reformed<Form::plain>;

/// x^H y
struct Dot {
    template <class Group, class C, class X>
    APERTURE_HD static void of(const Group& group, const C& c, const X& x, const X& y) {
        each(group, 1, [&](int) {
            typename C::Number sum(0);
            in_turn(group, 0, x.rows,
                    [&](int k) { sum = multiply_add_conj(sum, y(k, 0), x(k, 0)); });
            c(0, 0) = sum;
        });
    }
};

/// The square root of the sum of squares of all entries.
struct Norm {
    template <class Group, class C, class X>
    APERTURE_HD static void of(const Group& group, const C& c, const X& x) {
        each(group, 1, [&](int) {
            typename C::Number sum(0);
            in_turn(group, 0, x.rows * x.columns,
                    [&](int k) { sum = add_norm(sum, x.entries[k]); });
            c(0, 0) = sqrt(sum);
        });
    }
};

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
