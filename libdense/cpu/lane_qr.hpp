// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "libdense/cpu/lane_pivots.hpp"

/// Householder QR of matrices of m x n, m >= n, one per SIMD lane.
namespace aperture::dense::lanes {

template <class R>
inline core::Pack<R> square_root(core::Pack<R> x) {
    alignas(core::simd_bytes) R value[core::lanes<R>];
    core::store(value, x);
    for (R& v : value) v = std::sqrt(v);
    return core::load(value);
}

/// |value|^2
template <Scalar T>
[[gnu::always_inline]] inline core::Pack<Real<T>> square(const Element<T>& value) {
    core::Pack<Real<T>> result = value.re * value.re;
    if constexpr (is_complex<T>) result += value.im * value.im;
    return result;
}

/// A power of two for every lane whose squares would overflow or vanish: it brings the largest
/// entry near one. Elsewhere 1.
template <Scalar T>
core::Pack<Real<T>> safe_scale(int rows, int columns, const Matrix<T>& a) {
    using R = Real<T>;
    constexpr int range = std::numeric_limits<R>::max_exponent / 2 - 8;
    Mask<R> key{};
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            const Mask<R> here = pivot_key<T>(a.load(i, j));
            key = here > key ? here : key;
        }
    }
    const auto largest = reinterpret_cast<core::Pack<R>>(key);
    core::Pack<R> scale = core::broadcast(R{1});
    const R least = std::ldexp(R{1}, -range / 2);
    const R most = std::ldexp(R{1}, range);
    if (!any((largest < least) | (largest > most))) return scale;
    for (int l = 0; l < width<T>; ++l) {
        const R size = largest[l];
        if (!(size > 0) || size > std::numeric_limits<R>::max()) continue;
        // The inverse of a subnormal number would overflow.
        const int exponent = std::ilogb(std::max(size, std::numeric_limits<R>::min()));
        // Sums of squares of the small entries beside the largest must not vanish either.
        if (exponent > range || exponent < -range / 2) scale[l] = std::ldexp(R{1}, -exponent);
    }
    return scale;
}

template <Scalar T>
void scale_matrix(int rows, int columns, core::Pack<Real<T>> factor, const Matrix<T>& a) {
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) a.store(i, j, scaled(a.load(i, j), factor));
    }
}

/// c_j -= factor (v^H c_j) v for `columns` columns of c, with v = (1, v_1, ..., v_m-1).
template <int columns, Scalar T>
[[gnu::noinline]] void apply_reflector_tile(int m, const Matrix<T>& v, Element<T> factor,
                                            const Matrix<T>& c) {
    Element<T> sum[columns];
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) sum[j] = c.load(0, j);
    for (int i = 1; i < m; ++i) {
        Element<T> of_v = v.load(i, 0);
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j)
            add_product<Second::conjugated>(sum[j], c.load(i, j), of_v);
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
        sum[j] = product(factor, sum[j]);
        Element<T> top = c.load(0, j);
        top.re -= sum[j].re;
        if constexpr (is_complex<T>) top.im -= sum[j].im;
        c.store(0, j, top);
    }
    for (int i = 1; i < m; ++i) {
        Element<T> of_v = v.load(i, 0);
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j) {
            Element<T> value = c.load(i, j);
            subtract_product<Second::plain>(value, sum[j], of_v);
            c.store(i, j, value);
        }
    }
}

/// The same for any number of columns.
template <Scalar T>
void apply_reflector(int m, int columns, const Matrix<T>& v, Element<T> factor, const Matrix<T>& c,
                     Ahead* ahead = nullptr) {
    constexpr int some = is_complex<T> ? 4 : 8;
    for (int j = 0; j < columns; j += some) {
        if (ahead != nullptr) ahead->fetch();
        with_constant<some>(columns - j, [&](auto tile) {
            apply_reflector_tile<tile>(m, v, factor, c.from(0, j));
        });
    }
}

template <Scalar T>
Element<T> conjugate(Element<T> value) {
    if constexpr (is_complex<T>) value.im = -value.im;
    return value;
}

/// Turns a vector (alpha, x) to beta times the first unit vector, beta real: v is (1, factor x).
template <Scalar T>
struct Reflector {
    core::Pack<Real<T>> beta;
    Element<T> tau;
    Element<T> factor;
};

