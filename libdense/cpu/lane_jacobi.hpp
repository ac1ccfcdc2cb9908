// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "aperture/dense/batch_spectral.hpp"
#include "libdense/cpu/lane_lu.hpp"
#include "libdense/cpu/lane_qr.hpp"

/// Jacobi's method on problems in lanes: pairs of columns row by row (cyclic order), until no lane
/// rotates any. Lanes that are done before the others rotate by the identity.
namespace aperture::dense::lanes {

/// Unit roundoff.
template <class R>
inline constexpr R roundoff = std::numeric_limits<R>::epsilon() / 2;

/// The unitary matrix [[c, conj(s)], [-s, c]] that makes [[pp, conj(qp)], [qp, qq]] diagonal, of
/// the smaller angle; in lanes that are not wanted, the identity. (Golub & Van Loan 2013, alg.
/// 8.5.1, without the division by qp.)
template <Scalar T>
struct Rotation {
    core::Pack<Real<T>> c;
    Element<T> s;
    core::Pack<Real<T>> step;  ///< pp decreases and qq increases by it

    /// Of difference = qq - pp and norm = |qp|^2.
    Rotation(Mask<Real<T>> wanted, core::Pack<Real<T>> difference, const Element<T>& qp,
             core::Pack<Real<T>> norm) {
        using R = Real<T>;
        const core::Pack<R> root = square_root<R>(difference * difference + R{4} * norm);
        core::Pack<R> factor = R{2} / (absolute(difference) + root);
        factor = difference < R{0} ? -factor : factor;
        factor = wanted ? factor : core::Pack<R>{};
        step = norm * factor;
        c = R{1} / square_root<R>(R{1} + step * factor);
        s = scaled(qp, factor * c);
    }
    /// (x, y) := (c x - s y, conj(s) x + c y)
    [[gnu::always_inline]] void turn(Element<T>& x, Element<T>& y) const {
        Element<T> next = scaled(x, c);
        subtract_product<Second::plain>(next, y, s);
        y = scaled(y, c);
        add_product<Second::conjugated>(y, x, s);
        x = next;
    }
};

/// Brings the largest entry of every lane into [1, 2) by a power of two, and returns its inverse.
/// Row i has end_of_row(i) entries. Lanes with entries that are not finite become zero, and are in
/// `bad`.
template <Scalar T, class EndOfRow>
core::Pack<Real<T>> normalise(int rows, const EndOfRow& end_of_row, const Matrix<T>& a,
                              Mask<Real<T>>& bad) {
    using R = Real<T>;
    core::Pack<R> largest = core::broadcast(std::numeric_limits<R>::min());
    bad = Mask<R>{};
    const auto add = [&](core::Pack<R> part) {
        const core::Pack<R> size = absolute(part);
        bad |= ~(size <= std::numeric_limits<R>::max());
        largest = size > largest ? size : largest;
    };
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < end_of_row(i); ++j) {
            const Element<T> entry = a.load(i, j);
            add(entry.re);
            if constexpr (is_complex<T>) add(entry.im);
        }
    }
    largest = bad ? core::broadcast(R{1}) : largest;
    // Its exponent alone. The inverse of the largest power is subnormal, but exact.
    const Mask<R> exponent =
        reinterpret_cast<Mask<R>>(largest) &
        reinterpret_cast<Mask<R>>(core::broadcast(std::numeric_limits<R>::infinity()));
    const auto power = reinterpret_cast<core::Pack<R>>(exponent);
    const core::Pack<R> scale = R{1} / power;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < end_of_row(i); ++j) {
            a.store(i, j, select(bad, Element<T>{}, scaled(a.load(i, j), scale)));
        }
    }
    return power;
}

template <Scalar T>
void set_identity(int n, const Matrix<T>& a) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) a.store(i, j, i == j ? unit<T>() : Element<T>{});
    }
}

/// Rotates columns p and q.
template <Scalar T>
void rotate_columns(int rows, const Rotation<T>& rotation, const Matrix<T>& p, const Matrix<T>& q) {
    for (int i = 0; i < rows; ++i) {
        Element<T> x = p.load(i, 0);
        Element<T> y = q.load(i, 0);
        rotation.turn(x, y);
        p.store(i, 0, x);
        q.store(i, 0, y);
    }
}

/// A := J^H A J in the lower triangle of a Hermitian A, J the rotation of columns p < q, but for
/// the element (q, p).
template <Scalar T>
void rotate_hermitian(int n, int p, int q, const Rotation<T>& rotation, const Matrix<T>& a) {
    Rotation<T> of_rows = rotation;
    of_rows.s = conjugate(rotation.s);
    rotate_columns(p, of_rows, a.from(p, 0).transposed(), a.from(q, 0).transposed());
    for (int i = p + 1; i < q; ++i) {
        Element<T> x = a.load(i, p);
        Element<T> y = conjugate(a.load(q, i));
        rotation.turn(x, y);
        a.store(i, p, x);
        a.store(q, i, conjugate(y));
    }
    rotate_columns(n - q - 1, rotation, a.from(q + 1, p), a.from(q + 1, q));
    a.store(p, p, real_element<T>(a.load(p, p).re - rotation.step));
    a.store(q, q, real_element<T>(a.load(q, q).re + rotation.step));
}

