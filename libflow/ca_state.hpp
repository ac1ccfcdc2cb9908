// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The evaluation of a round of communication-avoiding CG, on every executor.

#include "aperture/core/portable.hpp"
#include "libflow/model_constants.hpp"

namespace aperture::flow {

/// A bound of the eigenvalues of M^-1 A: A = M - S, where S is the sum over the neighbours, and M +
/// S is positive semi-definite, too.
inline constexpr double largest_preconditioned = 2;
/// Without preconditioning: powers of A that estimate its largest eigenvalue, and the factor that
/// makes the estimate a bound.
inline constexpr int eigenvalue_powers = 12;
inline constexpr double eigenvalue_safety = 1.1;

struct CaLimits {
    double squared;  ///< stops at |b - A x|^2 <= this
    int iterations;  ///< maximum
};

struct CaState {
    double largest;           ///< eigenvalues of M^-1 A lie in [0, largest]
    double start_squared;     ///< |b - A x|^2 of the start
    double residual_squared;  ///< of the kept solution
    double least_squared;     ///< the least so far
    int begun;
    int stopped;
    int steps;     ///< s
    int current;   ///< which solution is kept
    int replaced;  ///< the true residual replaces z
    int restart;   ///< and p
    int done;      ///< iterations kept
    int taken;     ///< iterations of the current round
    int stalled;   ///< iterations since the least residual
    int products;  ///< with A
};

struct RoundSums {
    double residual;  ///< |r|^2
    double scaled;    ///< |z|^2
    double away;      ///< |z - recurred z|^2
};

/// The state after the start, or after a round with these sums. A round is discarded if its
/// residual exceeds any that CG can have: its basis is then numerically dependent, and the next
/// round has half as many steps. So it has after many iterations without a new least residual. The
/// true residual replaces the recurrence once they have diverged (van der Vorst & Ye 2000), and
/// directions restart if it no longer falls.
APERTURE_HD CaState evaluate_round(CaState state, const RoundSums& sums, const CaLimits& limits) {
    if (state.stopped != 0) return state;
    if (state.begun == 0) {
        state.begun = 1;
        state.replaced = state.restart = 1;
        state.start_squared = state.residual_squared = state.least_squared = sums.residual;
    } else {
        state.products += 2 * state.steps;
        if (state.taken > 0 && sums.residual < dependent_growth * state.least_squared) {
            state.current = 1 - state.current;
            state.done += state.taken;
            state.replaced =
                sums.away > diverged_distance * diverged_distance * sums.scaled ? 1 : 0;
            state.restart = state.replaced != 0 && sums.residual > state.residual_squared ? 1 : 0;
            state.residual_squared = sums.residual;
            state.stalled = sums.residual < state.least_squared ? 0 : state.stalled + state.taken;
            if (sums.residual < state.least_squared) state.least_squared = sums.residual;
            if (state.stalled >= longest_stall && state.steps > 1) {
                state.steps /= 2;
                state.stalled = 0;
                state.replaced = state.restart = 1;
            }
        } else if (state.steps > 1) {
            state.steps /= 2;
            state.replaced = state.restart = 1;
        } else {
            state.stopped = 1;
        }
    }
    state.taken = 0;
    if (!(state.residual_squared > 0) || state.residual_squared <= limits.squared ||
        state.done >= limits.iterations) {
        state.stopped = 1;
    }
    return state;
}

}  // namespace aperture::flow
