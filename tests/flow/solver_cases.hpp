// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tests of every solver on every executor. A `Run` solves a system with data on the host:
// Run(shape, parameters), then run(system, flow, residuals).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "tests/flow/oracle.hpp"

namespace aperture::flow {

using oracle::OwnedSystem;
using HostFlow = core::Array<float, 3>;

struct Case {
    Solver solver;
    Boundary boundary;
    Stencil stencil;
    bool weighted = false;
    bool precondition = true;
    Implementation implementation = Implementation::fused;
};

inline constexpr Boundary replicate = Boundary::replicate;
inline constexpr Boundary zero = Boundary::zero;

inline const char* name_of(Solver solver) {
    switch (solver) {
        case Solver::jacobi:
            return "jacobi";
        case Solver::block2x2:
            return "block2x2";
        case Solver::cg:
            return "cg";
        case Solver::cacg:
            return "cacg";
        case Solver::redblack:
            return "redblack";
        case Solver::multigrid:
            return "multigrid";
    }
    return "";
}

inline std::string name_of(const Case& c) {
    return std::string(name_of(c.solver)) +
           (c.boundary == Boundary::zero ? "_zero" : "_replicate") +
           (c.stencil == Stencil::nine ? "_nine" : "_five") + (c.weighted ? "_weighted" : "") +
           (c.precondition ? "" : "_plain") +
           (c.implementation == Implementation::staged ? "_staged" : "");
}
inline void PrintTo(const Case& c, std::ostream* stream) { *stream << name_of(c); }

inline bool stationary(Solver solver) {
    return solver == Solver::jacobi || solver == Solver::block2x2;
}

inline bool sweeps(Solver solver) { return stationary(solver) || solver == Solver::redblack; }

/// Every solver with every stencil and boundary, weights between pixels, and plain CG.
inline std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const Solver solver : {Solver::jacobi, Solver::block2x2, Solver::cg, Solver::cacg,
                                Solver::redblack, Solver::multigrid}) {
        for (const Stencil stencil : {Stencil::five, Stencil::nine}) {
            for (const Boundary boundary : {replicate, zero}) {
                cases.push_back({solver, boundary, stencil});
            }
        }
        cases.push_back({solver, replicate, Stencil::five, true});
    }
    cases.push_back({Solver::cg, replicate, Stencil::five, false, false});
    return cases;
}

/// all_cases(), and solvers with several implementations for a GPU.
inline std::vector<Case> all_gpu_cases() {
    std::vector<Case> cases = all_cases();
    cases.push_back({Solver::cacg, replicate, Stencil::five, false, false});
    for (Case c : all_cases()) {
        if (c.solver != Solver::cg && !sweeps(c.solver)) continue;
        c.implementation = Implementation::staged;
        cases.push_back(c);
    }
    return cases;
}

/// One case of each solver, for tests that do not depend on stencil and boundary.
inline std::vector<Case> one_of_each() {
    std::vector<Case> cases;
    for (const Case& c : all_gpu_cases()) {
        if (c.boundary == replicate && c.stencil == Stencil::five && !c.weighted) {
            cases.push_back(c);
        }
    }
    return cases;
}

inline OwnedSystem system_of(const Case& c, Shape shape, unsigned seed = 1, float smoothness = 50) {
    OwnedSystem system = oracle::random_system(shape, seed, smoothness);
    system.boundary = c.boundary;
    system.stencil = c.stencil;
    if (!c.weighted) return system;
    system.coupling = core::Array<float, 3>({2, shape.rows, shape.columns});
    std::mt19937 generator(seed + 1);
    std::uniform_real_distribution<float> uniform(0.05F, 2.0F);
    for (float& w : system.coupling) w = uniform(generator);
    return system;
}

inline HostFlow zero_flow(Shape shape) {
    HostFlow flow({2, shape.rows, shape.columns});
    std::fill(flow.begin(), flow.end(), 0.0F);
    return flow;
}

inline SolverParameters converged(const Case& c) {
    SolverParameters p;
    p.solver = c.solver;
    p.precondition = c.precondition;
    p.implementation = c.implementation;
    // If one iteration changes little, a small residual does not imply a small error.
    p.tolerance = stationary(c.solver) ? 0 : 2e-7;
    p.iterations = stationary(c.solver) ? 6000 : 3000;
    if (c.solver == Solver::redblack) p.relaxation = 1.8;
    return p;
}

