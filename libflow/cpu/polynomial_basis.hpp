// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/flow/linear_system.hpp"

namespace aperture::flow {

/// Recurrence of polynomials of a matrix B:
///
///     y_(k+1) = (B y_k - shift_k y_k - back_k y_(k-1)) / scale_k
struct Recurrence {
    std::vector<double> shift, back, scale;
};

/// The recurrence of a basis of `steps` steps for a B with eigenvalues in [0, largest]; all
/// coefficients are proportional to `largest`.
Recurrence basis_recurrence(Basis basis, int steps, double largest);

}  // namespace aperture::flow
