// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "aperture/core/shape.hpp"
#include "aperture/flow/linear_system.hpp"
#include "libflow/cpu/communication_avoiding_cg.hpp"
#include "libflow/cpu/conjugate_gradients.hpp"
#include "libflow/cpu/free_flow.hpp"
#include "libflow/cpu/multigrid.hpp"
#include "libflow/cpu/stationary.hpp"

namespace aperture::flow {
namespace {

/// Iterations of the stationary methods between two convergence tests, unless all residuals are
/// requested: a test costs about one iteration.
constexpr int iterations_between_looks = 10;
/// Gauss-Seidel sweeps for each pass over the image.
constexpr int sweeps_at_once = 8;

}  // namespace

template <>
struct SystemSolver<core::Cpu>::State {
    core::Cpu& cpu;
    Shape shape;
    SolverParameters parameters;
    FreeFlow free_flow;
    RowSums<1> sums;
    // Row-wise solvers.
    PreparedSystem prepared;
    PaddedPlanes flow;
    Residual residual;
    StationaryIteration stationary;
    ConjugateGradients gradients;
    CommunicationAvoidingCg avoiding;
    // Coloured solvers.
    CheckeredLevel checkered;
    Multigrid multigrid;

    State(core::Cpu& executor, Shape extents, const SolverParameters& p)
        : cpu(executor), shape(extents), parameters(p), free_flow(extents), sums(extents) {
        if (p.solver == Solver::multigrid) {
            multigrid = Multigrid(cpu, extents);
        } else if (p.solver == Solver::redblack) {
            checkered = CheckeredLevel(cpu, extents);
        } else {
            prepared = PreparedSystem(extents);
            flow = PaddedPlanes(2, extents);
            residual = Residual(extents);
            if (p.solver == Solver::cg) {
                gradients = ConjugateGradients(cpu, extents, p.precondition);
            } else if (p.solver == Solver::cacg) {
                avoiding = CommunicationAvoidingCg(cpu, extents, p);
            } else {
                stationary = StationaryIteration(cpu, extents, p.solver);
            }
        }
    }

    bool looks(const std::vector<double>* residuals) const {
        return residuals != nullptr || parameters.tolerance > 0;
    }