/// A fixed number of iterations.
inline SolverParameters iterated(const Case& c, int iterations) {
    SolverParameters p = converged(c);
    p.iterations = iterations;
    p.tolerance = 0;
    return p;
}

inline ResidualNorms norms_of(const OwnedSystem& system, const HostFlow& flow) {
    core::Cpu cpu;
    return residual_norms(cpu, system.view(), flow.view());
}

/// A solver of the Cpu or of the SIMT host executor.
template <class Executor, class Solver = SystemSolver<Executor>>
class HostRun {
  public:
    HostRun(Shape shape, const SolverParameters& parameters, Executor executor = Executor())
        : executor_(std::move(executor)), solver_(executor_, shape, parameters) {}

    SolveResult operator()(const OwnedSystem& system, HostFlow& flow,
                           std::vector<double>* residuals = nullptr) {
        return solver_.solve(system.view(), flow, residuals);
    }
    SolveResult solve(const LinearSystem<core::Host>& system, FlowView<core::Host> flow) {
        return solver_.solve(system, flow);
    }

  private:
    Executor executor_;
    Solver solver_;
};

template <class Run>
void expect_oracles_solution(const Case& c, std::initializer_list<Shape> shapes,
                             int most_iterations = 100'000) {
    for (const Shape shape : shapes) {
        // Jacobi's iteration oscillates almost undamped if a pixel has almost no neighbours.
        if (c.solver == Solver::jacobi && c.weighted && shape.rows * shape.columns == 1) continue;
        const OwnedSystem system = system_of(c, shape);
        HostFlow flow = zero_flow(shape);
        SolverParameters p = converged(c);
        // A stationary iteration converges more slowly the more pixels a change has to cross.
        const auto pixels = static_cast<int>(shape.rows * shape.columns);
        if (stationary(c.solver)) p.iterations = std::max(p.iterations, 6 * pixels);
        p.iterations = std::min(p.iterations, most_iterations);
        Run run(shape, p);
        run(system, flow);
        const bool small = shape.rows * shape.columns < 100;
        const Eigen::VectorXd expected =
            small ? oracle::solve_minimum_norm(system) : oracle::solve(system);
        EXPECT_LT(oracle::relative_error(flow, expected), 1e-4)
            << shape.rows << " x " << shape.columns;
    }
}

/// Expects the Cpu's work units and, up to rounding, the Cpu's flow.
template <class Run>
void expect_cpus_result(const Case& c, Shape shape, int iterations) {
    const OwnedSystem system = system_of(c, shape);
    const SolverParameters p = iterated(c, iterations);
    HostFlow expected = zero_flow(shape);
    HostRun<core::Cpu> on_cpu(shape, p);
    const SolveResult result = on_cpu(system, expected);
    HostFlow flow = zero_flow(shape);
    Run run(shape, p);
    EXPECT_NEAR(run(system, flow).work_units, result.work_units, 1e-9);
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    // The condition of the basis multiplies rounding errors.
    const float relative = c.solver == Solver::cacg ? 1e-3F : 2e-5F;
    for (index_t i = 0; i < flow.size(); ++i) {
        ASSERT_NEAR(flow.data()[i], expected.data()[i], relative * largest)
            << name_of(c) << ": " << i << " of " << shape.rows << " x " << shape.columns;
    }
}

template <class Run>
void expect_start_to_be_used(const Case& c, Shape shape = {19, 21}) {
    const OwnedSystem system = system_of(c, shape);
    HostFlow flow = zero_flow(shape);
    Run solve(shape, converged(c));
    solve(system, flow);
    const ResidualNorms solved = norms_of(system, flow);
    Run once(shape, iterated(c, 1));
    once(system, flow);
    EXPECT_LE(norms_of(system, flow).residual, 2 * solved.residual + 1e-6 * solved.right);
}

