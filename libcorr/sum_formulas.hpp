// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What keeps sums of products accurate, for the CPU and for kernels.

#include <cmath>

#include "aperture/core/portable.hpp"

namespace aperture::corr {

/// The mean that is subtracted from a plane: zero if it is so small a part of the root mean square
/// that it costs no accuracy, otherwise to ten bits, so that subtracting it from most values is
/// exact.
APERTURE_HD double ground_of(double mean, double mean_square) {
    constexpr double little_ground = 0.5;
    if (std::fabs(mean) <= little_ground * std::sqrt(mean_square)) return 0;
    int exponent = 0;
    const double mantissa = std::frexp(mean, &exponent);
    return std::ldexp(std::round(std::ldexp(mantissa, 10)), exponent - 10);
}

/// Mean square of a plane without its ground.
APERTURE_HD double rest_square(double mean, double mean_square, double ground) {
    const double rest = mean_square - ground * (2 * mean - ground);
    return rest < 0 ? 0.0 : rest;
}

/// Equal chains of products have equal errors, which do not average out. So every chain starts with
/// another offset, subtracted at its end. In units of the plane's mean product, 1 to 2.
template <class Real, class Integer>
APERTURE_HD Real chain_offset(Integer chain) {
    constexpr auto golden = static_cast<Real>(0.6180339887498949);
    const Real turns = golden * static_cast<Real>(chain % 1024);
    return 1 + (turns - std::floor(turns));
}

}  // namespace aperture::corr
