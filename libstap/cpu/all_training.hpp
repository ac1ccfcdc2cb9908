// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/pipeline.hpp"

namespace aperture::stap::cpu {

/// Training on all range cells except the cell under test and its guard cells: one factorisation
/// per Doppler bin, from which each cell's excluded cells are removed exactly (README.md, "All
/// range cells"). Always in fp64: the single factorisation is cheap.
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
