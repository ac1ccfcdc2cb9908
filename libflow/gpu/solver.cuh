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

inline SweepKind sweep_kind(Solver solver) {
    if (solver == Solver::jacobi) return SweepKind::jacobi;
    return solver == Solver::block2x2 ? SweepKind::block2x2 : SweepKind::redblack;
}

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
                gradients_ = {executor, shape, p.precondition, p.implementation, on_chip};
                break;
            case Solver::cacg:
                avoiding_ = {executor, shape, p, gpu::plan_on_chip(executor, shape, p)};
                break;
            case Solver::multigrid:
                multigrid_ = {executor, shape};
                break;
            case Solver::jacobi:
            case Solver::block2x2:
            case Solver::redblack:
                sweeps_ = {executor, shape, gpu::sweep_kind(p.solver), p.implementation, on_chip};
        }
    }

    void load(const LinearSystem<Space>& system, FlowView<Space> x, bool) {
        const Solver solver = parameters_.solver;
        x_ = gpu::planes_of(x);
        prepared_.take(executor_, system, solver != Solver::jacobi && solver != Solver::multigrid,
                       free_flow_.wanted(system, x_));
        if (solver == Solver::multigrid) multigrid_.start(executor_, prepared_, x_);
    }
    void store(FlowView<Space>) { free_flow_.restore(executor_, x_); }

    double right_norm() { return norms().right; }
    ResidualNorms norms() { return residual_.norms(executor_, prepared_, x_); }

    void sweep(int count) {
        sweeps_.run(executor_, prepared_, count, static_cast<float>(parameters_.relaxation), x_);
    }

    /// One kernel ends by itself: nothing is gained by fewer iterations at once.
    bool gradients_in_one_kernel() const { return gradients_.in_one_kernel(); }
    void start_gradients(double limit) { gradients_.start(executor_, prepared_, x_, limit); }
    void advance_gradients(int count) { gradients_.advance(executor_, count); }
    SolverProgress gradients_progress() { return gradients_.progress(executor_); }

    void start_avoiding(double limit, bool with_history) {
        avoiding_.start(executor_, prepared_, x_, limit, with_history);
    }
    /// All rounds.
    SolverProgress advance_avoiding(int) {
        avoiding_.run(executor_);
        return avoiding_.progress(executor_);
    }
    void append_history(double right, std::vector<double>& residuals) {
        avoiding_.history(executor_, right, residuals);
    }
    /// Whether no round of Solver::cacg is repeated.
    bool rounds_are_known() const { return avoiding_.is_sound(); }
    /// All rounds, without waiting for the device; returns the products with A.
    double run_all_rounds() {
        avoiding_.run(executor_);
        return avoiding_.products();
    }

    void full_cycle() { multigrid_.full_cycle(executor_); }
    void v_cycle() { multigrid_.v_cycle(executor_); }
    double work_units() const { return multigrid_.work_units(); }

  private:
    Executor& executor_;
    SolverParameters parameters_;
    gpu::Planes<float> x_{};  ///< the caller's
    gpu::PreparedSystem<Executor> prepared_;
    gpu::FreeFlow<Executor> free_flow_;
    gpu::Residual<Executor> residual_;
    // Only the chosen solver's member is initialised.
    gpu::Sweeps<Executor> sweeps_;
    gpu::ConjugateGradients<Executor> gradients_;
    gpu::CommunicationAvoidingCg<Executor> avoiding_;
    gpu::Multigrid<Executor> multigrid_;
};

}  // namespace aperture::flow
