// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/flow/oracle.hpp"

namespace aperture::flow {
namespace {

using oracle::OwnedSystem;

struct Case {
    Solver solver;
    Boundary boundary;
    Stencil stencil;
    bool weighted = false;
    bool precondition = true;
};

const char* name_of(Solver solver) {
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

std::string name_of(const Case& c) {
    return std::string(name_of(c.solver)) +
           (c.boundary == Boundary::zero ? "_zero" : "_replicate") +
           (c.stencil == Stencil::nine ? "_nine" : "_five") + (c.weighted ? "_weighted" : "") +
           (c.precondition ? "" : "_plain");
}
void PrintTo(const Case& c, std::ostream* stream) { *stream << name_of(c); }

OwnedSystem system_of(const Case& c, Shape shape, unsigned seed = 1, float smoothness = 50) {
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

core::Array<float, 3> zero_flow(Shape shape) {
    core::Array<float, 3> flow({2, shape.rows, shape.columns});
    std::fill(flow.begin(), flow.end(), 0.0F);
    return flow;
}

SolverParameters converged(const Case& c) {
    SolverParameters p;
    p.solver = c.solver;
    p.precondition = c.precondition;
    const bool stationary = c.solver == Solver::jacobi || c.solver == Solver::block2x2;
    // A small residual is no small error where one iteration changes little.
    p.tolerance = stationary ? 0 : 2e-7;
    p.iterations = stationary ? 6000 : 3000;
    if (c.solver == Solver::redblack) p.relaxation = 1.8;
    return p;
}

class EverySolver : public testing::TestWithParam<Case> {};

TEST_P(EverySolver, FindsTheOraclesSolution) {
    const Case& c = GetParam();
    core::Cpu cpu(2);
    // Jacobi's iteration swings for ever, or nearly so, where a pixel has next to no neighbours.
    const Shape smallest = c.solver == Solver::jacobi && c.weighted ? Shape{2, 2} : Shape{1, 1};
    for (const Shape shape : {smallest, Shape{1, 7}, Shape{9, 1}, Shape{2, 2}, Shape{3, 3},
                              Shape{5, 17}, Shape{16, 16}, Shape{23, 37}, Shape{31, 45}}) {
        const OwnedSystem system = system_of(c, shape);
        auto flow = zero_flow(shape);
        SystemSolver<core::Cpu> solver(cpu, shape, converged(c));
        solver.solve(system.view(), flow);
        const bool small = shape.rows * shape.columns < 100;
        const Eigen::VectorXd expected =
            small ? oracle::solve_minimum_norm(system) : oracle::solve(system);
        EXPECT_LT(oracle::relative_error(flow, expected), 1e-4)
            << shape.rows << " x " << shape.columns;
    }
}

TEST_P(EverySolver, StartsFromTheFlowItIsGiven) {
    const Case& c = GetParam();
    core::Cpu cpu;
    const Shape shape{19, 21};
    const OwnedSystem system = system_of(c, shape);
    auto flow = zero_flow(shape);
    SystemSolver<core::Cpu>(cpu, shape, converged(c)).solve(system.view(), flow);
    const auto solved = residual_norms(cpu, system.view(), flow.view());
    SolverParameters few = converged(c);
    few.iterations = 1;
    few.tolerance = 0;
    SystemSolver<core::Cpu>(cpu, shape, few).solve(system.view(), flow);
    const auto again = residual_norms(cpu, system.view(), flow.view());
    EXPECT_LE(again.residual, 2 * solved.residual + 1e-6 * solved.right);
}

TEST_P(EverySolver, GivesTheSameBitsOnAnyNumberOfThreads) {
    const Case& c = GetParam();
    const Shape shape{45, 53};
    const OwnedSystem system = system_of(c, shape);
    SolverParameters p = converged(c);
    p.iterations = 37;
    p.tolerance = 0;
    core::Array<float, 3> reference;
    for (int threads : {1, 2, 3}) {
        core::Cpu cpu(threads);
        auto flow = zero_flow(shape);
        SystemSolver<core::Cpu>(cpu, shape, p).solve(system.view(), flow);
        if (threads == 1) {
            reference = std::move(flow);
            continue;
        }
        EXPECT_EQ(std::memcmp(reference.data(), flow.data(),
                              sizeof(float) * static_cast<std::size_t>(flow.size())),
                  0)
            << threads << " threads";
    }
}

TEST_P(EverySolver, RecordsTheResidualsItReaches) {
    const Case& c = GetParam();
    core::Cpu cpu;
    const Shape shape{24, 31};
    const OwnedSystem system = system_of(c, shape);
    SolverParameters p = converged(c);
    p.iterations = 12;
    p.tolerance = 0;
    auto flow = zero_flow(shape);
    std::vector<double> residuals;
    const auto result =
        SystemSolver<core::Cpu>(cpu, shape, p).solve(system.view(), flow, &residuals);
    ASSERT_EQ(residuals.size(), static_cast<std::size_t>(result.iterations) + 1);
    EXPECT_NEAR(residuals.front(), 1.0, 1e-6);
    const auto norms = residual_norms(cpu, system.view(), flow.view());
    EXPECT_NEAR(residuals.back(), norms.residual / norms.right, 1e-6 + 1e-3 * residuals.back());
    EXPECT_LT(residuals.back(), 0.9);
}

TEST_P(EverySolver, SecondSolutionAllocatesNothing) {
    const Case& c = GetParam();
    core::Cpu cpu;
    const Shape shape{30, 41};
    const OwnedSystem system = system_of(c, shape);
    auto flow = zero_flow(shape);
    SolverParameters p = converged(c);
    p.iterations = 5;
    SystemSolver<core::Cpu> solver(cpu, shape, p);
    solver.solve(system.view(), flow);
    const auto before = core::host_allocations();
    solver.solve(system.view(), flow);
    EXPECT_EQ(core::host_allocations(), before);
}

constexpr Boundary replicate = Boundary::replicate;
constexpr Boundary zero = Boundary::zero;

std::vector<Case> all_cases() {
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
INSTANTIATE_TEST_SUITE_P(Solvers, EverySolver, testing::ValuesIn(all_cases()),
                         [](const auto& given) { return name_of(given.param); });

/// Gradients of one direction: the flow along the stripes is free, and stays zero.
OwnedSystem striped(Shape shape, float gx, float gy) {
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

TEST(SingularSystem, HasTheSolutionOfMinimumNorm) {
    core::Cpu cpu;
    const Shape shape{8, 11};
    for (const auto& [gx, gy] : {std::pair{6.0F, 0.0F}, {0.0F, 5.0F}, {4.0F, 3.0F}, {0.0F, 0.0F}}) {
        const OwnedSystem system = striped(shape, gx, gy);
        const Eigen::VectorXd expected = oracle::solve_minimum_norm(system);
        for (const Solver solver : {Solver::jacobi, Solver::block2x2, Solver::cg, Solver::cacg,
                                    Solver::redblack, Solver::multigrid}) {
            auto flow = zero_flow(shape);
            const Case c{solver, replicate, Stencil::five};
            SystemSolver<core::Cpu>(cpu, shape, converged(c)).solve(system.view(), flow);
            EXPECT_LT(oracle::relative_error(flow, expected), 1e-4)
                << name_of(solver) << " with gradients along (" << gx << ", " << gy << ")";
        }
    }
}

struct BasisCase {
    Basis basis;
    int s;
    bool precondition;
};

std::string name_of(const BasisCase& c) {
    const char* const names[] = {"monomial", "newton", "chebyshev"};
    return names[static_cast<int>(c.basis)] + std::to_string(c.s) +
           (c.precondition ? "" : "_plain");
}
void PrintTo(const BasisCase& c, std::ostream* stream) { *stream << name_of(c); }

class CommunicationAvoiding : public testing::TestWithParam<BasisCase> {};

// Rounding takes the curves of any two implementations apart by some iterations in a hundred.
TEST_P(CommunicationAvoiding, ResidualsFallAsThoseOfConjugateGradients) {
    const BasisCase& c = GetParam();
    core::Cpu cpu;
    const Shape shape{97, 120};
    const OwnedSystem system = system_of({Solver::cg, replicate, Stencil::five}, shape, 9, 400);
    const auto curve = [&](Solver solver) {
        SolverParameters p;
        p.solver = solver;
        p.iterations = 600;
        p.tolerance = 1e-5;
        p.s_step = c.s;
        p.basis = c.basis;
        p.precondition = c.precondition;
        auto flow = zero_flow(shape);
        std::vector<double> residuals;
        SystemSolver<core::Cpu>(cpu, shape, p).solve(system.view(), flow, &residuals);
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
    for (std::size_t i = 0; i < std::min<std::size_t>(cg.size(), 40); ++i) {
        EXPECT_NEAR(avoiding[i], cg[i], 0.1 * cg[i]) << "iteration " << i;
    }
}
INSTANTIATE_TEST_SUITE_P(
    Bases, CommunicationAvoiding,
    testing::Values(BasisCase{Basis::monomial, 1, true}, BasisCase{Basis::monomial, 2, true},
                    BasisCase{Basis::monomial, 4, true}, BasisCase{Basis::newton, 3, true},
                    BasisCase{Basis::newton, 4, true}, BasisCase{Basis::newton, 8, true},
                    BasisCase{Basis::chebyshev, 4, true}, BasisCase{Basis::chebyshev, 8, true},
                    BasisCase{Basis::monomial, 4, false}, BasisCase{Basis::newton, 8, false},
                    BasisCase{Basis::chebyshev, 8, false}),
    [](const auto& given) { return name_of(given.param); });

TEST(CommunicationAvoidingCg, FallsBackToFewerStepsWhereItsBasisBreaksDown) {
    core::Cpu cpu;
    const Shape shape{60, 70};
    const OwnedSystem system = system_of({Solver::cg, replicate, Stencil::five}, shape, 2, 400);
    SolverParameters p;
    p.solver = Solver::cacg;
    p.basis = Basis::monomial;
    p.s_step = 16;
    p.iterations = 2000;
    p.tolerance = 1e-5;
    auto flow = zero_flow(shape);
    SystemSolver<core::Cpu>(cpu, shape, p).solve(system.view(), flow);
    const auto norms = residual_norms(cpu, system.view(), flow.view());
    EXPECT_LE(norms.residual, 1.1e-5 * norms.right);
}

TEST(Multigrid, NeedsAboutThirtyWorkUnitsWhateverSizeAndSmoothness) {
    core::Cpu cpu;
    for (const Shape shape : {Shape{97, 131}, Shape{388, 584}, Shape{512, 512}}) {
        for (const float smoothness : {10.0F, 100.0F, 1000.0F}) {
            const OwnedSystem system =
                system_of({Solver::multigrid, replicate, Stencil::five}, shape, 7, smoothness);
            SolverParameters p;
            p.tolerance = 1e-4;
            auto flow = zero_flow(shape);
            const auto result = SystemSolver<core::Cpu>(cpu, shape, p).solve(system.view(), flow);
            const auto norms = residual_norms(cpu, system.view(), flow.view());
            EXPECT_LE(norms.residual, 1.01e-4 * norms.right);
            EXPECT_LE(result.work_units, 30)
                << shape.rows << " x " << shape.columns << ", alpha^2 " << smoothness;
        }
    }
}

TEST(SystemSolver, RefusesWhatDoesNotFit) {
    core::Cpu cpu;
    const Shape shape{6, 7};
    const OwnedSystem system = oracle::random_system(shape, 1, 1);
    auto flow = zero_flow({6, 8});
    const auto message = [](const auto& call) -> std::string {
        try {
            call();
        } catch (const core::InvalidArgument& error) {
            return error.what();
        }
        return "nothing was refused";
    };
    SystemSolver<core::Cpu> solver(cpu, shape, {});
    EXPECT_EQ(message([&] { solver.solve(system.view(), flow); }),
              "flow is 2 x 6 x 8, must be 2 x 6 x 7");
    EXPECT_THAT(message([&] {
                    SystemSolver<core::Cpu>(cpu, {0, 5}, {});
                }),
                testing::HasSubstr("0 x 5"));
    EXPECT_THAT(message([&] { SystemSolver<core::Cpu>(cpu, shape, {.relaxation = 2}); }),
                testing::HasSubstr("relaxation is 2"));
    OwnedSystem flat = oracle::random_system(shape, 1, 0);
    auto fitting = zero_flow(shape);
    EXPECT_THAT(message([&] { solver.solve(flat.view(), fitting); }),
                testing::HasSubstr("alpha^2 is 0"));
}

}  // namespace
}  // namespace aperture::flow
