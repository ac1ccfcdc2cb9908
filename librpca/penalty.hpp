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

/// Norms of M that determine the first mu.
struct MatrixSizes {
    double largest = 0;
    double sum = 0;            ///< of |M|
    double ground_square = 0;  ///< of the vector of temporal means
    double norm2 = 0;          ///< of M minus its temporal means
};

/// Lin, Chen & Ma 2010, section 4; Candes et al. 2011, section 5. M is not zero. ||M||_2 is
/// estimated as if its constant and its changing part were orthogonal, as they nearly are for a
/// video. The estimate is an upper bound, too large by a factor of at most sqrt(2).
inline Penalty penalty_of(Solver solver, const MatrixSizes& sizes, index_t frames, index_t values,
                          double lambda) {
    if (solver == Solver::admm) {
        const double size = static_cast<double>(values) * static_cast<double>(frames);
        return {size / (4 * sizes.sum), 1, 0, 0};
    }
    constexpr double start = 1.25;
    constexpr double growth = 1.5;
    constexpr double range = 1e7;
    const double norm2 =
        std::hypot(std::sqrt(static_cast<double>(frames) * sizes.ground_square), sizes.norm2);
    const double mu = start / norm2;
    return {mu, growth, range * mu, 1 / std::max(norm2, sizes.largest / lambda)};
}

/// A mask is final after so many consecutive iterations with at most this share of changed values.
inline constexpr int steady_iterations = 3;
inline constexpr double steady_share = 1e-4;
/// Nor is it final above this residual. In the first iterations no singular value exceeds the
/// threshold: the background is the mean, whose mask does not change.
inline constexpr double steady_residual = 1e-2;

}  // namespace aperture::rpca
