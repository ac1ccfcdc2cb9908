// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

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
            if (a != nullptr) prefetch<false>(a, next);
            if (b != nullptr) prefetch<false>(b, next);
            if (c != nullptr) prefetch<true>(c, next);
        }
    }
};

#if defined(__AVX__) && !defined(__AVX512F__)
/// The mask of a pack's first `count` reals.
template <class R>
[[gnu::always_inline]] inline __m256i first_lanes(std::ptrdiff_t count) {
    // Comparisons of reals need no AVX2.
    if constexpr (sizeof(R) == 4) {
        const __m256 lane = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256 all = _mm256_set1_ps(static_cast<float>(count));
        return _mm256_castps_si256(_mm256_cmp_ps(lane, all, _CMP_LT_OQ));
    } else {
        const __m256d lane = _mm256_setr_pd(0, 1, 2, 3);
        const __m256d all = _mm256_set1_pd(static_cast<double>(count));
        return _mm256_castpd_si256(_mm256_cmp_pd(lane, all, _CMP_LT_OQ));
    }
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

/// Converts re, im, re, im, ... in two packs to all re, all im, and back.
template <class R, int... lane>
[[gnu::always_inline]] inline void split_parts(core::Pack<R>& a, core::Pack<R>& b,
                                               std::integer_sequence<int, lane...>) {
    const core::Pack<R> re = __builtin_shufflevector(a, b, (2 * lane)...);
    b = __builtin_shufflevector(a, b, (2 * lane + 1)...);
    a = re;
}
template <class R, int... lane>
[[gnu::always_inline]] inline void join_parts(core::Pack<R>& a, core::Pack<R>& b,
                                              std::integer_sequence<int, lane...>) {
    constexpr int count = core::lanes<R>;
    const core::Pack<R> first =
        __builtin_shufflevector(a, b, (lane / 2 + (lane % 2 == 0 ? 0 : count))...);
    b = __builtin_shufflevector(a, b, (count / 2 + lane / 2 + (lane % 2 == 0 ? 0 : count))...);
    a = first;
}

namespace detail {

/// Transposes `some` reals of each run, at most as many as a pack has.
template <class R>
[[gnu::always_inline]] inline void gather_square(const std::array<const R*, core::lanes<R>>& runs,
                                                 std::ptrdiff_t begin, std::ptrdiff_t some, R* to,
                                                 std::ptrdiff_t stride) {
    constexpr int count = core::lanes<R>;
    core::Pack<R> square[count];
#pragma GCC unroll 16
    for (int l = 0; l < count; ++l) square[l] = load_some(runs[l] + begin, some);
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
                                                  std::ptrdiff_t stride) {
    constexpr int lanes = core::lanes<R>;
    core::Pack<R> square[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) {
        square[i] = i < some ? core::load(from + (begin + i) * stride) : core::Pack<R>{};
    }
    core::transpose<R>(square);
    for (int l = 0; l < count; ++l) store_some(runs[l] + begin, square[l], some);
}

/// Deals packs alternately to two hands, and collects them again.
template <class P, int count>
[[gnu::always_inline]] inline void deal(const P (&packs)[count], P (&even)[count / 2],
                                        P (&odd)[count / 2]) {
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
        even[i] = packs[2 * i];
        odd[i] = packs[2 * i + 1];
    }
}
template <class P, int count>
[[gnu::always_inline]] inline void collect(const P (&even)[count / 2], const P (&odd)[count / 2],
                                           P (&packs)[count]) {
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
        packs[2 * i] = even[i];
        packs[2 * i + 1] = odd[i];
    }
}

/// Splits `count` packs of so many reals a lane, one lane after the other, to one of each.
template <class R, int count>
[[gnu::always_inline]] inline void split_runs(core::Pack<R> (&packs)[count]) {
    if constexpr (count > 1) {
        core::Pack<R> even[count / 2], odd[count / 2];
        deal(packs, even, odd);
#pragma GCC unroll 8
        for (int i = 0; i < count / 2; ++i) {
            split_parts<R>(even[i], odd[i], std::make_integer_sequence<int, core::lanes<R>>{});
        }
        split_runs<R>(even);
        split_runs<R>(odd);
        collect(even, odd, packs);
    }
}
template <class R, int count>
[[gnu::always_inline]] inline void join_runs(core::Pack<R> (&packs)[count]) {
    if constexpr (count > 1) {
        core::Pack<R> even[count / 2], odd[count / 2];
        deal(packs, even, odd);
        join_runs<R>(even);
        join_runs<R>(odd);
#pragma GCC unroll 8
        for (int i = 0; i < count / 2; ++i) {
            join_parts<R>(even[i], odd[i], std::make_integer_sequence<int, core::lanes<R>>{});
        }
        collect(even, odd, packs);
    }
}

