// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/corr/correlator.hpp"
#include "aperture/signal/summed_area.hpp"
#include "libcorr/cpu/ground.hpp"
#include "libcorr/cpu/overlap_sums.hpp"

namespace aperture::corr {

/// Contribution of the grounds to sums of products. With A = A' + g and B = B' + h, sum A B is sum
/// A' B' + g sum B' + h sum A' + N g h.
class GroundSums {
  public:
    /// Adds the last three terms to `sums`, [planes or 1][dy][dx], in double precision.
    void add(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& a,
             const GroundedPlanes& b, core::View<double, 3, core::Host> sums);

  private:
    /// Adds the other image's ground times the sum of this image's plane without its own.
    void add_side(core::Cpu& cpu, const Problem& problem, const GroundedPlanes& image, Side side,
                  const Ground& other, core::View<double, 3, core::Host> sums);

    signal::SummedAreas areas_;
};

}  // namespace aperture::corr
