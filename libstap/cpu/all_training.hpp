// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// Training on all range cells less the cell under test and its guard cells: one factorisation per
/// Doppler bin, from which the excluded cells of every cell are removed exactly (README.md, "All
/// range cells"). In fp64, whatever the precision: the one factorisation costs next to nothing.
class AllTraining {
  public:
    AllTraining(core::Cpu& cpu, const Problem& problem,
                core::View<const cfloat, 2, core::Host> steering);
    void run(const CubeView<core::Host>& cube, const Results<core::Host>& results);

  private:
    core::Cpu& cpu_;
    Problem problem_;
    core::View<const cfloat, 2, core::Host> steering_;
};

}  // namespace aperture::stap::cpu
