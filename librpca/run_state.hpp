// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far a run is, when it ends, and what is reported of it. For host and device: a device decides
// itself, so that the host may be one iteration ahead of the results it has read.

#include <algorithm>
#include <cmath>

#include "aperture/core/timing.hpp"
#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// No index into M.
inline constexpr index_t no_index = index_t{1} << 62;

/// Sums of a pass over the matrix.
struct PassSums {
    double residual_square = 0;  ///< of M - L - S
    double zeros = 0;            ///< values with S = 0
    double mask_changes = 0;

    PassSums& operator+=(const PassSums& other) {
        residual_square += other.residual_square;
        zeros += other.zeros;
        mask_changes += other.mask_changes;
        return *this;
    }
};

/// Norms of M.
struct MatrixNorms {
    double largest = 0;
    double sum = 0;            ///< of |M|
    double square = 0;         ///< ||M||_F^2
    double ground_square = 0;  ///< of the vector of temporal means

    /// With those of other rows.
    MatrixNorms& operator+=(const MatrixNorms& other) {
        largest = std::max(largest, other.largest);
        sum += other.sum;
        square += other.square;
        ground_square += other.ground_square;
        return *this;
    }
};

struct RunState {
    PassSums sums;        ///< of the last pass
    double residual = 0;  ///< ||M - L - S||_F / ||M||_F
    int iterations = 0;
    int rank = 0;       ///< of L without its constant part
    int converged = 0;  ///< the residual has been within the tolerance
    int finishing = 0;  ///< the next pass writes L and S
    int done = 0;       ///< L and S are written; later kernels do nothing
    int steady = 0;     ///< consecutive passes with an almost unchanged mask
    int mask_iterations = 0;
    int failed = 0;  ///< eigenvectors did not converge
};

/// When a run ends.
struct EndRules {
    double norm = 0;       ///< ||M||_F
    double tolerance = 0;  ///< of the residual
    /// The mask is final after `steady_passes` with at most as many changes, and this residual.
    /// Negative: the mask is not watched.
    double steady_changes = -1;
    double steady_residual = 0;
    int steady_passes = 1;
};

/// Whether the current pass is the last one.
APERTURE_HD bool is_last_pass(const RunState& state, bool last) {
    return last || state.finishing != 0;
}

/// Updates the state after a pass; called by one thread.
APERTURE_HD void advance(RunState& state, const PassSums& sums, const EndRules& rules, bool last) {
    const bool was_last = is_last_pass(state, last);
    state.sums = sums;
    // The residual of a black M is 0. A NaN remains one.
    state.residual = sums.residual_square != 0 ? sqrt(sums.residual_square) / rules.norm : 0;
    ++state.iterations;
    if (state.residual <= rules.tolerance) state.converged = 1;
    if (was_last) {
        state.done = 1;
        return;
    }
    if (rules.steady_changes >= 0) {
        const bool unchanged =
            sums.mask_changes <= rules.steady_changes && state.residual <= rules.steady_residual;
        state.steady = unchanged ? state.steady + 1 : 0;
        if (state.steady == rules.steady_passes) {
            state.mask_iterations = state.iterations;
            state.finishing = 1;
        }
    }
    if (state.converged != 0) state.finishing = 1;
}

/// `size`: frames times values. No mask is final above `steady_residual`.
inline EndRules end_rules(const Parameters& parameters, double norm, double size,
                          double steady_residual) {
    // A mask is final after so many consecutive iterations with at most this share of changes.
    constexpr int steady_iterations = 3;
    constexpr double steady_share = 1e-4;
    return {norm, parameters.tolerance, parameters.mask_threshold > 0 ? steady_share * size : -1.0,
            steady_residual, steady_iterations};
}

/// Updates all but the rank.
inline void update(Outcome& outcome, const RunState& state, double size,
                   const core::Stopwatch& watch) {
    outcome.iterations = state.iterations;
    outcome.residual = state.residual;
    outcome.density = 1 - state.sums.zeros / size;
    outcome.converged = state.converged != 0;
    if (state.mask_iterations > 0 && outcome.iterations_to_mask == 0) {
        outcome.iterations_to_mask = state.mask_iterations;
        outcome.seconds_to_mask = watch.seconds();
    }
}

}  // namespace aperture::rpca
