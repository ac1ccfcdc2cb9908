// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// State of a run in device memory: kernels decide themselves when the run ends, so that the host
// may be one iteration ahead of the results it has read.

#include "libcore/gpu/block.cuh"

namespace aperture::rpca::gpu {

using core::index_t;

/// No index into M.
inline constexpr index_t no_index = index_t{1} << 62;

/// Sums of a pass over the matrix.
struct PassSums {
    double residual_square;  ///< of M - L - S
    double zeros;            ///< values with S = 0
    double mask_changes;
};

struct RunState {
    PassSums sums;  ///< of the last pass
    int iterations;
    int rank;
    int converged;  ///< the residual has been below the tolerance
    int finishing;  ///< the next pass writes L and S instead of the next W
    int done;       ///< L and S are written; later kernels do nothing
    int steady;     ///< consecutive passes with an almost unchanged mask
    int mask_iterations;
    double largest_eigenvalue;  ///< of W^T W
};

/// When a run ends.
struct EndRules {
    double residual_square;  ///< converged at or below
    /// The mask is final after `steady_passes` with at most as many changes, and this residual.
    /// Negative: the mask is not watched.
    double steady_changes;
    double steady_residual_square;
    int steady_passes;
};

/// Whether the current pass is the last one.
__device__ __forceinline__ bool is_last_pass(const RunState& state, bool last) {
    return last || state.finishing != 0;
}

/// Updates the state after a pass; called by one thread.
__device__ inline void advance(RunState& state, const PassSums& sums, const EndRules& rules,
                               bool last) {
    const bool was_last = is_last_pass(state, last);
    state.sums = sums;
    ++state.iterations;
    if (sums.residual_square <= rules.residual_square) state.converged = 1;
    if (was_last) {
        state.done = 1;
        return;
    }
    if (rules.steady_changes >= 0) {
        const bool unchanged = sums.mask_changes <= rules.steady_changes &&
                               sums.residual_square <= rules.steady_residual_square;
        state.steady = unchanged ? state.steady + 1 : 0;
        if (state.steady == rules.steady_passes) {
            state.mask_iterations = state.iterations;
            state.finishing = 1;
        }
    }
    if (state.converged != 0) state.finishing = 1;
}

}  // namespace aperture::rpca::gpu
