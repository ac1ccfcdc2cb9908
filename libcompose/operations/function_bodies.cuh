// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/bodies.cuh"

/// Exponentials and logarithms of multiply-adds alone, in one order, since those of libraries have
/// other bits on each of them. Within 1 ulp.
namespace aperture::compose::bodies {

/// The number whose exponent of 2 is `exponent`, that of a normal number; and the bits of a number.
APERTURE_HD float power_of_two(float, int exponent) {
    union {
        unsigned bits;
        float number;
    } of = {static_cast<unsigned>(exponent + 127) << 23};
    return of.number;
}
APERTURE_HD double power_of_two(double, int exponent) {
    union {
        unsigned long long bits;
        double number;
    } of = {static_cast<unsigned long long>(exponent + 1023) << 52};
    return of.number;
}

/// A normal number as fraction 2^exponent, the fraction from 1/sqrt(2) to sqrt(2).
template <class T>
struct Fraction {
    T fraction;
    T exponent;
};
APERTURE_HD Fraction<float> split(float a) {
    union {
        float number;
        unsigned bits;
    } of = {a};
    // 0x3f3504f3 is sqrt(1/2).
    const int exponent = static_cast<int>(of.bits - 0x3f3504f3u) >> 23;
    of.bits -= static_cast<unsigned>(exponent) << 23;
    return {of.number, static_cast<float>(exponent)};
}
APERTURE_HD Fraction<double> split(double a) {
    union {
        double number;
        unsigned long long bits;
    } of = {a};
    const long long exponent = static_cast<long long>(of.bits - 0x3fe6a09e667f3bcdull) >> 52;
    of.bits -= static_cast<unsigned long long>(exponent) << 52;
    return {of.number, static_cast<double>(exponent)};
}

/// ln 2 in two parts, of which the first has zeros at its end, so that its product with an exponent
/// is exact; where exponentials are 0 and infinity; terms of series.
template <class T>
struct Constants;
template <>
struct Constants<float> {
    static constexpr float ln2 = 0x1.62ep-1f, ln2_rest = 0x1.0bfbe8p-15f;
    static constexpr float least = -104, most = 89;
    static constexpr int terms_of_exponential = 7, terms_of_logarithm = 5;
};
template <>
struct Constants<double> {
    static constexpr double ln2 = 0x1.62e42feep-1, ln2_rest = 0x1.a39ef35793c76p-33;
    static constexpr double least = -746, most = 710;
    static constexpr int terms_of_exponential = 13, terms_of_logarithm = 10;
};

/// exp(a): 2^n exp(r), |r| <= ln(2) / 2, by the power series.
struct Exponential {
    template <class T>
    APERTURE_HD static T of(T a) {
        using C = Constants<T>;
        T x = choose(a >= C::least, a, C::least);  // A NaN is no number to convert.
        x = choose(x > C::most, C::most, x);
        const T n = rint(x * T(1.442695040888963407));
        const T r = fma(-n, C::ln2_rest, fma(-n, C::ln2, x));
        // (1 + r (1 + r/2 (1 + r/3 ...))), the last steps as 1 + (r + r^2 p).
        T p = T(1);
        for (int k = C::terms_of_exponential; k > 2; --k) p = fma(p * r, T(1) / T(k), T(1));
        p = T(1) + fma(r * r * T(0.5), p, r);
        const int exponent = static_cast<int>(n), half = exponent / 2;
        const T result = p * power_of_two(p, half) * power_of_two(p, exponent - half);
        return choose(is_nan(a), a, result);
    }
};

/// log(a): with f = fraction - 1 and s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R),
/// R = 2 s^2/3 + 2 s^4/5 + ...
struct Logarithm {
    template <class T>
    APERTURE_HD static T of(T a) {
        using C = Constants<T>;
        const T least_normal = power_of_two(a, sizeof(T) == 4 ? -126 : -1022);
        const bool subnormal = a < least_normal;
        const Fraction<T> parts = split(choose(subnormal, a * power_of_two(a, 60), a));
        const T exponent = choose(subnormal, parts.exponent - T(60), parts.exponent);
        const T f = parts.fraction - T(1), s = f / (T(2) + f), square = s * s;
        T rest = T(0);
        for (int k = C::terms_of_logarithm; k > 0; --k) {
            rest = square * (rest + T(2) / T(2 * k + 1));
        }
        const T half_square = T(0.5) * f * f;
        const T corrections = fma(s, half_square + rest, exponent * C::ln2_rest);
        T result = fma(exponent, C::ln2, f - (half_square - corrections));
        const T infinity = highest<T>();
        result = choose(a == T(0), -infinity, result);
        result = choose(a < T(0), T(0) * infinity, result);
        return choose(a < infinity, result, a);
    }
};

}  // namespace aperture::compose::bodies
