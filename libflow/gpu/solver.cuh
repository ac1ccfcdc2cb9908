// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of SystemSolver on a GPU, or on the SIMT host executor; no kernels of its own.

#include "libflow/gpu/communication_avoiding_cg.cuh"
#include "libflow/gpu/conjugate_gradients.cuh"
#include "libflow/gpu/free_flow.cuh"
#include "libflow/gpu/multigrid.cuh"
#include "libflow/gpu/residual.cuh"
#include "libflow/gpu/sweeps_launch.cuh"
#include "libflow/system_solver.hpp"

namespace aperture::flow {
namespace gpu {

template <class Executor>
OnChipPlan plan_on_chip(const Executor& executor, Shape shape, const SolverParameters& p) {
    return plan_on_chip(shape, p.s_step, executor.multiprocessors(),
                        static_cast<std::size_t>(executor.shared_memory_per_block()));
}

/// As flow::solver_on.
template <class Executor>
Solver solver_on(const Executor& executor, Shape shape, const SolverParameters& p) {
    if (p.solver != Solver::cacg || plan_on_chip(executor, shape, p).fits()) return p.solver;
    return Solver::cg;
}

}  // namespace gpu

template <class Executor>
class SolverOperations {
    using Space = typename Executor::Space;

  public:
    static constexpr bool asynchronous = true;
    static SolverParameters supported(const Executor& executor, Shape shape, SolverParameters p) {
        p.solver = gpu::solver_on(executor, shape, p);
        return p;
    }

    /// Without `on_chip`, no kernel keeps a system on chip for all iterations: for comparisons.
    SolverOperations(Executor& executor, Shape shape, const SolverParameters& p,
                     bool on_chip = true)
        : executor_(executor),
          parameters_(p),
          prepared_(shape),
          free_flow_(executor, shape),
          residual_(executor, shape) {
        switch (p.solver) {
            case Solver::cg:
                gradients = {executor, shape, p.precondition, p.implementation, on_chip};
                break;
            case Solver::cacg:
                avoiding = {executor, shape, p, gpu::plan_on_chip(executor, shape, p)};
                break;
            case Solver::multigrid:
                multigrid = {executor, shape};
                break;
            case Solver::jacobi:
            case Solver::block2x2:
            case Solver::redblack:
                sweeps_ = {shape, p.solver, p.implementation, on_chip};
        }
    }

    void load(const LinearSystem<Space>& system, FlowView<Space> x, bool) {
        const Solver solver = parameters_.solver;
        x_ = gpu::planes_of(x);
        prepared_.load(executor_, system, solver != Solver::jacobi && solver != Solver::multigrid,
                       free_flow_.start_sums(system, x_));
        if (solver == Solver::multigrid) multigrid.start(prepared_, x_);
    }
    void store(FlowView<Space>) { free_flow_.restore(executor_, x_); }

    double right_norm() { return norms().right; }
    ResidualNorms norms() { return residual_.norms(executor_, prepared_, x_); }

    void sweep(int count) {
        sweeps_.run(executor_, prepared_, count, static_cast<float>(parameters_.relaxation), x_);
    }

    void start_gradients(double limit) { gradients.start(prepared_, x_, limit); }
    void start_avoiding(double limit, bool with_history) {
        avoiding.start(prepared_, x_, limit, with_history);
    }

    // Only the chosen solver's is initialised.
    gpu::ConjugateGradients<Executor> gradients;
    gpu::CommunicationAvoidingCg<Executor> avoiding;
    gpu::Multigrid<Executor> multigrid;

  private:
    Executor& executor_;
    SolverParameters parameters_;
    gpu::Planes<float> x_{};  ///< the caller's
    gpu::PreparedSystem<Executor> prepared_;
    gpu::FreeFlow<Executor> free_flow_;
    gpu::Residual<Executor> residual_;
    gpu::Sweeps<Executor> sweeps_;  ///< if the solver sweeps
};

}  // namespace aperture::flow
