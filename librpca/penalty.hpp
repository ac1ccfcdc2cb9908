// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// mu, which weighs ||M - L - S||^2, and what it grows by.
struct Penalty {
    double mu = 0;
    double growth = 1;
    double largest = 0;
    double y_over_m = 0;  ///< the first multipliers: Y = y_over_m M

    double next(double now) const { return std::min(now * growth, std::max(largest, now)); }
};

/// What the first mu is chosen by.
struct MatrixSizes {
    double largest = 0;
    double sum = 0;            ///< of |M|
    double ground_square = 0;  ///< of each value's mean
    double norm2 = 0;          ///< of M less what is constant
};

/// Lin, Chen & Ma 2010, section 4; Candes et al. 2011, section 5. M is not zero. For ||M||_2 stand
/// its constant and its changing part as if one were orthogonal to the other, as of a video they
/// nearly are: that is no less, and more by a factor of sqrt(2) at most.
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

/// The mask is final after so many iterations in a row that change at most this share of it.
inline constexpr int steady_iterations = 3;
inline constexpr double steady_share = 1e-4;
/// And not before the residual is at most this. In the first iterations no singular value exceeds
/// the threshold: the background is the mean, whose mask does not change, but is not the final one.
inline constexpr double steady_residual = 1e-2;

}  // namespace aperture::rpca