    /// Runs `iterate(count)`, which returns false if there is nothing left to do. Tests
    /// `squared()`, the squared residual, as often as the caller or the tolerance needs it.
    template <class Iterate, class Squared>
    int run(const LinearSystem<core::Host>& system, int at_once, std::vector<double>* residuals,
            const Iterate& iterate, const Squared& squared) {
        const bool looking = looks(residuals);
        double right = 1;
        if (looking) right = std::sqrt(right_squared(cpu, system, sums));
        if (right == 0) right = 1;
        if (residuals != nullptr) at_once = 1;
        if (!looking) at_once = parameters.iterations;
        // False once the tolerance is reached.
        const auto look = [&] {
            if (!looking) return true;
            const double relative = std::sqrt(squared()) / right;
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

    SolveResult solve_stationary(const LinearSystem<core::Host>& system,
                                 std::vector<double>* residuals) {
        prepared.take_form(cpu, system);
        const bool taken = stationary.take_one_equation(prepared, system);
        if (!taken || looks(residuals)) prepared.take_pixels(cpu, system, false);
        if (!taken) stationary.take(prepared);
        const int done = run(
            system, iterations_between_looks, residuals,
            [&](int count) {
                stationary.sweep(prepared, flow, count);
                return true;
            },
            [&] { return residual.squared(cpu, prepared, flow); });
        return {done, static_cast<double>(done)};
    }

    SolveResult solve_gradients(const LinearSystem<core::Host>& system,
                                std::vector<double>* residuals) {
        prepared.take(cpu, system, true);
        gradients.start(prepared, flow);
        const auto iterate = [&](int count) {
            for (int i = 0; i < count; ++i) {
                if (!gradients.step(prepared, flow)) return i > 0;
            }
            return true;
        };
        const int done = run(system, 1, residuals, iterate, [&] {
            return residuals != nullptr ? residual.squared(cpu, prepared, flow)
                                        : gradients.residual_squared();
        });
        return {done, 1.0 + done};
    }

    SolveResult solve_avoiding(const LinearSystem<core::Host>& system,
                               std::vector<double>* residuals) {
        prepared.take(cpu, system, true);
        avoiding.start(prepared, flow);
        double right = std::sqrt(right_squared(cpu, system, sums));
        if (right == 0) right = 1;
        if (residuals != nullptr)
            residuals->push_back(std::sqrt(avoiding.residual_squared()) / right);
        std::vector<double> squared;
        int done = 0;
        while (done < parameters.iterations &&
               !(std::sqrt(avoiding.residual_squared()) <= parameters.tolerance * right)) {
            squared.clear();
            const int more = avoiding.advance(prepared, flow, parameters.iterations - done,
                                              residuals != nullptr ? &squared : nullptr);
            if (more == 0) break;
            done += more;
            for (const double r : squared) residuals->push_back(std::sqrt(r) / right);
        }
        return {done, static_cast<double>(avoiding.products())};
    }

    SolveResult solve_by_rows(const LinearSystem<core::Host>& system, FlowView<core::Host> x,
                              std::vector<double>* residuals) {
        take_flow(cpu, x, system.boundary, flow);
        SolveResult result;
        if (parameters.solver == Solver::cg) {
            result = solve_gradients(system, residuals);
        } else if (parameters.solver == Solver::cacg) {
            result = solve_avoiding(system, residuals);
        } else {
            result = solve_stationary(system, residuals);
        }
        give_flow(cpu, flow, x);
        return result;
    }

    SolveResult solve_redblack(const LinearSystem<core::Host>& system, FlowView<core::Host> x,
                               std::vector<double>* residuals) {
        checkered.take(system);
        checkered.take_unknowns(x);
        const int done = run(
            system, iterations_between_looks, residuals,
            [&](int count) {
                for (int i = 0; i < count; i += sweeps_at_once) {
                    checkered.sweep(std::min(sweeps_at_once, count - i),
                                    static_cast<float>(parameters.relaxation));
                }
                return true;
            },
            [&] { return checkered.residual_squared(); });
        checkered.give_unknowns(x);
        return {done, static_cast<double>(done)};
    }

    SolveResult solve_multigrid(const LinearSystem<core::Host>& system, FlowView<core::Host> x,
                                std::vector<double>* residuals) {
        multigrid.start(system, x);
        bool first = true;
        const int done = run(
            system, 1, residuals,
            [&](int count) {
                for (int i = 0; i < count; ++i) {
                    first ? multigrid.full_cycle() : multigrid.v_cycle();
                    first = false;
                }
                return true;
            },
            [&] { return multigrid.residual_squared(); });
        multigrid.give(x);
        return {done, multigrid.work_units()};
    }
};

template <>
SystemSolver<core::Cpu>::SystemSolver(core::Cpu& cpu, Shape shape,
                                      const SolverParameters& parameters) {
    core::expects(shape.rows > 0 && shape.columns > 0, "image of ", shape.rows, " x ",
                  shape.columns, " pixels");
    validate(parameters);
    state_ = std::make_unique<State>(cpu, shape, parameters);
}
template <>
SystemSolver<core::Cpu>::~SystemSolver() = default;
template <>
SystemSolver<core::Cpu>::SystemSolver(SystemSolver&&) noexcept = default;
template <>
SystemSolver<core::Cpu>& SystemSolver<core::Cpu>::operator=(SystemSolver&&) noexcept = default;

template <>
SolveResult SystemSolver<core::Cpu>::solve(const LinearSystem<core::Host>& system,
                                           FlowView<core::Host> flow,
                                           std::vector<double>* residuals) {
    State& s = *state_;
    check_system(system, s.shape);
    core::expects_shape("flow", flow, {2, s.shape.rows, s.shape.columns}, core::Strides::unit_last);
    s.free_flow.take(s.cpu, system, flow);
    SolveResult result;
    switch (s.parameters.solver) {
        case Solver::jacobi:
        case Solver::block2x2:
        case Solver::cg:
        case Solver::cacg:
            result = s.solve_by_rows(system, flow, residuals);
            break;
        case Solver::redblack:
            result = s.solve_redblack(system, flow, residuals);
            break;
        case Solver::multigrid:
            result = s.solve_multigrid(system, flow, residuals);
            break;
    }
    s.free_flow.restore(s.cpu, flow);
    return result;
}

}  // namespace aperture::flow
