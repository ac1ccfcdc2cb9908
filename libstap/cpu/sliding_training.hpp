// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/attempts.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// Training on a sliding window: one covariance per cell. The sum of outer products is updated with
/// the cells that enter and leave the window, in fp64. It is recomputed every `segment` cells, so
/// that results do not depend on the number of threads.
template <class Real>
class SlidingTraining {
  public:
    SlidingTraining(core::Cpu& cpu, const Problem& problem,
                    core::View<const cfloat, 2, core::Host> steering);
    /// A later attempt computes only the matrices with its number in `results.attempt`.
    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results,
             int attempt = first_attempt);

  private:
    using Complex = std::complex<Real>;
    struct RunningSum;

    /// Lists in `problems_` the problems in [first, end) that are due in an attempt.
    index_t select(index_t first, index_t end, const Results<core::Host>& results, int attempt);
    /// Fills slots [begin, end) of the batch, with the problems of one segment.
    void fill_segment(const CubeView<core::Host>& cube, index_t begin, index_t end, int attempt,
                      std::byte* scratch);
    void finish(index_t slot, const Results<core::Host>& results) const;

    core::Cpu& cpu_;
    Problem problem_;
    core::View<const cfloat, 2, core::Host> steering_;
    index_t right_hand_sides_;  ///< D, and the snapshot itself
    /// (Doppler bin, range cell), range fastest: problem p is bin p / N, cell p % N.
    core::Array<index_t, 1> problems_;    ///< [slot of the batch]
    core::Array<Complex, 3> covariance_;  ///< [slot of the batch][n][n]
    core::Array<Complex, 3> solutions_;   ///< [slot of the batch][d, then R^-1 x][n]
    core::Array<Complex, 2> snapshots_;   ///< [slot of the batch][n]
    core::Array<int, 1> info_;
    core::Array<Real, 1> pivot_ratio_;
};

}  // namespace aperture::stap::cpu
