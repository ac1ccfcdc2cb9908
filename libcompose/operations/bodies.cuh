// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/complex.cuh"

/// Bodies of operations on entries in one place. The interpreter has them ahead of time, kernels
/// and emitted C++ include this file. Compilers must not contract a * b + c, so that results are
/// the same bits however operations are put together.
namespace aperture::compose::bodies {

/// a if the condition holds, else b.
template <class T>
APERTURE_HD T choose(bool condition, T a, T b) {
    return condition ? a : b;
}

/// a b. That of complex numbers says where it rounds: g++ 12 contracts such differences beside sums
/// in vectors although it must not.
template <class T>
APERTURE_HD T product(T a, T b) {
    return a * b;
}
template <class T>
APERTURE_HD core::Complex<T> product(core::Complex<T> a, core::Complex<T> b) {
    return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}

#define APERTURE_BODY(name, parameters, expression) \
    struct name {                                   \
        template <class T>                          \
        APERTURE_HD static auto of parameters {     \
            return expression;                      \
        }                                           \
    };
APERTURE_BODY(Add, (T a, T b), a + b)
APERTURE_BODY(Subtract, (T a, T b), a - b)
APERTURE_BODY(Multiply, (T a, T b), product(a, b))
APERTURE_BODY(Divide, (T a, T b), a / b)
APERTURE_BODY(InverseRoot, (T a), T(1) / sqrt(a))
APERTURE_BODY(Conjugate, (T a), core::conj(a))
APERTURE_BODY(RealPart, (T a), a.re)
APERTURE_BODY(ImaginaryPart, (T a), a.im)
APERTURE_BODY(ComplexOf, (T a, T b), (core::Complex<T>{a, b}))
APERTURE_BODY(Negate, (T a), -a)
APERTURE_BODY(Copy, (T a), a)
APERTURE_BODY(Least, (T a, T b), choose(b < a, b, a))
APERTURE_BODY(Greatest, (T a, T b), choose(a < b, b, a))
APERTURE_BODY(Less, (T a, T b), a < b)
APERTURE_BODY(LessEqual, (T a, T b), a <= b)
APERTURE_BODY(Equal, (T a, T b), a == b)
APERTURE_BODY(NotEqual, (T a, T b), !(a == b))
APERTURE_BODY(And, (T a, T b), a&& b)
APERTURE_BODY(Or, (T a, T b), a || b)
APERTURE_BODY(Not, (T a), !a)
APERTURE_BODY(Root, (T a), sqrt(a))
APERTURE_BODY(ToCount, (T a), static_cast<long long>(a))
APERTURE_BODY(MultiplyAdd, (T a, T b, T c), fma(a, b, c))
#undef APERTURE_BODY

/// a / b of complex numbers; the square of b must not overflow.
struct Quotient {
    template <class T>
    APERTURE_HD static T of(T a, T b) {
        const auto square = fma(b.re, b.re, b.im * b.im);
        const T above = product(a, core::conj(b));
        return {above.re / square, above.im / square};
    }
};

/// |a|; the square of a complex number must not overflow.
struct Magnitude {
    template <class T>
    APERTURE_HD static core::RealOf<T> of(T a) {
        if constexpr (core::is_complex<T>) {
            return sqrt(fma(a.re, a.re, a.im * a.im));
        } else {
            return fabs(a);
        }
    }
};

/// A term of an inner product: of complex numbers, conj(a) b.
struct InnerProduct {
    template <class T>
    APERTURE_HD static T of(T a, T b) {
        if constexpr (core::is_complex<T>) {
            return product(core::conj(a), b);
        } else {
            return a * b;
        }
    }
};

struct Select {
    template <class T>
    APERTURE_HD static T of(bool condition, T a, T b) {
        return choose(condition, a, b);
    }
};

/// What is read beyond an image's border.
struct Replicate {
    static constexpr bool zero = false;
};
struct Zero {
    static constexpr bool zero = true;
};

/// A weight, and the offset of its neighbour: rows and columns, or planes, rows and columns.
template <class T, int... offset>
struct Tap {
    T weight;
    template <class Border, class Place, class Array>
    APERTURE_HD T neighbour(const Place& at, const Array& array) const {
        return at.template neighbour<Border>(array, offset...);
    }
};
template <int... offset, class T>
APERTURE_HD Tap<T, offset...> tap(T weight) {
    return {weight};
}
/// Weights times neighbours, added in their order.
template <class Border, class Place, class Array, class First, class... Others>
APERTURE_HD auto stencil(const Place& at, const Array& array, First first, Others... others) {
    auto sum = first.weight * first.template neighbour<Border>(at, array);
    ((sum = fma(others.weight, others.template neighbour<Border>(at, array), sum)), ...);
    return sum;
}

/// An image around a place, whose columns up to `left` and `right` are inside where the place says
/// so.
template <class Border, int left, int right, class Place, class T>
struct Neighbours {
    const Place& at;
    const T* image;