/// Calls rotate(p, q), which returns the lanes it rotated, in sweeps. Returns the lanes that
/// most_sweeps do not suffice for.
template <class R, class Rotate>
Mask<R> sweep(int n, const Rotate& rotate) {
    Mask<R> rotated{};
    for (int s = 0; s < most_sweeps; ++s) {
        rotated = Mask<R>{};
        for (int p = 0; p < n - 1; ++p) {
            for (int q = p + 1; q < n; ++q) rotated |= rotate(p, q);
        }
        if (!any(rotated)) break;
    }
    return rotated;
}

/// Makes a Hermitian A from `normalise` diagonal: V^H A V. `v` may be null.
template <Scalar T>
Mask<Real<T>> diagonalise(int n, const Matrix<T>& a, const Matrix<T>* v) {
    using R = Real<T>;
    return sweep<R>(n, [&](int p, int q) {
        const Element<T> qp = a.load(q, p);
        const core::Pack<R> norm = square(qp);
        const Mask<R> wanted = norm > roundoff<R> * roundoff<R>;
        if (any(wanted)) {
            const Rotation<T> rotation(wanted, a.load(q, q).re - a.load(p, p).re, qp, norm);
            rotate_hermitian(n, p, q, rotation, a);
            a.store(q, p, select(wanted, Element<T>{}, qp));
            if (v != nullptr) rotate_columns(n, rotation, v->from(0, p), v->from(0, q));
        }
        return wanted;
    });
}

/// Below this, relative to the largest entry, a column is as good as zero.
template <class R>
inline constexpr R least_length = roundoff<R>* roundoff<R>;

/// Makes the columns of A, m x n from `normalise`, orthogonal: A V.
template <Scalar T>
Mask<Real<T>> make_orthogonal(int m, int n, const Matrix<T>& a, const Matrix<T>& v) {
    using R = Real<T>;
    const R rows = static_cast<R>(m);
    const R tolerance = R{4} * rows * roundoff<R> * roundoff<R>;
    return sweep<R>(n, [&](int p, int q) {
        core::Pack<R> pp{};
        core::Pack<R> qq{};
        Element<T> qp{};
        for (int i = 0; i < m; ++i) {
            const Element<T> x = a.load(i, p);
            const Element<T> y = a.load(i, q);
            pp += square(x);
            qq += square(y);
            add_product<Second::conjugated>(qp, x, y);
        }
        constexpr R least = least_length<R> * least_length<R>;
        const Mask<R> long_enough = (pp > least) & (qq > least);
        const core::Pack<R> one = core::broadcast(R{1});
        const core::Pack<R> of_p = square_root<R>(long_enough ? pp : one);
        const core::Pack<R> of_q = square_root<R>(long_enough ? qq : one);
        const core::Pack<R> by_p = R{1} / of_p;
        const core::Pack<R> by_q = R{1} / of_q;
        // Of columns of geometric mean length one, so that no square vanishes.
        qp = scaled(scaled(qp, by_p), by_q);
        const core::Pack<R> norm = square(qp);
        const Mask<R> wanted = long_enough & (norm > tolerance);
        if (any(wanted)) {
            const Rotation<T> rotation(wanted, of_q * by_p - of_p * by_q, qp, norm);
            rotate_columns(m, rotation, a.from(0, p), a.from(0, q));
            rotate_columns(n, rotation, v.from(0, p), v.from(0, q));
        }
        return wanted;
    });
}

/// Clears failed lanes, and the signs of zeros, which depend on when other lanes are done.
template <Scalar T>
void finish(const Info<T>& info, int rows, int columns, const Matrix<T>& a) {
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            a.store(i, j, select(info == 0, sum_of(a.load(i, j), Element<T>{}), Element<T>{}));
        }
    }
}

/// Sorts `values`, a row of n, in ascending or descending order, and with them the columns of two
/// matrices of so many rows.
template <Scalar T>
void sort_columns(bool ascending, int n, const Matrix<Real<T>>& values, int rows,
                  const Matrix<T>& a, int other_rows, const Matrix<T>& other) {
    using R = Real<T>;
    for (int k = 0; k < n; ++k) {
        core::Pack<R> first = values.load(0, k).re;
        Info<T> column = Info<T>{} + k;
        for (int j = k + 1; j < n; ++j) {
            const core::Pack<R> here = values.load(0, j).re;
            const Mask<R> before = ascending ? here < first : here > first;
            column = before ? Info<T>{} + j : column;
            first = before ? here : first;
        }
        int columns[width<T>];
        for (int l = 0; l < width<T>; ++l) columns[l] = static_cast<int>(column[l]);
        exchange_rows(k, n, columns, 1, values.transposed());
        exchange_rows(k, n, columns, rows, a.transposed());
        exchange_rows(k, n, columns, other_rows, other.transposed());
    }
}

}  // namespace aperture::dense::lanes
