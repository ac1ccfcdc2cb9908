// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libcore/cpu/simd.hpp"
#include "libcore/cpu/transpose.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace aperture::dense::lanes {

/// Results of more bytes than this are stored past the caches.
inline constexpr std::ptrdiff_t cached_bytes = 4 * 1024 * 1024;

/// Fetches the cache line `bytes` bytes behind an address, to be read or to be written. What is
/// there need not be memory of ours.
template <bool written>
[[gnu::always_inline]] inline void prefetch(const void* address, std::ptrdiff_t bytes) {
    // Pointers must not be moved out of their array; numbers may.
    const auto line =
        reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(bytes);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    __builtin_prefetch(reinterpret_cast<const void*>(line), written ? 1 : 0);
}

/// What will be wanted next, fetched a few lines at a time on the way: many requests at once keep
/// loads waiting.
struct Ahead {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;                 ///< to be written
    std::ptrdiff_t step = 0;           ///< bytes of each to fetch in a step; 0: nothing
    std::ptrdiff_t next = 0, end = 0;  ///< bytes from the pointers

    [[gnu::always_inline]] void fetch() {
        constexpr std::ptrdiff_t line = 64;
        for (end += step; next < end; next += line) {
            prefetch<false>(a, next);
            if (b != nullptr) prefetch<false>(b, next);
            if (c != nullptr) prefetch<true>(c, next);
        }
    }
};

#if defined(__AVX__) && !defined(__AVX512F__)
/// The mask of a pack's first `count` reals.
template <class R>
[[gnu::always_inline]] inline __m256i first_lanes(std::ptrdiff_t count) {
    static constexpr std::int32_t ones_and_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    constexpr std::ptrdiff_t words = sizeof(R) / 4;
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_and_zeros + 8 - count * words));
}
#endif

/// Loads the first `count` reals of a pack, of which no more need be memory of ours; zeros behind.
template <class R>
[[gnu::always_inline]] inline core::Pack<R> load_some(const R* from, std::ptrdiff_t count) {
#if defined(__AVX512F__)
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
    if constexpr (sizeof(R) == 4) {
        return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
    } else {
        return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from);
    }
#elif defined(__AVX__)
    if (count == core::lanes<R>) return core::load(from);
    const __m256i mask = first_lanes<R>(count);
    if constexpr (sizeof(R) == 4) {
        return _mm256_maskload_ps(from, mask);
    } else {
        return _mm256_maskload_pd(from, mask);
    }
#else
    if (count == core::lanes<R>) return core::load(from);
    core::Pack<R> some{};
    for (std::ptrdiff_t l = 0; l < count; ++l) some[l] = from[l];
    return some;
#endif
}

/// Stores the first `count` reals of a pack.
template <class R>
[[gnu::always_inline]] inline void store_some(R* to, core::Pack<R> value, std::ptrdiff_t count) {
#if defined(__AVX512F__)
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
    if constexpr (sizeof(R) == 4) {
        _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), value);
    } else {
        _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), value);
    }
#elif defined(__AVX__)
    if (count == core::lanes<R>) return core::store(to, value);
    const __m256i mask = first_lanes<R>(count);
    if constexpr (sizeof(R) == 4) {
        _mm256_maskstore_ps(to, mask, value);
    } else {
        _mm256_maskstore_pd(to, mask, value);
    }
#else
    if (count == core::lanes<R>) return core::store(to, value);
    for (std::ptrdiff_t l = 0; l < count; ++l) to[l] = value[l];
#endif
}

namespace detail {

/// Transposes `some` reals of each run, at most as many as a pack has.
template <class R>
[[gnu::always_inline]] inline void gather_square(const std::array<const R*, core::lanes<R>>& runs,
                                                 std::ptrdiff_t begin, std::ptrdiff_t some, R* to,
                                                 std::ptrdiff_t stride, std::ptrdiff_t ahead) {
    constexpr int count = core::lanes<R>;
    core::Pack<R> square[count];
#pragma GCC unroll 16
    for (int l = 0; l < count; ++l) {
        if (ahead != 0) prefetch<false>(runs[l] + begin, ahead);
        square[l] = load_some(runs[l] + begin, some);
    }
    core::transpose<R>(square);
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) {
        if (i < some) core::store(to + (begin + i) * stride, square[i]);
    }
}
template <class R>
[[gnu::always_inline]] inline void scatter_square(const R* from, std::ptrdiff_t begin,
                                                  std::ptrdiff_t some, int count,
                                                  const std::array<R*, core::lanes<R>>& runs,
                                                  std::ptrdiff_t stride, std::ptrdiff_t ahead) {
    constexpr int lanes = core::lanes<R>;
    core::Pack<R> square[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) {
        square[i] = i < some ? core::load(from + (begin + i) * stride) : core::Pack<R>{};
    }
    core::transpose<R>(square);
    for (int l = 0; l < count; ++l) {
        if (ahead != 0) prefetch<true>(runs[l] + begin, ahead);
        store_some(runs[l] + begin, square[l], some);
    }
}

}  // namespace detail

/// Transposes runs of `length` reals to lanes: run l becomes lane l of `length` packs, `stride`
/// reals apart. Runs that are `ahead` bytes behind these will be wanted next; 0: none.
template <class R>
inline void gather_runs(const std::array<const R*, core::lanes<R>>& runs, std::ptrdiff_t length,
                        R* to, std::ptrdiff_t stride = core::lanes<R>, std::ptrdiff_t ahead = 0) {
    constexpr std::ptrdiff_t count = core::lanes<R>;
    if (length < count) return detail::gather_square(runs, 0, length, to, stride, ahead);
    for (std::ptrdiff_t e = 0; e < length; e += count) {
        // The last square ends with the run: it moves some reals twice instead of one by one.
        detail::gather_square(runs, std::min(e, length - count), count, to, stride, ahead);
    }
}

/// Transposes lanes back to runs: lane l < count of `length` packs, `stride` reals apart, becomes
/// run l. `ahead` as above.
template <class R>
inline void scatter_runs(const R* from, std::ptrdiff_t length, int count,
                         const std::array<R*, core::lanes<R>>& runs,
                         std::ptrdiff_t stride = core::lanes<R>, std::ptrdiff_t ahead = 0) {
    constexpr std::ptrdiff_t lanes = core::lanes<R>;
    if (length < lanes) return detail::scatter_square(from, 0, length, count, runs, stride, ahead);
    for (std::ptrdiff_t e = 0; e < length; e += lanes) {
        detail::scatter_square(from, std::min(e, length - lanes), lanes, count, runs, stride,
                               ahead);
    }
}

}  // namespace aperture::dense::lanes
