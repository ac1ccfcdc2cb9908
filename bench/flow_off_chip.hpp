// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/flow/linear_system.hpp"

namespace aperture::bench {

/// What SystemSolver does with images that are too large for one kernel, for images of any size:
/// Solver::cg and sweeps, for comparison with the kernels that keep a system on chip. Ignores the
/// tolerance.
class OffChipSolver {
  public:
    OffChipSolver(core::Gpu& gpu, flow::Shape shape, const flow::SolverParameters& parameters);
    ~OffChipSolver();

    /// As SystemSolver::solve. Asynchronous.
    flow::SolveResult solve(const flow::LinearSystem<core::Device>& system,
                            flow::FlowView<core::Device> flow);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::bench
