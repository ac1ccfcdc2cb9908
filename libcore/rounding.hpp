// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace aperture::core {

/// a / b, rounded up; a >= 0, b > 0.
template <class T>
constexpr T ceil_div(T a, std::type_identity_t<T> b) {
    return (a + b - 1) / b;
}

/// The least multiple of `unit` that is not below `count`.
template <class T>
constexpr T round_up(T count, std::type_identity_t<T> unit) {
    return ceil_div(count, unit) * unit;
}

}  // namespace aperture::core
