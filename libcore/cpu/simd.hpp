// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

namespace aperture::core {

/// Width in bytes of the vector registers that the compiler may use.
#if defined(__AVX512F__)
inline constexpr int simd_bytes = 64;
#elif defined(__AVX__)
inline constexpr int simd_bytes = 32;
#else
inline constexpr int simd_bytes = 16;
#endif

/// As many T as a vector register holds, with element-wise arithmetic (the compiler's own vectors).
template <class T>
struct PackOf {
    using type __attribute__((vector_size(simd_bytes))) = T;
    using unaligned __attribute__((vector_size(simd_bytes), aligned(sizeof(T)), may_alias)) = T;
};
/// As many T as a pack of U holds.
template <class T, class U>
struct PackLike {
    using type __attribute__((vector_size(simd_bytes / sizeof(U) * sizeof(T)))) = T;
};
template <class T>
using Pack = typename PackOf<T>::type;

/// Lanes of Pack<T>.
template <class T>
inline constexpr int lanes = simd_bytes / static_cast<int>(sizeof(T));

/// Loads a pack from any address aligned for a T.
template <class T>
inline Pack<T> load(const T* from) {
    return *reinterpret_cast<const typename PackOf<T>::unaligned*>(from);
}
template <class T>
inline void store(T* to, Pack<T> value) {
    *reinterpret_cast<typename PackOf<T>::unaligned*>(to) = value;
}
template <class T>
inline Pack<T> broadcast(T value) {
    return value - Pack<T>{};
}

/// Keeps a pack in a register from here on. Compilers otherwise fold its load into each of its
/// uses, and a loop of multiply-adds then waits for loads.
template <class P>
[[gnu::always_inline]] inline void hold(P& pack) {
#if defined(__AVX512F__)
    asm("" : "+v"(pack));
#elif defined(__x86_64__)
    asm("" : "+x"(pack));
#elif defined(__aarch64__)
    asm("" : "+w"(pack));
#endif
}

}  // namespace aperture::core
