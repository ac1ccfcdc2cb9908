// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/flow/linear_system.hpp"

namespace aperture::flow {

/// Polynomials of a matrix B by their recurrence
///
///     y_(k+1) = (B y_k - shift_k y_k - back_k y_(k-1)) / scale_k
struct Recurrence {
    std::vector<double> shift, back, scale;
};

/// The first `steps` of a basis for a B whose eigenvalues lie in [0, largest]; all coefficients are
/// proportional to `largest`.
Recurrence basis_recurrence(Basis basis, int steps, double largest);

}  // namespace aperture::flow
