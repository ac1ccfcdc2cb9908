// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/timing.hpp"
#include "aperture/rpca/robust_pca.hpp"
#include "librpca/run_state.hpp"

namespace aperture::rpca {

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
