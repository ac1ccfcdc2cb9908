// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/timing.hpp"
#include "aperture/stap/pipeline.hpp"
#include "libstap/cpu/stages.hpp"

namespace aperture::stap::cpu {

/// Block training one stage at a time: covariances, weights, weighting.
template <class Real>
class StagedBlock {
  public:
    StagedBlock(core::Cpu& cpu, const Problem& problem,
                core::View<const cfloat, 2, core::Host> steering);
    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results,
             core::Timeline* timeline);
    /// The statistics of an adaptive detector, after `run`.
    void detect(const CubeView<core::Host>& cube, const Results<core::Host>& results);

  private:
    using Complex = std::complex<Real>;

    void detect_in_block(const CubeView<core::Host>& cube, index_t doppler_bin,
                         index_t training_set,
                         const core::View<const Complex, 2, core::Host>& solutions,
                         const Results<core::Host>& results) const;

    core::Cpu& cpu_;
    Problem problem_;
    core::View<const cfloat, 2, core::Host> steering_;
    CovarianceEstimator<Real> estimator_;
    WeightSolver<Real> solver_;
    core::Array<Complex, 4> covariance_;  ///< [k][b][n][n]
    core::Array<Complex, 4> weights_;     ///< [k][b][d][n]
    core::Array<Complex, 4> solutions_;   ///< R^-1 S of a chunk of bins, [k][b][cell][n]
    core::Array<int, 1> solution_info_;
};

}  // namespace aperture::stap::cpu
