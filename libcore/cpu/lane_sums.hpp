// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "libcore/cpu/simd.hpp"

namespace aperture::core {

namespace detail {

/// Adds every two neighbouring groups of `half` lanes: those of a into the first group, those of b
/// into the second.
template <class T, int half, int... lane>
[[gnu::always_inline]] inline Pack<T> add_halves(Pack<T> a, Pack<T> b,
                                                 std::integer_sequence<int, lane...>) {
    constexpr int n = lanes<T>;
    return __builtin_shufflevector(a, b, ((lane & half) == 0 ? lane : n + lane - half)...) +
           __builtin_shufflevector(a, b, ((lane & half) == 0 ? lane + half : n + lane)...);
}
template <class T, int group, int... lane>
[[gnu::always_inline]] inline Pack<T> first_of_groups(Pack<T> a,
                                                      std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, a, (lane * group % lanes<T>)...);
}
template <class T, int half, int count>
[[gnu::always_inline]] inline Pack<T> sums_in_groups(Pack<T> (&x)[count]) {
    constexpr std::make_integer_sequence<int, lanes<T>> all{};
    constexpr int left = count > 1 ? count / 2 : 1;
    Pack<T> next[left];
#pragma GCC unroll 8
    for (int i = 0; i < left; ++i) {
        next[i] = add_halves<T, half>(x[i], x[i + count / 2], all);
    }
    if constexpr (half > 1) return sums_in_groups<T, half / 2>(next);
    return next[0];
}

}  // namespace detail

/// Lane i holds the sum of the lanes of x[i % count].
template <class T, int count>
[[gnu::always_inline]] inline Pack<T> sums_of_lanes(Pack<T> (&x)[count]) {
    return detail::first_of_groups<T, lanes<T> / count>(
        detail::sums_in_groups<T, lanes<T> / 2>(x), std::make_integer_sequence<int, lanes<T>>{});
}

}  // namespace aperture::core
