// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// SystemSolver on a GPU, or on the SIMT host executor; no kernels of its own.

#include <cmath>

#include "aperture/core/shape.hpp"
#include "libflow/gpu/communication_avoiding_cg.cuh"
#include "libflow/gpu/conjugate_gradients.cuh"
#include "libflow/gpu/free_flow.cuh"
#include "libflow/gpu/multigrid.cuh"
#include "libflow/gpu/residual.cuh"
#include "libflow/gpu/sweeps_launch.cuh"

namespace aperture::flow {

// Defined with the Cpu's solvers.
template <>
SystemSolver<core::Cpu>::SystemSolver(core::Cpu&, Shape, const SolverParameters&);
template <>
SystemSolver<core::Cpu>::~SystemSolver();
template <>
SystemSolver<core::Cpu>::SystemSolver(SystemSolver&&) noexcept;
template <>
SystemSolver<core::Cpu>& SystemSolver<core::Cpu>::operator=(SystemSolver&&) noexcept;
template <>
SolveResult SystemSolver<core::Cpu>::solve(const LinearSystem<core::Host>&, FlowView<core::Host>,
                                           std::vector<double>*);

namespace gpu {

/// Iterations between two convergence tests, where a test waits for the device.
inline constexpr int iterations_between_looks = 10;
inline constexpr int rounds_between_looks = 4;

inline SweepKind sweep_kind(Solver solver) {
    if (solver == Solver::jacobi) return SweepKind::jacobi;
    return solver == Solver::block2x2 ? SweepKind::block2x2 : SweepKind::redblack;
}

}  // namespace gpu

template <class Executor>
struct SystemSolver<Executor>::State {
    Executor& executor;
    Shape shape;
    SolverParameters parameters;
    gpu::PreparedSystem<Executor> prepared;
    gpu::FreeFlow<Executor> free_flow;
    gpu::Residual<Executor> residual;
    // Only the chosen solver's member is initialised.
    gpu::Sweeps<Executor> sweeps;
    gpu::ConjugateGradients<Executor> gradients;
    gpu::CommunicationAvoidingCg<Executor> avoiding;
    gpu::Multigrid<Executor> multigrid;

    State(Executor& owner, Shape extents, const SolverParameters& p)
        : executor(owner),
          shape(extents),
          parameters(p),
          prepared(extents),
          free_flow(owner, extents),
          residual(owner, extents) {
        switch (p.solver) {
            case Solver::cg:
                gradients = {executor, extents, p.precondition, p.implementation};
                break;
            case Solver::cacg:
                avoiding = {executor, extents, p};
                break;
            case Solver::multigrid:
                multigrid = {executor, extents};
                break;
            case Solver::jacobi:
            case Solver::block2x2:
            case Solver::redblack:
                sweeps = {executor, extents, gpu::sweep_kind(p.solver), p.implementation};
        }
    }

    static double or_one(double norm) { return norm == 0 ? 1 : norm; }

    /// Runs iterations that only the host can end. `iterate(count)` returns false if there is
    /// nothing left to do. The residual of `x` is tested as often as the caller or the tolerance
    /// needs it.
    template <class Iterate>
    int run(const gpu::Planes<const float>& x, int at_once, std::vector<double>* residuals,
            const Iterate& iterate) {
        const bool looking = residuals != nullptr || parameters.tolerance > 0;
        if (residuals != nullptr) at_once = 1;
        if (!looking) at_once = parameters.iterations;
        // False once the tolerance is reached.
        const auto look = [&] {
            if (!looking) return true;
            const ResidualNorms norms = residual.norms(executor, prepared, x);
            const double relative = norms.residual / or_one(norms.right);
            if (residuals != nullptr) residuals->push_back(relative);
            return !(relative <= parameters.tolerance);
        };
        int done = 0;
        bool go_on = look();
        while (go_on && done < parameters.iterations) {
            const int count = std::min(at_once, parameters.iterations - done);
            if (!iterate(count)) break;
            done += count;
            go_on = look();
        }
        return done;
    }

    /// |r|^2 at which the tolerance is reached; -1, which no residual reaches, without one.
    double limit(const gpu::Planes<const float>& x) {
        if (!(parameters.tolerance > 0)) return -1;
        const double right = or_one(residual.norms(executor, prepared, x).right);
        return parameters.tolerance * right * parameters.tolerance * right;
    }

