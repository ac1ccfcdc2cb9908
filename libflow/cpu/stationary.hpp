// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/paired_rows.hpp"
#include "libflow/cpu/prepared_system.hpp"

namespace aperture::flow {

/// Row by row, what an update needs of each pack of pixels, one after another: the processor has
/// too few registers for a pointer to each.
using Coefficients = core::Array<float, 2>;

/// Jacobi's iteration x <- D^-1 (S(x) + b), D the diagonal (Solver::jacobi) or the 2x2 blocks of
/// the pixels (Solver::block2x2; Horn & Schunck 1981, equation 11). Several sweeps run over a band
/// of rows while it is in cache: step t follows step t-1 a row behind it, and at its ends a band
/// computes the rows of its neighbours once more that later steps need, so that bands are
/// independent and no value depends on how many there are.
class StationaryIteration {
  public:
    StationaryIteration() = default;
    StationaryIteration(core::Cpu& cpu, Shape shape, Solver solver);

    /// Whether every pixel of `system`, whose form `prepared` has, has one equation: then it has
    /// been taken.
    bool take_one_equation(const PreparedSystem& prepared, const LinearSystem<core::Host>& system);
    /// Any other.
    void take(const PreparedSystem& system);
    /// `count` sweeps over `flow`, which has its margins set before and after.
    void sweep(const PreparedSystem& system, PaddedPlanes& flow, int count);

  private:
    template <class Update, Coupling coupling>
    void sweep_bands(const PreparedSystem& system, int count);

    core::Cpu* cpu_ = nullptr;
    Solver solver_ = Solver::block2x2;
    bool one_equation_ = false;
    Coefficients coefficients_;
    PairedRows flow_;
    PairedRows other_;
    PairedRows zeros_;  ///< one row, as it is outside the image
};

}  // namespace aperture::flow
