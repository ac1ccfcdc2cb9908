// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "bench/flow_off_chip.hpp"
#include "bench/four_kernel_cg.cuh"
#include "libflow/gpu/solver.cuh"

namespace aperture::bench {

struct OffChipSolver::State {
    SolverParameters parameters;
    std::optional<SolverOperations<core::Gpu>> operations;
    std::optional<FourKernelCg<core::Gpu>> avoiding;
};

OffChipSolver::OffChipSolver(core::Gpu& gpu, Shape shape, const SolverParameters& parameters)
    : state_(new State{parameters, {}, {}}) {
    if (parameters.solver == Solver::cacg) {
        state_->avoiding.emplace(gpu, shape, parameters);
    } else {
        state_->operations.emplace(gpu, shape, parameters, false);
    }
}
OffChipSolver::~OffChipSolver() = default;

SolveResult OffChipSolver::solve(const LinearSystem<core::Device>& system,
                                 FlowView<core::Device> flow) {
    auto& [parameters, operations, avoiding] = *state_;
    if (avoiding) return avoiding->solve(system, flow);
    const int iterations = parameters.iterations;
    const bool gradients = parameters.solver == Solver::cg;
    operations->load(system, flow, false);
    if (gradients) {
        operations->start_gradients(-1);
        operations->gradients.advance(iterations);
    } else {
        operations->sweep(iterations);
    }
    operations->store(flow);
    return {iterations, iterations + (gradients ? 1.0 : 0.0)};
}

}  // namespace aperture::bench
