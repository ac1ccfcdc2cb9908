// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// Training on a sliding window: one covariance per cell. The sum of outer products follows the
/// window by adding the cells it gains and subtracting those it loses, in fp64, and starts afresh
/// every `segment` cells, so that results do not depend on the number of threads.
template <class Real>
class SlidingTraining {
  public:
    SlidingTraining(core::Cpu& cpu, const Problem& problem,
                    core::View<const cfloat, 2, core::Host> steering);
    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results);

  private:
    using Complex = std::complex<Real>;
    struct RunningSum;

    /// (Doppler bin, range cell) counted along range first: problem p is bin p / N, cell p % N.
    void fill_segment(const CubeView<core::Host>& cube, index_t first, index_t begin, index_t end,
                      std::byte* scratch);
    void finish(index_t first, index_t p, const Results<core::Host>& results) const;

    core::Cpu& cpu_;
    Problem problem_;
    core::View<const cfloat, 2, core::Host> steering_;
    index_t right_hand_sides_;            ///< D, and the snapshot itself
    core::Array<Complex, 3> covariance_;  ///< [problem of the batch][n][n]
    core::Array<Complex, 3> solutions_;   ///< [problem of the batch][d, then R^-1 x][n]
    core::Array<Complex, 2> snapshots_;   ///< [problem of the batch][n]
    core::Array<int, 1> info_;
    core::Array<Real, 1> pivot_ratio_;
};

}  // namespace aperture::stap::cpu
