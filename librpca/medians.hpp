// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/portable.hpp"

namespace aperture::rpca {

using core::index_t;

/// Median of |x| for normal x of unit variance.
inline constexpr double median_of_normal_size = 0.6744897501960817;

/// Steps of the bisection for a value's median over the frames: to 1/4096 of the value's range.
inline constexpr int median_halvings = 12;

/// Every how many-th of `size` values is sampled: all, or `most` to 2 `most` of them. Odd, so that
/// samples cover all columns of a picture of even width.
inline index_t sample_step(index_t size, index_t most) { return (size / most) | 1; }
/// For size > 0.
inline index_t sample_count(index_t size, index_t most) {
    return (size - 1) / sample_step(size, most) + 1;
}
/// Samples of |residual| in alternating projections.
inline constexpr index_t most_residuals = 100000;

/// The upper median; reorders.
template <class T>
double upper_median(T* begin, T* end) {
    T* const middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    return static_cast<double>(*middle);
}

}  // namespace aperture::rpca
