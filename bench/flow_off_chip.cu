// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/flow_off_chip.hpp"
#include "libflow/gpu/solver.cuh"

namespace aperture::bench {

struct OffChipSolver::State {
    flow::SolverParameters parameters;
    flow::SolverOperations<core::Gpu> operations;
};

OffChipSolver::OffChipSolver(core::Gpu& gpu, flow::Shape shape,
                             const flow::SolverParameters& parameters)
    : state_(new State{parameters, {gpu, shape, parameters, false}}) {}
OffChipSolver::~OffChipSolver() = default;

flow::SolveResult OffChipSolver::solve(const flow::LinearSystem<core::Device>& system,
                                       flow::FlowView<core::Device> flow) {
    auto& [parameters, operations] = *state_;
    const int iterations = parameters.iterations;
    const bool gradients = parameters.solver == flow::Solver::cg;
    operations.load(system, flow, false);
    if (gradients) {
        operations.start_gradients(-1);
        operations.advance_gradients(iterations);
    } else {
        operations.sweep(iterations);
    }
    operations.store(flow);
    return {iterations, iterations + (gradients ? 1.0 : 0.0)};
}

}  // namespace aperture::bench
