// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/attempts.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// STAP with block training in one pass over the cube: covariance, factorisation, weights,
/// weighting and detection statistic of 64 bytes' worth of neighbouring Doppler bins at a time,
/// within a core's caches. Real = double: covariance and weights in fp64, the rest in fp32.
///
/// Work is divided into (training block, run of Doppler bins) units. Results do not depend on the
/// division: they are bitwise identical for any number of threads.
template <class Real>
class FusedBlock {
  public:
    /// `steering` is [d][n], copied. Allocates the workspace of every thread.
    FusedBlock(core::Cpu& cpu, const Problem& problem,
               core::View<const cfloat, 2, core::Host> steering);

    /// `cube` holds Doppler bins, [c][k][r] with the last stride 1, as have the results with range.
    /// A later attempt computes only the matrices with its number in `results.attempt`.
    void run(CubeView<core::Host> cube, const Results<core::Host>& results,
             int attempt = first_attempt);

  private:
    core::Cpu* cpu_;
    Problem problem_;
    core::Array<std::complex<Real>, 2> steering_;  // [n][D]
    index_t runs_per_block_;
};

extern template class FusedBlock<float>;
extern template class FusedBlock<double>;

}  // namespace aperture::stap::cpu
