// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <utility>

#include "aperture/core/executor.hpp"
#include "libcore/cpu/simd.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::signal::cpu {

using core::index_t;

/// Calls f(std::integral_constant<int, 0>), ..., f(std::integral_constant<int, n-1>), inlined, so
/// that arrays indexed by the constants stay in registers.
template <int n, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
    [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
        (f(std::integral_constant<int, i>{}), ...);
    }
    (std::make_integer_sequence<int, n>{});
}

/// Load or store the first `count` lanes, at most all; the other loaded lanes are zero.
template <class T>
inline core::Pack<T> load_part(const T* from, index_t count) {
    if (count >= core::lanes<T>) return core::load(from);
    core::Pack<T> value{};
    std::memcpy(&value, from, static_cast<std::size_t>(count) * sizeof(T));
    return value;
}
template <class T>
inline void store_part(T* to, core::Pack<T> value, index_t count) {
    if (count >= core::lanes<T>) return core::store(to, value);
    std::memcpy(to, &value, static_cast<std::size_t>(count) * sizeof(T));
}

}  // namespace aperture::signal::cpu
