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

}  // namespace aperture::compose::bodies