template <class Run>
void expect_recorded_residuals(const Case& c, Shape shape = {24, 31}) {
    const OwnedSystem system = system_of(c, shape);
    HostFlow flow = zero_flow(shape);
    std::vector<double> residuals;
    Run run(shape, iterated(c, 12));
    const SolveResult result = run(system, flow, &residuals);
    ASSERT_EQ(residuals.size(), static_cast<std::size_t>(result.iterations) + 1);
    EXPECT_NEAR(residuals.front(), 1.0, 1e-6);
    const ResidualNorms norms = norms_of(system, flow);
    // Communication-avoiding CG computes its residual from coordinates in the basis.
    const double relative = c.solver == Solver::cacg ? 5e-3 : 1e-3;
    EXPECT_NEAR(residuals.back(), norms.residual / norms.right, 1e-6 + relative * residuals.back());
    EXPECT_LT(residuals.back(), 0.9);
}

template <class Run>
void expect_no_allocation_in_a_second_run(const Case& c, Shape shape = {10, 13}) {
    const OwnedSystem system = system_of(c, shape);
    HostFlow flow = zero_flow(shape);
    SolverParameters p = converged(c);
    p.iterations = 3;
    Run run(shape, p);
    std::vector<double> residuals;
    run(system, flow);
    run(system, flow, &residuals);
    const auto allocations = [] { return core::host_allocations() + core::device_allocations(); };
    const auto before = allocations();
    run(system, flow);
    residuals.clear();
    run(system, flow, &residuals);
    EXPECT_EQ(allocations(), before);
}

/// Normally distributed derivatives.
inline OwnedSystem normal_system(Shape shape, unsigned seed, float smoothness) {
    OwnedSystem system = oracle::random_system(shape, seed, smoothness);
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const float gx = normal(generator);
            const float gy = normal(generator);
            const float gt = normal(generator);
            system.tensor(0, y, x) = gx * gx;
            system.tensor(1, y, x) = gx * gy;
            system.tensor(2, y, x) = gy * gy;
            system.right(0, y, x) = -gx * gt;
            system.right(1, y, x) = -gy * gt;
        }
    }
    return system;
}

/// Gradients of one direction only: the flow along the stripes is undetermined and stays zero.
inline OwnedSystem striped(Shape shape, float gx, float gy) {
    OwnedSystem system = oracle::random_system(shape, 3, 20);
    std::mt19937 generator(4);
    std::normal_distribution<float> normal;
    for (index_t y = 0; y < shape.rows; ++y) {
        for (index_t x = 0; x < shape.columns; ++x) {
            const float a = normal(generator);
            const float t = normal(generator);
            system.tensor(0, y, x) = a * a * gx * gx;
            system.tensor(1, y, x) = a * a * gx * gy;
            system.tensor(2, y, x) = a * a * gy * gy;
            system.right(0, y, x) = a * gx * t;
            system.right(1, y, x) = a * gy * t;
        }
    }
    return system;
}

template <class Run>
void expect_minimum_norm(Solver solver) {
    const Shape shape{8, 11};
    for (const auto& [gx, gy] : {std::pair{6.0F, 0.0F}, {0.0F, 5.0F}, {4.0F, 3.0F}, {0.0F, 0.0F}}) {
        const OwnedSystem system = striped(shape, gx, gy);
        HostFlow flow = zero_flow(shape);
        Run run(shape, converged({solver, replicate, Stencil::five}));
        run(system, flow);
        EXPECT_LT(oracle::relative_error(flow, oracle::solve_minimum_norm(system)), 1e-4)
            << name_of(solver) << " with gradients along (" << gx << ", " << gy << ")";
    }
}

