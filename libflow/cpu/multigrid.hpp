// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "libflow/cpu/checkered_level.hpp"

namespace aperture::flow {

/// Multigrid on 2x2 cells: coarser systems are averages of finer ones, prolongation is bilinear,
/// with two Gauss-Seidel sweeps before and after (Trottenberg, Oosterlee & Schueller 2001, sections
/// 2.6 and 2.8). A cycle costs about seven sweeps. libflow/README.md says what makes it converge.
class Multigrid {
  public:
    Multigrid() = default;
    Multigrid(core::Cpu& cpu, Shape shape);

    /// Computes the systems of all levels and loads the finest unknowns.
    void start(const LinearSystem<core::Host>& system, ConstFlowView<core::Host> flow);
    /// Corrects from the coarsest level to the finest, with a V-cycle on each: the first iteration.
    void full_cycle();
    void v_cycle() { cycle(0, correction_share(++cycles_)); }
    double residual_squared() { return levels_.front().residual_squared(); }
    void store(FlowView<core::Host> flow) const { levels_.front().store_unknowns(flow); }
    /// Sweeps and products so far; coarser levels count by their share of pixels.
    double work_units() const { return work_units_; }

  private:
    void cycle(std::size_t level, float corrected = 1);
    void solve_coarsest();
    double share(std::size_t level) const;

    std::vector<CheckeredLevel> levels_;
    double work_units_ = 0;
    int cycles_ = 0;  ///< V-cycles after the full one
};

}  // namespace aperture::flow
