// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include "libdense/cpu/lane_kernels.hpp"

/// Sizes and reciprocals of pivots of general matrices in lanes.
namespace aperture::dense::lanes {

/// In each lane 0, or a count from 1 of the first bad pivot.
template <Scalar T>
using Info = typename Pivots<T>::Integers;

/// The integer of the bits of |value|: as large as the value is, and NaN above infinity.
template <class P>
[[gnu::always_inline]] inline auto bits_of_size(P value) {
    using Bits = decltype(P{} < P{});
    using Word = std::remove_reference_t<decltype(Bits{}[0])>;
    return reinterpret_cast<Bits>(value) & std::numeric_limits<Word>::max();
}
template <class P>
[[gnu::always_inline]] inline P absolute(P value) {
    return reinterpret_cast<P>(bits_of_size(value));
}

/// What pivots are compared by: `bits_of_size` of the larger of |re| and |im|, without overflow.
template <Scalar T>
[[gnu::always_inline]] inline Mask<Real<T>> pivot_key(const Element<T>& value) {
    const Mask<Real<T>> re = bits_of_size(value.re);
    if constexpr (is_complex<T>) {
        const Mask<Real<T>> im = bits_of_size(value.im);
        return re > im ? re : im;
    } else {
        return re;
    }
}
template <Scalar T>
inline core::Pack<Real<T>> magnitude(const Element<T>& value) {
    return reinterpret_cast<core::Pack<Real<T>>>(pivot_key<T>(value));
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
    // Scaling and selection would delay the division.
    if (any(up > R{1})) pivot = scaled(pivot, up);
    return {up, select(good, reciprocal(pivot), unit<T>())};
}

}  // namespace aperture::dense::lanes
