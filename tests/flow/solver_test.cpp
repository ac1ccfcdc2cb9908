// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/flow/solver_cases.hpp"

namespace aperture::flow {
namespace {

using CpuRun = HostRun<core::Cpu>;

class EverySolver : public testing::TestWithParam<Case> {};

TEST_P(EverySolver, FindsTheOraclesSolution) {
    expect_oracles_solution<CpuRun>(
        GetParam(),
        {{1, 1}, {1, 7}, {9, 1}, {2, 2}, {3, 3}, {5, 17}, {16, 16}, {23, 37}, {31, 45}});
}

TEST_P(EverySolver, StartsFromTheFlowItIsGiven) { expect_start_to_be_used<CpuRun>(GetParam()); }

TEST_P(EverySolver, GivesTheSameBitsOnAnyNumberOfThreads) {
    const Case& c = GetParam();
    const Shape shape{45, 53};
    const OwnedSystem system = system_of(c, shape);
    HostFlow reference;
    for (int threads : {1, 2, 3}) {
        HostFlow flow = zero_flow(shape);
        CpuRun run(shape, iterated(c, 37), core::Cpu(threads));
        run(system, flow);
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

TEST_P(EverySolver, RecordsTheResidualsItReaches) { expect_recorded_residuals<CpuRun>(GetParam()); }

TEST_P(EverySolver, SecondSolutionAllocatesNothing) {
    expect_no_allocation_in_a_second_run<CpuRun>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Solvers, EverySolver, testing::ValuesIn(all_cases()),
                         [](const auto& given) { return name_of(given.param); });

class EndAtRounding : public testing::TestWithParam<Case> {};
TEST_P(EndAtRounding, ReturnsAboutTheLeastResidual) {
    expect_least_residual_at_the_end<CpuRun>(
        GetParam(), {{1, 1}, {1, 7}, {2, 2}, {3, 5}, {8, 11}, {17, 23}}, 600);
}

INSTANTIATE_TEST_SUITE_P(Solvers, EndAtRounding, testing::ValuesIn(cases_at_rounding(all_cases())),
                         [](const auto& given) { return name_of(given.param); });

TEST(ConjugateGradients, EndWhereTheToleranceIsOutOfReach) {
    for (const bool precondition : {true, false}) {
        expect_end_at_an_unattainable_tolerance<CpuRun>(precondition);
    }
}

/// Many steps at a time, in tiles of columns and bands of rows, equal the same steps one by one.
TEST(StationaryIterations, ManyAtATimeAreTheSameBits) {
    for (const Case& c : all_cases()) {
        if (!stationary(c.solver)) continue;
        SCOPED_TRACE(name_of(c));
        for (const Shape shape : {Shape{75, 421}, Shape{3, 193}, Shape{40, 16}}) {
            const OwnedSystem system = system_of(c, shape);
            for (const int count : {4, 6, 39}) {
                HostFlow at_once = zero_flow(shape);
                core::Cpu cpu(2);
                SystemSolver<core::Cpu>(cpu, shape, iterated(c, count))
                    .solve(system.view(), at_once);
                HostFlow one_by_one = zero_flow(shape);
                SystemSolver<core::Cpu> one(cpu, shape, iterated(c, 1));
                for (int i = 0; i < count; ++i) one.solve(system.view(), one_by_one);
                EXPECT_TRUE(std::equal(at_once.begin(), at_once.end(), one_by_one.begin()))
                    << count << " at " << shape.rows << " x " << shape.columns;
            }
        }
    }
}

/// Pixels with one equation each have a special form of blocks; these pixels have several.
TEST(StationaryIterations, TakePixelsOfSeveralEquations) {
    const Shape shape{23, 37};
    for (const Case& c : all_cases()) {
        if (!stationary(c.solver) || c.weighted) continue;
        const OwnedSystem one = system_of(c, shape, 1);
        const OwnedSystem other = system_of(c, shape, 2);
        OwnedSystem everywhere = system_of(c, shape, 1);
        for (index_t i = 0; i < one.tensor.size(); ++i) {
            everywhere.tensor.data()[i] += other.tensor.data()[i];
        }
        for (index_t i = 0; i < one.right.size(); ++i) {
            everywhere.right.data()[i] += other.right.data()[i];
        }
        OwnedSystem in_a_tensor = system_of(c, shape, 1);
        in_a_tensor.tensor(0, 20, 30) += 400;
        OwnedSystem in_a_right_side = system_of(c, shape, 1);
        in_a_right_side.right(1, 20, 30) += 400;
        OwnedSystem without_a_tensor = system_of(c, shape, 1);
        without_a_tensor.right(0, 2, 3) = 400;
        for (const OwnedSystem* system :
             {&everywhere, &in_a_tensor, &in_a_right_side, &without_a_tensor}) {
            HostFlow flow = zero_flow(shape);
            CpuRun run(shape, converged(c));
            run(*system, flow);
            EXPECT_LT(oracle::relative_error(flow, oracle::solve(*system)), 1e-4) << name_of(c);
        }
    }
}

TEST(SingularSystem, HasTheSolutionOfMinimumNorm) {
    for (const Solver solver : {Solver::jacobi, Solver::block2x2, Solver::cg, Solver::cacg,
                                Solver::redblack, Solver::multigrid}) {
        expect_minimum_norm<CpuRun>(solver);
    }
}

class CommunicationAvoiding : public testing::TestWithParam<BasisCase> {};

TEST_P(CommunicationAvoiding, ResidualsFallAsThoseOfConjugateGradients) {
    expect_curve_of_conjugate_gradients<CpuRun>(GetParam(), {97, 120});
}
TEST_P(CommunicationAvoiding, FindsTheOraclesSolutionOfManyPixels) {
    Case c{Solver::cacg, replicate, Stencil::five};
    c.precondition = GetParam().precondition;
    const OwnedSystem system = system_of(c, {97, 131});
    static const Eigen::VectorXd expected = oracle::solve(system);
    SolverParameters p = converged(c);
    p.basis = GetParam().basis;
    p.s_step = GetParam().s;
    HostFlow flow = zero_flow(system.shape());
    CpuRun run(system.shape(), p);
    run(system, flow);
    EXPECT_LT(oracle::relative_error(flow, expected), 1e-4);
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
    expect_fall_back_to_fewer_steps<CpuRun>({60, 70}, 16);
}

TEST(Multigrid, NeedsAboutThirtyWorkUnitsWhateverSizeAndSmoothness) {
    for (const Shape shape : {Shape{97, 131}, Shape{388, 584}, Shape{512, 512}}) {
        expect_thirty_work_units<CpuRun>(shape);
    }
}

TEST(Multigrid, ConvergesAtTheSameRateForEveryShape) {
    std::vector<Shape> shapes{{17, 23}, {25, 25}, {33, 64}, {40, 40}, {65, 129}, {1, 200}, {99, 3}};
    for (index_t rows = 1; rows <= 13; ++rows) {
        for (index_t columns = 1; columns <= 13; ++columns) {
            if (rows * columns > 2) shapes.push_back({rows, columns});
        }
    }
    for (const Case& c : multigrid_cases()) expect_a_factor_of_convergence<CpuRun>(c, shapes);
}

TEST(Multigrid, ConvergesBesideAFlatPart) {
    expect_convergence_beside_a_flat_part<CpuRun>({512, 512});
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
    EXPECT_EQ(message([&] { residual_norms(cpu, system.view(), flow.view()); }),
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
    flat.smoothness = std::numeric_limits<float>::infinity();
    EXPECT_THAT(message([&] { solver.solve(flat.view(), fitting); }),
                testing::HasSubstr("alpha^2 is inf"));
}

}  // namespace
}  // namespace aperture::flow
