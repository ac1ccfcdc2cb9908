// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "libcore/cpu/simd.hpp"
#include "libcore/cpu/transpose.hpp"

namespace aperture::dense::lanes {

/// Fetches the cache line `bytes` bytes behind an address, to be read or to be written. What is
/// there need not be memory of ours.
template <bool written>
[[gnu::always_inline]] inline void prefetch(const void* address, std::ptrdiff_t bytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) +
                                                     static_cast<std::uintptr_t>(bytes)),
                       written ? 1 : 0);
}

/// Transposes runs of `length` reals to lanes: run l becomes lane l of `length` packs, `stride`
/// reals apart. Runs that are `ahead` bytes behind these will be wanted next; 0: none.
template <class R>
inline void gather_runs(const std::array<const R*, core::lanes<R>>& runs, std::ptrdiff_t length,
                        R* to, std::ptrdiff_t stride = core::lanes<R>, std::ptrdiff_t ahead = 0) {
    constexpr int count = core::lanes<R>;
    if (length < count) {
        for (std::ptrdiff_t e = 0; e < length; ++e) {
            for (int l = 0; l < count; ++l) to[e * stride + l] = runs[l][e];
        }
        return;
    }
    for (std::ptrdiff_t e = 0; e < length; e += count) {
        // The last square ends with the run: it moves some reals twice instead of one by one.
        const std::ptrdiff_t begin = std::min(e, length - count);
        core::Pack<R> square[count];
#pragma GCC unroll 16
        for (int l = 0; l < count; ++l) {
            if (ahead != 0) prefetch<false>(runs[l] + begin, ahead);
            square[l] = core::load(runs[l] + begin);
        }
        core::transpose<R>(square);
#pragma GCC unroll 16
        for (int i = 0; i < count; ++i) core::store(to + (begin + i) * stride, square[i]);
    }
}

/// Transposes lanes back to runs: lane l < count of `length` packs, `stride` reals apart, becomes
/// run l. `ahead` as above.
template <class R>
inline void scatter_runs(const R* from, std::ptrdiff_t length, int count,
                         const std::array<R*, core::lanes<R>>& runs,
                         std::ptrdiff_t stride = core::lanes<R>, std::ptrdiff_t ahead = 0) {
    constexpr int lanes = core::lanes<R>;
    if (length < lanes) {
        for (std::ptrdiff_t e = 0; e < length; ++e) {
            for (int l = 0; l < count; ++l) runs[l][e] = from[e * stride + l];
        }
        return;
    }
    for (std::ptrdiff_t e = 0; e < length; e += lanes) {
        const std::ptrdiff_t begin = std::min(e, length - lanes);
        core::Pack<R> square[lanes];
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) square[i] = core::load(from + (begin + i) * stride);
        core::transpose<R>(square);
        for (int l = 0; l < count; ++l) {
            if (ahead != 0) prefetch<true>(runs[l] + begin, ahead);
            core::store(runs[l] + begin, square[l]);
        }
    }
}

}  // namespace aperture::dense::lanes