/// Splits runs that follow one another.
template <class R, int length>
[[gnu::always_inline]] inline void gather_neighbours(const R* from, R* to, std::ptrdiff_t stride) {
    core::Pack<R> packs[length];
#pragma GCC unroll 8
    for (int i = 0; i < length; ++i) packs[i] = core::load(from + i * core::lanes<R>);
    split_runs<R>(packs);
#pragma GCC unroll 8
    for (int i = 0; i < length; ++i) core::store(to + i * stride, packs[i]);
}
template <class R, int length>
[[gnu::always_inline]] inline void scatter_neighbours(const R* from, R* to, std::ptrdiff_t stride) {
    core::Pack<R> packs[length];
#pragma GCC unroll 8
    for (int i = 0; i < length; ++i) packs[i] = core::load(from + i * stride);
    join_runs<R>(packs);
#pragma GCC unroll 8
    for (int i = 0; i < length; ++i) core::store(to + i * core::lanes<R>, packs[i]);
}

/// Calls body(length) with a power of two below the number of lanes as a compile-time constant, if
/// runs of this length follow one another in all lanes; returns whether they do.
template <class R, int length = core::lanes<R> / 2, class Runs, class Body>
[[gnu::always_inline]] inline bool of_neighbours(const Runs& runs, std::ptrdiff_t wanted,
                                                 const Body& body) {
    if (wanted == length) {
        if (runs[core::lanes<R> - 1] - runs[0] != (core::lanes<R> - 1) * wanted) return false;
        body(std::integral_constant<int, length>{});
        return true;
    }
    if constexpr (length > 1) return of_neighbours<R, length / 2>(runs, wanted, body);
    return false;
}

}  // namespace detail

/// Squares of a run of `length` reals in all lanes.
template <class R>
constexpr std::ptrdiff_t squares(std::ptrdiff_t length) {
    return (length + core::lanes<R> - 1) / core::lanes<R>;
}

/// Transposes runs of `length` reals to lanes: run l becomes lane l of `length` packs, `stride`
/// reals apart. Fetches `ahead` with each square.
template <class R>
inline void gather_runs(const std::array<const R*, core::lanes<R>>& runs, std::ptrdiff_t length,
                        R* to, std::ptrdiff_t stride = core::lanes<R>, Ahead* ahead = nullptr) {
    constexpr std::ptrdiff_t count = core::lanes<R>;
    if (length < count) {
        if (ahead != nullptr) ahead->fetch();
        const auto split = [&](auto reals) {
            detail::gather_neighbours<R, reals>(runs[0], to, stride);
        };
        if (detail::of_neighbours<R>(runs, length, split)) return;
        return detail::gather_square(runs, 0, length, to, stride);
    }
    for (std::ptrdiff_t e = 0; e < length; e += count) {
        if (ahead != nullptr) ahead->fetch();
        // The last square ends with the run: it moves some reals twice instead of one by one.
        detail::gather_square(runs, std::min(e, length - count), count, to, stride);
    }
}

/// Transposes lanes back to runs: lane l < count of `length` packs, `stride` reals apart, becomes
/// run l. `ahead` as above.
template <class R>
inline void scatter_runs(const R* from, std::ptrdiff_t length, int count,
                         const std::array<R*, core::lanes<R>>& runs,
                         std::ptrdiff_t stride = core::lanes<R>, Ahead* ahead = nullptr) {
    constexpr std::ptrdiff_t lanes = core::lanes<R>;
    if (length < lanes) {
        if (ahead != nullptr) ahead->fetch();
        const auto join = [&](auto reals) {
            detail::scatter_neighbours<R, reals>(from, runs[0], stride);
        };
        if (count == lanes && detail::of_neighbours<R>(runs, length, join)) return;
        return detail::scatter_square(from, 0, length, count, runs, stride);
    }
    for (std::ptrdiff_t e = 0; e < length; e += lanes) {
        if (ahead != nullptr) ahead->fetch();
        detail::scatter_square(from, std::min(e, length - lanes), lanes, count, runs, stride);
    }
}

}  // namespace aperture::dense::lanes
