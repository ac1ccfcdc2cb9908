// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// SystemSolver for every executor: how each solver iterates, and when it ends.

#include <algorithm>

#include "aperture/core/shape.hpp"
#include "aperture/flow/linear_system.hpp"
#include "libflow/solver_model.hpp"

namespace aperture::flow {

/// Iterations, and rounds of Solver::cacg, between two convergence tests, unless all residuals are
/// requested: a test costs about one iteration, and on a Gpu it waits for the device.
inline constexpr int iterations_between_tests = 10;
inline constexpr int rounds_between_tests = 4;

/// A system, its unknowns and the chosen solver on one executor: `gradients`, `avoiding`,
/// `multigrid` or sweep(). `asynchronous`: work continues after a call returns, so that a test of
/// the progress makes the host wait. `supported` replaces a solver that the executor does not have.
template <class Executor>
class SolverOperations;

template <class Executor>
struct SystemSolver<Executor>::State {
    using Operations = SolverOperations<Executor>;

    Shape shape;
    SolverParameters parameters;
    Operations operations;

    State(Executor& executor, Shape extents, const SolverParameters& p)
        : shape(extents),
          parameters(Operations::supported(executor, extents, p)),
          operations(executor, extents, parameters) {}

    static double or_one(double norm) { return norm == 0 ? 1 : norm; }

    bool tests_residual(const std::vector<double>* residuals) const {
        return residuals != nullptr || parameters.tolerance > 0;
    }

    /// |r|^2 at which the tolerance is reached; -1, which no residual reaches, without one.
    double limit(double right) const {
        const double reached = parameters.tolerance * right;
        return parameters.tolerance > 0 ? reached * reached : -1;
    }

    /// Runs iterations that only the host can end. `iterate(count)` returns false if there is
    /// nothing left to do. The residual is tested as often as the caller or the tolerance needs it.
    template <class Iterate>
    int run(int at_once, std::vector<double>* residuals, const Iterate& iterate) {
        const bool tested = tests_residual(residuals);
        if (residuals != nullptr) at_once = 1;
        if (!tested) at_once = parameters.iterations;
        // Of the tolerance.
        const auto falls_short = [&] {
            if (!tested) return true;
            const ResidualNorms norms = operations.norms();
            const double relative = norms.residual / or_one(norms.right);
            if (residuals != nullptr) residuals->push_back(relative);
            return !(relative <= parameters.tolerance);
        };
        int done = 0;
        bool go_on = falls_short();
        while (go_on && done < parameters.iterations) {
            const int count = std::min(at_once, parameters.iterations - done);
            if (!iterate(count)) break;
            done += count;
            go_on = falls_short();
        }
        return done;
    }

    SolveResult solve_by_sweeps(std::vector<double>* residuals) {
        const int done = run(iterations_between_tests, residuals, [&](int count) {
            operations.sweep(count);
            return true;
        });
        return {done, static_cast<double>(done)};
    }

    SolveResult solve_gradients(std::vector<double>* residuals) {
        if (residuals != nullptr) {
            const std::size_t before = residuals->size();
            operations.start_gradients(-1);
            const int begun = run(1, residuals, [&](int count) {
                operations.gradients.advance(count);
                return !operations.gradients.progress().stopped;
            });
            operations.gradients.finish();
            const int done = operations.gradients.progress().done;
            residuals->resize(before + 1 + static_cast<std::size_t>(done));
            return {done, 1.0 + begun};
        }
        const bool tested = parameters.tolerance > 0;
        operations.start_gradients(limit(tested ? or_one(operations.right_norm()) : 1));
        const bool waits = tested || !Operations::asynchronous;
        const int at_once = waits && !operations.gradients.in_one_kernel()
                                ? iterations_between_tests
                                : parameters.iterations;
        int done = parameters.iterations;
        for (int begun = 0; begun < parameters.iterations;) {
            const int count = std::min(at_once, parameters.iterations - begun);
            operations.gradients.advance(count);
            begun += count;
            if (!waits) continue;
            const SolverProgress progress = operations.gradients.progress();
            done = progress.done;
            if (progress.stopped) break;
        }
        operations.gradients.finish();
        const double work_units = 1.0 + done;
        if (waits) done = operations.gradients.progress().done;
        return {done, work_units};
    }

    SolveResult solve_avoiding(std::vector<double>* residuals) {
        const double right = tests_residual(residuals) ? or_one(operations.right_norm()) : 1;
        operations.start_avoiding(limit(right), residuals != nullptr);
        if constexpr (Operations::asynchronous) {
            // If rounds may be repeated, the host must test whether they were.
            if (!tests_residual(residuals) && operations.avoiding.is_sound()) {
                operations.avoiding.advance(rounds_between_tests);
                return {parameters.iterations, operations.avoiding.products()};
            }
        }
        SolverProgress progress;
        do {
            operations.avoiding.advance(rounds_between_tests);
            progress = operations.avoiding.progress();
        } while (!progress.stopped);
        if (residuals != nullptr) operations.avoiding.append_history(right, *residuals);
        return {progress.done, static_cast<double>(progress.products)};
    }

    SolveResult solve_multigrid(std::vector<double>* residuals) {
        bool first = true;
        const int done = run(1, residuals, [&](int count) {
            for (int i = 0; i < count; ++i) {
                first ? operations.multigrid.full_cycle() : operations.multigrid.v_cycle();
                first = false;
            }
            return true;
        });
        return {done, operations.multigrid.work_units()};
    }

    SolveResult solve(std::vector<double>* residuals) {
        switch (parameters.solver) {
            case Solver::cg:
                return solve_gradients(residuals);
            case Solver::cacg:
                return solve_avoiding(residuals);
            case Solver::multigrid:
                return solve_multigrid(residuals);
            case Solver::jacobi:
            case Solver::block2x2:
            case Solver::redblack:
                break;
        }
        return solve_by_sweeps(residuals);
    }
};

template <class Executor>
SystemSolver<Executor>::SystemSolver(Executor& executor, Shape shape,
                                     const SolverParameters& parameters) {
    check_shape(shape);
    validate(parameters);
    state_ = core::owned(std::make_unique<State>(executor, shape, parameters));
}

template <class Executor>
SolveResult SystemSolver<Executor>::solve(const LinearSystem<Space>& system, FlowView<Space> flow,
                                          std::vector<double>* residuals) {
    State& s = *state_;
    check_system(system, s.shape);
    core::expects_shape("flow", flow, {2, s.shape.rows, s.shape.columns}, core::Strides::unit_last);
    s.operations.load(system, flow, s.tests_residual(residuals));
    const SolveResult result = s.solve(residuals);
    s.operations.store(flow);
    return result;
}

}  // namespace aperture::flow