/// Systems, regular and singular, in which `iterations` are many more than it takes to come down to
/// rounding. Expects about the least residual seen at the end, of the solution and in the record.
template <class Run>
void expect_least_residual_at_the_end(Case c, std::initializer_list<Shape> shapes, int iterations) {
    for (const Shape shape : shapes) {
        for (const float smoothness : {0.5F, 50.0F, 2000.0F}) {
            for (const int kind : {0, 1, 2, 3}) {
                OwnedSystem system = kind == 0   ? system_of(c, shape)
                                     : kind == 1 ? striped(shape, 4, 3)
                                     : kind == 2 ? striped(shape, 0, 5)
                                                 : normal_system(shape, 1, smoothness);
                system.smoothness = smoothness;
                system.boundary = c.boundary;
                system.stencil = c.stencil;
                SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                             ", alpha^2 " + std::to_string(smoothness) + ", kind " +
                             std::to_string(kind));
                SolverParameters p = iterated(c, iterations);
                Run run(shape, p);
                HostFlow flow = zero_flow(shape);
                std::vector<double> residuals;
                run(system, flow, &residuals);
                const double rounding = 1e-7 * (1 + static_cast<double>(smoothness));
                const double most =
                    20 * (*std::min_element(residuals.begin(), residuals.end()) + rounding);
                const auto reached = [&] {
                    const ResidualNorms norms = norms_of(system, flow);
                    return norms.residual / (norms.right == 0 ? 1 : norms.right);
                };
                EXPECT_LE(reached(), most);
                EXPECT_LE(residuals.back(), most);
                flow = zero_flow(shape);
                run(system, flow);
                EXPECT_LE(reached(), most);
                // From the solution it stays there.
                run(system, flow);
                EXPECT_LE(reached(), most);
            }
        }
    }
}

/// Those of `cases` whose solvers come down to rounding within some hundred iterations and stay
/// there, and one more.
inline std::vector<Case> cases_at_rounding(std::vector<Case> cases) {
    cases.push_back({Solver::cg, zero, Stencil::nine, false, false});
    std::erase_if(cases, [](const Case& c) {
        return c.weighted || (c.solver != Solver::cg && c.solver != Solver::multigrid);
    });
    return cases;
}

/// Normal derivatives whose residual stays above the tolerance by rounding alone.
template <class Run>
void expect_end_at_an_unattainable_tolerance(bool precondition) {
    const Shape shape{37, 53};
    OwnedSystem system = normal_system(shape, 2, 0.49F);
    system.stencil = Stencil::nine;
    SolverParameters p;
    p.solver = Solver::cg;
    p.precondition = precondition;
    p.iterations = 2000;
    p.tolerance = 1e-8;
    Run run(shape, p);
    HostFlow flow = zero_flow(shape);
    std::vector<double> residuals;
    const SolveResult result = run(system, flow, &residuals);
    EXPECT_LT(result.iterations, 500);
    EXPECT_EQ(residuals.size(), static_cast<std::size_t>(result.iterations) + 1);
    EXPECT_LT(residuals.back(), 1e-6);
    const ResidualNorms norms = norms_of(system, flow);
    EXPECT_LE(norms.residual, 1.01 * residuals.back() * norms.right + 1e-9);
}

struct BasisCase {
    Basis basis;
    int s;
    bool precondition;
};

inline std::string name_of(const BasisCase& c) {
    const char* const names[] = {"monomial", "newton", "chebyshev"};
    return names[static_cast<int>(c.basis)] + std::to_string(c.s) +
           (c.precondition ? "" : "_plain");
}
inline void PrintTo(const BasisCase& c, std::ostream* stream) { *stream << name_of(c); }

// Rounding shifts the curves of any two implementations by a few iterations in a hundred.
template <class Run>
void expect_curve_of_conjugate_gradients(const BasisCase& c, Shape shape) {
    const OwnedSystem system = system_of({Solver::cg, replicate, Stencil::five}, shape, 9, 400);
    const auto curve = [&](Solver solver) {
        SolverParameters p;
        p.solver = solver;
        p.iterations = 600;
        p.tolerance = 1e-5;
        p.s_step = c.s;
        p.basis = c.basis;
        p.precondition = c.precondition;
        HostFlow flow = zero_flow(shape);
        std::vector<double> residuals;
        Run run(shape, p);
        run(system, flow, &residuals);
        return residuals;
    };
    const std::vector<double> cg = curve(Solver::cg);
    const std::vector<double> avoiding = curve(Solver::cacg);
    for (const double level : {0.1, 0.01, 1e-3, 1e-4}) {
        const auto iterations = [&](const std::vector<double>& residuals) {
            const auto below = std::find_if(residuals.begin(), residuals.end(),
                                            [&](double r) { return r <= level; });
            EXPECT_NE(below, residuals.end()) << level;
            return static_cast<double>(below - residuals.begin());
        };
        EXPECT_NEAR(iterations(avoiding), iterations(cg), 1 + 0.05 * iterations(cg)) << level;
    }
    for (std::size_t i = 0; i < std::min({cg.size(), avoiding.size(), std::size_t{40}}); ++i) {
        EXPECT_NEAR(avoiding[i], cg[i], 0.1 * cg[i]) << "iteration " << i;
    }
}