    APERTURE_HD T operator()(int down, int to_right) const {
        if (-left <= to_right && to_right <= right) {
            return at.template neighbour<Border>(image, down, to_right);
        }
        return at.template neighbour<Border, false>(image, down, to_right);
    }
};
template <class Border, int left, int right, class Place, class T>
APERTURE_HD Neighbours<Border, left, right, Place, T> neighbours(const Place& at, const T* image) {
    return {at, image};
}

/// The entry where row + column is even, or odd; else zero.
template <int remainder, class Place, class T>
APERTURE_HD T checkered(const Place& at, T entry) {
    return (at.row + at.column) % 2 == remainder ? entry : T(0);
}

/// No number is higher, or lower.
template <class T>
APERTURE_HD T highest() {
    double infinity = 0x1p1023;
    infinity *= 2;
    return static_cast<T>(infinity);
}
template <>
APERTURE_HD long long highest<long long>() {
    return 0x7fffffffffffffff;
}
template <class T>
APERTURE_HD T lowest() {
    return -highest<T>();
}
template <>
APERTURE_HD long long lowest<long long>() {
    return -0x7fffffffffffffff - 1;
}

template <class T>
APERTURE_HD bool is_nan(T a) {
    return a != a;  // NOLINT(misc-redundant-expression)
}

/// How sums combine their terms, and what they are without any. A NaN stays.
struct SumOf : Add {
    template <class T>
    APERTURE_HD static T none() {
        return T(0);
    }
};
struct GreatestOf {
    template <class T>
    APERTURE_HD static T of(T a, T b) {
        return a < b || is_nan(b) ? b : a;
    }
    template <class T>
    APERTURE_HD static T none() {
        return lowest<T>();
    }
};
struct LeastOf {
    template <class T>
    APERTURE_HD static T of(T a, T b) {
        return b < a || is_nan(b) ? b : a;
    }
    template <class T>
    APERTURE_HD static T none() {
        return highest<T>();
    }
};

/// Sums of lanes, or one lane's.
template <class T, class Combine, int lanes>
struct LaneSums {
    T values[lanes];

    APERTURE_HD LaneSums() {
        for (int i = 0; i < lanes; ++i) values[i] = Combine::template none<T>();
    }
    template <class Term>
    APERTURE_HD void add(int lane, Term term) {
        T& sum = values[lanes == 1 ? 0 : lane];
        sum = Combine::of(sum, static_cast<T>(term));
    }
    /// Halves are added to halves.
    APERTURE_HD T total() const {
        T sums[lanes];
        for (int i = 0; i < lanes; ++i) sums[i] = values[i];
        add_halves<lanes / 2>(sums);
        return sums[0];
    }

  private:
    /// Each loop has a length that compilers know, and must become a vector operation before it is
    /// unrolled.
    template <int half>
    APERTURE_HD static void add_halves(T* sums) {
#if defined(APERTURE_COMPOSE_CPU)
#pragma GCC unroll 1
#endif
        for (int i = 0; i < half; ++i) sums[i] = Combine::of(sums[i], sums[i + half]);
        if constexpr (half > 1) add_halves<half / 2>(sums);
    }
};

template <class To>
struct Convert {
    template <class T>
    APERTURE_HD static To of(T a) {
        return static_cast<To>(a);
    }
};

}  // namespace aperture::compose::bodies
