// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <complex>

#include "aperture/core/view.hpp"
#include "libcore/cpu/past_caches.hpp"
#include "libdense/cpu/lane_runs.hpp"

/// Runs of neighbouring numbers of batches whose layout changes.
namespace aperture::dense::layout {

using core::index_t;

inline constexpr index_t line_bytes = 64;

/// As many packs of T as lie in a register move as they are; complex<double> number by number.
template <class T>
struct CarrierOf {
    using type = T;
};
template <>
struct CarrierOf<std::complex<float>> {
    using type = double;
};
template <class T>
using Carrier = typename CarrierOf<T>::type;

template <class T>
inline constexpr int lanes_of = sizeof(T) <= 8 ? core::simd_bytes / int{sizeof(T)} : 1;

/// Asks for the cache lines of `length` numbers. Runs of a tile are too short and too far apart for
/// the processor to see them coming.
template <class T>
void prefetch(const T* run, index_t length) {
    const auto* const bytes = reinterpret_cast<const char*>(run);
    for (index_t b = 0; b < length * index_t{sizeof(T)}; b += 64) {
        __builtin_prefetch(bytes + b, 0, 2);
    }
}

/// Copies `count` numbers, `past_caches` if that is worth it: these would read every line before it
/// is replaced.
template <class T>
void store_run(const T* from, index_t count, T* to, bool past_caches) {
    if (!past_caches) {
        std::copy_n(from, count, to);
        return;
    }
    core::copy_past_caches(from, static_cast<std::size_t>(count) * sizeof(T), to);
}

/// Entries of problems [0, problems) that are contiguous in each problem, `distance` apart in the
/// buffer.
template <class T>
void load_runs(const T* from, index_t problem_stride, index_t problems, index_t length, T* to,
               index_t distance) {
    if constexpr (sizeof(T) <= 8) {
        using C = Carrier<T>;
        constexpr index_t width = lanes_of<T>;
        for (; problems >= width && length > 1; problems -= width) {
            std::array<const C*, width> runs;
            for (index_t l = 0; l < width; ++l) {
                runs[static_cast<std::size_t>(l)] =
                    reinterpret_cast<const C*>(from + l * problem_stride);
                if (problems >= 2 * width) {
                    prefetch(from + (width + l) * problem_stride, length);
                }
            }
            lanes::gather_runs<C>(runs, length, reinterpret_cast<C*>(to), distance);
            from += width * problem_stride;
            to += width;
        }
    }
    for (index_t p = 0; p < problems; ++p) {
        for (index_t e = 0; e < length; ++e) to[e * distance + p] = from[p * problem_stride + e];
    }
}
template <class T>
void store_runs(const T* from, index_t distance, index_t problems, index_t length, T* to,
                index_t problem_stride) {
    if constexpr (sizeof(T) <= 8) {
        using C = Carrier<T>;
        constexpr index_t width = lanes_of<T>;
        for (; problems >= width && length > 1; problems -= width) {
            std::array<C*, width> runs;
            for (index_t l = 0; l < width; ++l) {
                runs[static_cast<std::size_t>(l)] = reinterpret_cast<C*>(to + l * problem_stride);
            }
            lanes::scatter_runs<C>(reinterpret_cast<const C*>(from), length, width, runs, distance);
            from += width;
            to += width * problem_stride;
        }
    }
    for (index_t p = 0; p < problems; ++p) {
        for (index_t e = 0; e < length; ++e) to[p * problem_stride + e] = from[e * distance + p];
    }
}

}  // namespace aperture::dense::layout
