// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "libcore/cpu/simd.hpp"

namespace aperture::core {

namespace detail {
/// a and b with the off-diagonal blocks of size `step` exchanged.
template <class T, int step, int... lane>
[[gnu::always_inline]] inline void exchange_blocks(Pack<T>& a, Pack<T>& b,
                                                   std::integer_sequence<int, lane...>) {
    constexpr int count = lanes<T>;
    const Pack<T> first =
        __builtin_shufflevector(a, b, ((lane & step) == 0 ? lane : lane - step + count)...);
    b = __builtin_shufflevector(a, b, ((lane & step) == 0 ? lane + step : lane + count)...);
    a = first;
}
}  // namespace detail

/// Transposes the square matrix whose rows are the packs x[0], x[1], ...: blocks of half the size
/// are exchanged across the diagonal, then blocks of a quarter, down to single elements.
template <class T, int step = lanes<T> / 2>
[[gnu::always_inline]] inline void transpose(Pack<T> (&x)[lanes<T>]) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes<T>; ++i) {
        if ((i & step) == 0) {
            detail::exchange_blocks<T, step>(x[i], x[i + step],
                                             std::make_integer_sequence<int, lanes<T>>{});
        }
    }
    if constexpr (step > 1) transpose<T, step / 2>(x);
}

}  // namespace aperture::core