/// A monomial basis of `s` powers, 8 or more, is linearly dependent up to rounding.
template <class Run>
void expect_fall_back_to_fewer_steps(Shape shape, int s) {
    const OwnedSystem system = system_of({Solver::cg, replicate, Stencil::five}, shape, 2, 400);
    SolverParameters p;
    p.solver = Solver::cacg;
    p.basis = Basis::monomial;
    p.s_step = s;
    p.iterations = 2000;
    p.tolerance = 1e-5;
    HostFlow flow = zero_flow(shape);
    Run run(shape, p);
    run(system, flow);
    const ResidualNorms norms = norms_of(system, flow);
    EXPECT_LE(norms.residual, 1.1e-5 * norms.right);
}

/// Multigrid's residuals over `cycles`, relative to the first cycle's. The solution is zero, so
/// that rounding does not end their fall.
template <class Run>
std::vector<double> falling_residuals(OwnedSystem system, int cycles) {
    std::fill(system.right.begin(), system.right.end(), 0.0F);
    HostFlow flow = zero_flow(system.shape());
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    for (float& value : flow) value = normal(generator);
    SolverParameters p;
    p.iterations = cycles;
    Run run(system.shape(), p);
    std::vector<double> residuals;
    run(system, flow, &residuals);
    residuals.resize(static_cast<std::size_t>(cycles) + 1);  // zeros where it has arrived
    residuals.erase(residuals.begin());
    const double first = residuals.front() > 0 ? residuals.front() : 1;
    for (double& residual : residuals) residual /= first;
    return residuals;
}

/// All cases of multigrid, with and without weights between pixels.
inline std::vector<Case> multigrid_cases() {
    std::vector<Case> cases = all_cases();
    std::erase_if(cases, [](const Case& c) { return c.solver != Solver::multigrid; });
    return cases;
}

/// Each cycle leaves less than half of the residual, in the mean of five, or 0.65 with weights,
/// which coarse levels know less well.
template <class Run>
void expect_a_factor_of_convergence(const Case& c, const std::vector<Shape>& shapes) {
    for (const Shape shape : shapes) {
        for (const float smoothness : {0.1F, 10.0F, 1000.0F}) {
            OwnedSystem system = normal_system(shape, 1, smoothness);
            if (c.weighted) system.coupling = system_of(c, shape).coupling;
            system.boundary = c.boundary;
            system.stencil = c.stencil;
            const std::vector<double> residuals = falling_residuals<Run>(std::move(system), 6);
            EXPECT_LT(residuals[5], std::pow(c.weighted ? 0.65 : 0.5, 5))
                << name_of(c) << ": " << shape.rows << " x " << shape.columns << ", alpha^2 "
                << smoothness;
        }
    }
}

/// A part without gradients beside strong ones: corrections on coarse levels are too large.
template <class Run>
void expect_convergence_beside_a_flat_part(Shape shape) {
    const std::vector<double> residuals =
        falling_residuals<Run>(oracle::random_system(shape, 1, 0.1F), 20);
    EXPECT_LT(residuals[19], 0.01 * residuals[7]);
}

/// Multigrid's cost does not depend on size and smoothness.
template <class Run>
void expect_thirty_work_units(Shape shape) {
    for (const float smoothness : {10.0F, 100.0F, 1000.0F}) {
        const OwnedSystem system =
            system_of({Solver::multigrid, replicate, Stencil::five}, shape, 7, smoothness);
        SolverParameters p;
        p.tolerance = 1e-4;
        HostFlow flow = zero_flow(shape);
        Run run(shape, p);
        const SolveResult result = run(system, flow);
        const ResidualNorms norms = norms_of(system, flow);
        EXPECT_LE(norms.residual, 1.01e-4 * norms.right);
        EXPECT_LE(result.work_units, 30)
            << shape.rows << " x " << shape.columns << ", alpha^2 " << smoothness;
    }
}

}  // namespace aperture::flow
