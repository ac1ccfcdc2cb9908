// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

using Planes = core::Array<float, 3>;    ///< [plane][row][column]
using Surface = core::Array<double, 2>;  ///< [dy][dx]

/// Normally distributed values.
Planes normal_planes(index_t planes, Shape shape, unsigned seed, float mean = 0,
                     float deviation = 1);

/// sum_{y, x} A(y + dy, x + dx) B(y, x) of one plane, by its definition.
Surface sums_of_products(const Planes& a, const Planes& b, index_t plane, const Lags& lags);

/// sqrt(sum A^2 sum B^2) over the whole plane.
double magnitude(const Planes& a, const Planes& b, index_t plane);

}  // namespace aperture::corr
