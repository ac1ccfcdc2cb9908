// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/paired_rows.hpp"
#include "libflow/cpu/prepared_system.hpp"

namespace aperture::flow {

/// Coefficients of the updates, row by row and one pack of pixels after another: there are too few
/// registers for a pointer to each coefficient.
using Coefficients = core::Array<float, 2>;

/// Jacobi's iteration x <- D^-1 (S(x) + b), D the diagonal (Solver::jacobi) or the 2x2 blocks of
/// the pixels (Solver::block2x2; Horn & Schunck 1981, equation 11). Several sweeps run over a band
/// of rows while it is in cache: step t follows step t-1 a row behind. At its ends a band
/// recomputes the rows of its neighbours that later steps need. So bands are independent, and no
/// value depends on their number.
class StationaryIteration {
  public:
    StationaryIteration() = default;
    StationaryIteration(core::Cpu& cpu, Shape shape, Solver solver);

    /// Stores the coefficients if every pixel of `system` has one equation, and returns whether it
    /// does. `prepared` holds the system's form.
    bool take_one_equation(const PreparedSystem& prepared, const LinearSystem<core::Host>& system);
    /// Stores the coefficients of any other system.
    void take(const PreparedSystem& system);
    /// `count` sweeps over `flow`, with margins that must be set before and are set after.
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
    PairedRows zeros_;  ///< one row, used outside the image
};

}  // namespace aperture::flow
