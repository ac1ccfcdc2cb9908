// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far a run is and when it ends, for host and device: a device decides itself, so that the host
// may be one iteration ahead of the results it has read.

#include "aperture/core/portable.hpp"

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace aperture::rpca {

using core::index_t;

/// No index into M.
inline constexpr index_t no_index = index_t{1} << 62;

/// Sums of a pass over the matrix.
struct PassSums {
    double residual_square = 0;  ///< of M - L - S
    double zeros = 0;            ///< values with S = 0
    double mask_changes = 0;
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
    // The residual of a black M is 0.
    state.residual = sums.residual_square > 0 ? sqrt(sums.residual_square) / rules.norm : 0;
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

}  // namespace aperture::rpca
