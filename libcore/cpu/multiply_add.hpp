// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/cpu/simd.hpp"

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace aperture::core {

/// a b + c, rounded once where the processor can. For sums that must have the same bits in several
/// loops: whether a compiler contracts a product and a sum depends on how it takes a loop apart.
template <class T>
[[gnu::always_inline]] inline Pack<T> multiply_add(Pack<T> a, Pack<T> b, Pack<T> c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == sizeof(float)) {
        return _mm512_fmadd_ps(a, b, c);
    } else {
        return _mm512_fmadd_pd(a, b, c);
    }
#elif defined(__FMA__)
    if constexpr (sizeof(T) == sizeof(float)) {
        return _mm256_fmadd_ps(a, b, c);
    } else {
        return _mm256_fmadd_pd(a, b, c);
    }
#else
    return a * b + c;
#endif
}

}  // namespace aperture::core
