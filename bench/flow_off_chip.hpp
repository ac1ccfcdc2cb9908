// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/flow/linear_system.hpp"

namespace aperture::bench {

/// Solutions of a given number of iterations by kernels that keep no system on chip, for comparison
/// with those that do: sweeps and Solver::cg as SystemSolver solves systems that are too large for
/// the chip, Solver::cacg by FourKernelCg.
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
