// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// The penalty mu of ||M - L - S||^2 and its growth per iteration.
struct Penalty {
    double mu = 0;
    double growth = 1;
    double largest = 0;
    double y_over_m = 0;  ///< the first multipliers: Y = y_over_m M

    double next(double now) const { return std::min(now * growth, std::max(largest, now)); }
};

/// Norms of M.
struct MatrixNorms {
    double largest = 0;
    double sum = 0;            ///< of |M|
    double square = 0;         ///< ||M||_F^2
    double ground_square = 0;  ///< of the vector of temporal means
};

/// Lin, Chen & Ma 2010, section 4; Candes et al. 2011, section 5. M is not zero. ||M||_2 is
/// estimated as if its constant and its changing part were orthogonal, as they nearly are for a
/// video. The estimate is an upper bound, too large by a factor of at most sqrt(2).
/// `changing_norm` is ||M||_2 without the temporal means.
inline Penalty penalty_of(Solver solver, const MatrixNorms& norms, double changing_norm,
                          index_t frames, index_t values, double lambda) {
    if (solver == Solver::admm) {
        const double size = static_cast<double>(values) * static_cast<double>(frames);
        return {size / (4 * norms.sum), 1, 0, 0};
    }
    constexpr double start = 1.25;
    constexpr double growth = 1.5;
    constexpr double range = 1e7;
    const double norm2 =
        std::hypot(std::sqrt(static_cast<double>(frames) * norms.ground_square), changing_norm);
    const double mu = start / norm2;
    return {mu, growth, range * mu, 1 / std::max(norm2, norms.largest / lambda)};
}

}  // namespace aperture::rpca