/// `below` is the square of x's length.
template <Scalar T>
Reflector<T> reflector_of(const Element<T>& alpha, const core::Pack<Real<T>>& below) {
    using R = Real<T>;
    const core::Pack<R> length = square_root<R>(square(alpha) + below);
    auto nothing = below == R{0};
    if constexpr (is_complex<T>) nothing = nothing & (alpha.im == R{0});
    core::Pack<R> beta = alpha.re > R{0} ? -length : length;
    beta = nothing ? alpha.re : beta;
    const core::Pack<R> divisor = nothing ? core::broadcast(R{1}) : beta;
    Element<T> tau = alpha;
    Element<T> difference = alpha;
    tau.re = (beta - alpha.re) / divisor;
    difference.re -= beta;
    if constexpr (is_complex<T>) tau.im = -alpha.im / divisor;
    return {beta, tau, reciprocal(select(nothing, unit<T>(), difference))};
}

/// Turns the first column of a, of m elements, to a multiple of the first unit vector: leaves that
/// multiple and v below it. Returns tau.
template <Scalar T>
Element<T> make_reflector(int m, const Matrix<T>& a) {
    core::Pack<Real<T>> below{};
    for (int i = 1; i < m; ++i) below += square(a.load(i, 0));
    const Reflector<T> reflector = reflector_of(a.load(0, 0), below);
    a.store(0, 0, real_element<T>(reflector.beta));
    for (int i = 1; i < m; ++i) a.store(i, 0, product(a.load(i, 0), reflector.factor));
    return reflector.tau;
}

template <Scalar T>
constexpr int qr_steps(int n) {
    constexpr int some = is_complex<T> ? 4 : 8;
    int steps = n;
    for (int k = 1; k < n; ++k) steps += (k + some - 1) / some;
    return steps;
}

/// A = Q R in place: R on and above the diagonal, reflectors below; tau is a row of n. Fetches
/// `ahead` in qr_steps(n) steps.
template <Scalar T>
void factor_qr(int m, int n, const Matrix<T>& a, const Matrix<T>& tau, Ahead& ahead) {
    for (int k = 0; k < n; ++k) {
        ahead.fetch();
        const Matrix<T> rest = a.from(k, k);
        const Element<T> factor = make_reflector(m - k, rest);
        tau.store(0, k, factor);
        apply_reflector(m - k, n - k - 1, rest, conjugate(factor), rest.from(0, 1), &ahead);
    }
}

/// c := Q^H c, or Q c, for the columns of c, of m elements.
template <Scalar T>
void apply_q(bool adjoint, int m, int n, int columns, const Matrix<T>& qr, const Matrix<T>& tau,
             const Matrix<T>& c) {
    for (int step = 0; step < n; ++step) {
        const int k = adjoint ? step : n - 1 - step;
        const Element<T> factor = tau.load(0, k);
        apply_reflector(m - k, columns, qr.from(k, k), adjoint ? conjugate(factor) : factor,
                        c.from(k, 0));
    }
}

/// The first n columns of Q.
template <Scalar T>
void form_q(int m, int n, const Matrix<T>& qr, const Matrix<T>& tau, const Matrix<T>& q) {
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) q.store(i, j, i == j ? unit<T>() : Element<T>{});
    }
    // Columns before k still are unit vectors that reflector k leaves alone.
    for (int k = n - 1; k >= 0; --k) {
        apply_reflector(m - k, n - k, qr.from(k, k), tau.load(0, k), q.from(k, k));
    }
}

/// Replaces R's diagonal by its reciprocals; where an entry is zero or not finite, by 1, and sets
/// info.
template <Scalar T>
Info<T> invert_r_diagonal(int n, const Matrix<T>& qr) {
    using R = Real<T>;
    Info<T> info{};
    for (int k = 0; k < n; ++k) {
        const core::Pack<R> entry = qr.load(k, k).re;
        const core::Pack<R> size = absolute(entry);
        const auto good = (size > R{0}) & (size <= std::numeric_limits<R>::max());
        const Info<T> here = good ? Info<T>{} : Info<T>{} + (k + 1);
        info = info == 0 ? here : info;
        qr.store(k, k, real_element<T>(R{1} / (good ? entry : core::broadcast(R{1}))));
    }
    return info;
}

}  // namespace aperture::dense::lanes
