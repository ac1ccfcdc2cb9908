// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

#if !defined(__CUDACC__) && !defined(APERTURE_MATH_DECLARED)
#include <math.h>  // NOLINT(modernize-deprecated-headers): kernels use the global names
#endif

namespace aperture::core {

/// A complex number as kernels see it; same layout as std::complex<T>, but aligned to its size so
/// that it is loaded and stored in one piece.
template <class T>
struct alignas(2 * sizeof(T)) Complex {
    T re, im;

    Complex() = default;
    APERTURE_HD constexpr Complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}

    APERTURE_HD constexpr Complex& operator+=(Complex b) {
        re += b.re;
        im += b.im;
        return *this;
    }
    APERTURE_HD constexpr Complex& operator-=(Complex b) {
        re -= b.re;
        im -= b.im;
        return *this;
    }
    APERTURE_HD constexpr Complex& operator*=(T scale) {
        re *= scale;
        im *= scale;
        return *this;
    }

    friend APERTURE_HD constexpr Complex operator+(Complex a, Complex b) { return a += b; }
    friend APERTURE_HD constexpr Complex operator-(Complex a, Complex b) { return a -= b; }
    friend APERTURE_HD constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
    friend APERTURE_HD constexpr Complex operator*(Complex a, T scale) { return a *= scale; }
    friend APERTURE_HD constexpr Complex operator*(T scale, Complex a) { return a *= scale; }
    friend APERTURE_HD constexpr Complex operator*(Complex a, Complex b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    friend APERTURE_HD constexpr bool operator==(Complex a, Complex b) {
        return a.re == b.re && a.im == b.im;
    }
};

template <class T>
struct RealOfType {
    using type = T;
};
template <class T>
struct RealOfType<Complex<T>> {
    using type = T;
};
/// float for float and Complex<float>, double for double and Complex<double>.
template <class T>
using RealOf = typename RealOfType<T>::type;

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

APERTURE_HD constexpr float conj(float a) { return a; }
APERTURE_HD constexpr double conj(double a) { return a; }
template <class T>
APERTURE_HD constexpr Complex<T> conj(Complex<T> a) {
    return {a.re, -a.im};
}

APERTURE_HD constexpr float real_part(float a) { return a; }
APERTURE_HD constexpr double real_part(double a) { return a; }
template <class T>
APERTURE_HD constexpr T real_part(Complex<T> a) {
    return a.re;
}

/// |a|^2, real.
APERTURE_HD constexpr float norm(float a) { return a * a; }
APERTURE_HD constexpr double norm(double a) { return a * a; }
template <class T>
APERTURE_HD constexpr T norm(Complex<T> a) {
    return a.re * a.re + a.im * a.im;
}

APERTURE_HD float fused_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
APERTURE_HD double fused_multiply_add(double a, double b, double c) { return fma(a, b, c); }

/// sum + a b, fused.
APERTURE_HD float multiply_add(float sum, float a, float b) {
    return fused_multiply_add(a, b, sum);
}
APERTURE_HD double multiply_add(double sum, double a, double b) {
    return fused_multiply_add(a, b, sum);
}
template <class T>
APERTURE_HD Complex<T> multiply_add(Complex<T> sum, Complex<T> a, Complex<T> b) {
    return {fused_multiply_add(-a.im, b.im, fused_multiply_add(a.re, b.re, sum.re)),
            fused_multiply_add(a.im, b.re, fused_multiply_add(a.re, b.im, sum.im))};
}
template <class T>
APERTURE_HD Complex<T> multiply_add(Complex<T> sum, T a, Complex<T> b) {
    return {fused_multiply_add(a, b.re, sum.re), fused_multiply_add(a, b.im, sum.im)};
}

/// sum + a conj(b), fused.
APERTURE_HD float multiply_add_conj(float sum, float a, float b) {
    return fused_multiply_add(a, b, sum);
}
APERTURE_HD double multiply_add_conj(double sum, double a, double b) {
    return fused_multiply_add(a, b, sum);
}
template <class T>
APERTURE_HD Complex<T> multiply_add_conj(Complex<T> sum, Complex<T> a, Complex<T> b) {
    return {fused_multiply_add(a.im, b.im, fused_multiply_add(a.re, b.re, sum.re)),
            fused_multiply_add(a.im, b.re, fused_multiply_add(-a.re, b.im, sum.im))};
}

/// sum + |a|^2, fused.
APERTURE_HD float add_norm(float sum, float a) { return fused_multiply_add(a, a, sum); }
APERTURE_HD double add_norm(double sum, double a) { return fused_multiply_add(a, a, sum); }
template <class T>
APERTURE_HD T add_norm(T sum, Complex<T> a) {
    return fused_multiply_add(a.im, a.im, fused_multiply_add(a.re, a.re, sum));
}

}  // namespace aperture::core