    SolveResult solve_gradients(const gpu::Planes<float>& x, std::vector<double>* residuals) {
        const auto constant = gpu::constant(x);
        if (residuals != nullptr) {
            gradients.start(executor, prepared, x, -1);
            const int done = run(constant, 1, residuals, [&](int count) {
                gradients.advance(executor, count);
                return !gradients.progress(executor).stopped;
            });
            return {done, 1.0 + done};
        }
        gradients.start(executor, prepared, x, limit(constant));
        const bool looking = parameters.tolerance > 0;
        int begun = 0;
        int done = parameters.iterations;
        // A persistent kernel ends by itself.
        const int at_once = looking && parameters.implementation != Implementation::persistent
                                ? gpu::iterations_between_looks
                                : parameters.iterations;
        while (begun < parameters.iterations) {
            const int count = std::min(at_once, parameters.iterations - begun);
            gradients.advance(executor, count);
            begun += count;
            if (!looking) continue;
            const auto progress = gradients.progress(executor);
            done = progress.done;
            if (progress.stopped) break;
        }
        return {done, 1.0 + done};
    }

    SolveResult solve_avoiding(const gpu::Planes<float>& x, std::vector<double>* residuals) {
        const auto constant = gpu::constant(x);
        // If rounds may be repeated, the host must check whether they were.
        const bool looking =
            parameters.tolerance > 0 || residuals != nullptr || !avoiding.is_sound();
        double right = 1;
        if (looking) right = or_one(residual.norms(executor, prepared, constant).right);
        const double reached = parameters.tolerance * right;
        avoiding.start(executor, prepared, x, looking ? reached * reached : -1,
                       residuals != nullptr);
        if (!looking) {
            avoiding.advance(executor, avoiding.rounds());
            avoiding.finish(executor);
            return {parameters.iterations, avoiding.products()};
        }
        typename gpu::CommunicationAvoidingCg<Executor>::Progress progress{};
        do {
            avoiding.advance(executor, gpu::rounds_between_looks);
            progress = avoiding.progress(executor);
        } while (!progress.stopped);
        avoiding.finish(executor);
        if (residuals != nullptr) avoiding.history(executor, right, *residuals);
        return {progress.done, static_cast<double>(progress.products)};
    }

    SolveResult solve_multigrid(const gpu::Planes<float>& x, std::vector<double>* residuals) {
        multigrid.start(executor, prepared, x);
        bool first = true;
        const int done = run(gpu::constant(x), 1, residuals, [&](int count) {
            for (int i = 0; i < count; ++i) {
                first ? multigrid.full_cycle(executor) : multigrid.v_cycle(executor);
                first = false;
            }
            return true;
        });
        return {done, multigrid.work_units()};
    }

    SolveResult solve_by_sweeps(const gpu::Planes<float>& x, std::vector<double>* residuals) {
        const auto omega = static_cast<float>(parameters.relaxation);
        const auto sweep = [&](int count) {
            sweeps.run(executor, prepared, count, omega, x);
            return true;
        };
        const int done = run(gpu::constant(x), gpu::iterations_between_looks, residuals, sweep);
        return {done, static_cast<double>(done)};
    }
};

template <class Executor>
SystemSolver<Executor>::SystemSolver(Executor& executor, Shape shape,
                                     const SolverParameters& parameters) {
    core::expects(shape.rows > 0 && shape.columns > 0, "image of ", shape.rows, " x ",
                  shape.columns, " pixels");
    validate(parameters);
    state_ = std::make_unique<State>(executor, shape, parameters);
}
template <class Executor>
SystemSolver<Executor>::~SystemSolver() = default;
template <class Executor>
SystemSolver<Executor>::SystemSolver(SystemSolver&&) noexcept = default;
template <class Executor>
SystemSolver<Executor>& SystemSolver<Executor>::operator=(SystemSolver&&) noexcept = default;

template <class Executor>
SolveResult SystemSolver<Executor>::solve(const LinearSystem<Space>& system, FlowView<Space> flow,
                                          std::vector<double>* residuals) {
    State& s = *state_;
    check_system(system, s.shape);
    core::expects_shape("flow", flow, {2, s.shape.rows, s.shape.columns}, core::Strides::unit_last);
    const Solver solver = s.parameters.solver;
    const auto x = gpu::planes_of(flow);
    s.prepared.take(s.executor, system, solver != Solver::jacobi && solver != Solver::multigrid,
                    s.free_flow.wanted(system, gpu::constant(x)));
    SolveResult result;
    switch (solver) {
        case Solver::cg:
            result = s.solve_gradients(x, residuals);
            break;
        case Solver::cacg:
            result = s.solve_avoiding(x, residuals);
            break;
        case Solver::multigrid:
            result = s.solve_multigrid(x, residuals);
            break;
        case Solver::jacobi:
        case Solver::block2x2:
        case Solver::redblack:
            result = s.solve_by_sweeps(x, residuals);
    }
    s.free_flow.restore(s.executor, x);
    return result;
}

}  // namespace aperture::flow
