// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/array.hpp"
#include "aperture/stap/attempts.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// Adaptive processing of a cube of Doppler bins, with its workspace: a run allocates nothing. The
/// results do not depend on the number of threads. The problem must outlive it; its loading may
/// change between runs.
class Adaptation {
  public:
    virtual ~Adaptation() = default;
    /// `cube` is [c][k][r] with the last stride 1. Computes all results except the statistic of
    /// Detector::cfar. A later attempt computes only the matrices with its number in
    /// `results.attempt`.
    virtual void run(const CubeView<core::Host>& cube, const Results<core::Host>& results,
                     int attempt, core::Timeline* timeline) = 0;
};

using Steering = core::View<const cfloat, 2, core::Host>;  ///< [D][n], must outlive an Adaptation

/// Block training in one pass over the cube: covariance, factorisation, weights, weighting and
/// detection statistic of 64 bytes' worth of neighbouring Doppler bins at a time, within a core's
/// caches. `fp64`: covariance and weights in fp64, the rest in fp32. Work is divided into (training
/// block, run of Doppler bins) units.
std::unique_ptr<Adaptation> fused_block(core::Cpu& cpu, const Problem& problem,
                                        const Steering& steering, bool fp64);

/// Block training one stage at a time: covariances, weights, weighting, statistics. First attempts
/// only.
std::unique_ptr<Adaptation> staged_block(core::Cpu& cpu, const Problem& problem,
                                         const Steering& steering, bool fp64);

/// Training on a sliding window: one covariance per cell. The sum of outer products is updated with
/// the cells that enter and leave the window, in fp64. It is recomputed every 64 cells.
std::unique_ptr<Adaptation> sliding_training(core::Cpu& cpu, const Problem& problem,
                                             const Steering& steering, bool fp64);

/// Training on all range cells except the cell under test and its guard cells: one factorisation
/// per Doppler bin, from which each cell's excluded cells are removed exactly (README.md, "All
/// range cells"). Always in fp64: the single factorisation is cheap. Repeats matrices itself.
std::unique_ptr<Adaptation> all_training(core::Cpu& cpu, const Problem& problem,
                                         const Steering& steering);

inline core::Timeline::Scope adaptive_stage(core::Cpu& cpu, const Problem& problem,
                                            core::Timeline* timeline) {
    const Work work = adaptive_work(problem);
    return core::Timeline::stage(timeline, cpu, "adaptive", work.gflop, work.mb);
}

}  // namespace aperture::stap::cpu
