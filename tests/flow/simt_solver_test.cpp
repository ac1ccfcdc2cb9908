// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/solver.cuh"
#include "tests/flow/simt_solver_cases.hpp"

namespace aperture::flow {

// The estimator's tests use this instantiation as well.
template class SystemSolver<core::Simt>;

namespace {

using SimtRun = HostRun<core::Simt>;

constexpr auto case_name = [](const auto& given) { return name_of(given.param); };

class SimtSolver : public testing::TestWithParam<Case> {};

TEST_P(SimtSolver, DoesWhatTheCpuDoes) {
    for (const Shape shape : {Shape{2, 40}, Shape{37, 67}}) {
        // With so few unknowns the powers of a matrix soon become dependent.
        if (GetParam().solver == Solver::cacg && shape.rows == 2) continue;
        expect_cpus_result<SimtRun>(GetParam(), shape, 5);
    }
}

// The other solvers need many iterations and are only compared with the Cpu.
class FastSimtSolver : public testing::TestWithParam<Case> {};
TEST_P(FastSimtSolver, FindsTheOraclesSolution) {
    constexpr int iterations = 40;
    expect_oracles_solution<SimtRun>(GetParam(), {{1, 1}, {3, 3}, {6, 9}}, iterations);
}

std::vector<Case> fast_cases() {
    std::vector<Case> cases = all_gpu_cases();
    std::erase_if(cases, [](const Case& c) {
        const bool fast =
            c.solver == Solver::cg || c.solver == Solver::cacg || c.solver == Solver::multigrid;
        return !fast || c.implementation != Implementation::fused;
    });
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Solvers, FastSimtSolver, testing::ValuesIn(fast_cases()), case_name);

INSTANTIATE_TEST_SUITE_P(Solvers, SimtSolver, testing::ValuesIn(all_gpu_cases()), case_name);

class SimtSolverOfEachKind : public testing::TestWithParam<Case> {};

TEST_P(SimtSolverOfEachKind, TakesViewsOfAnyRowStride) {
    expect_any_row_stride<SimtRun>(GetParam());
}

TEST_P(SimtSolverOfEachKind, StartsFromTheFlowItIsGiven) {
    const Case& c = GetParam();
    if (stationary(c.solver) || !c.precondition || c.implementation != Implementation::fused) {
        return;
    }
    expect_start_to_be_used<SimtRun>(c);
}

TEST_P(SimtSolverOfEachKind, RecordsTheResidualsItReaches) {
    expect_recorded_residuals<SimtRun>(GetParam());
}

TEST_P(SimtSolverOfEachKind, SecondSolutionAllocatesNothing) {
    expect_no_allocation_in_a_second_run<SimtRun>(GetParam());
}

TEST_P(SimtSolverOfEachKind, GivesTheSameBitsInAnyOrderOfLanes) {
    expect_same_bits_in_any_order<SimtRun>(GetParam(), {19, 45});
}

INSTANTIATE_TEST_SUITE_P(Solvers, SimtSolverOfEachKind, testing::ValuesIn(one_of_each()),
                         case_name);

/// A device on which images of more than 2048 pixels do not fit on chip.
class SmallDeviceRun : public SimtRun {
  public:
    SmallDeviceRun(Shape shape, const SolverParameters& parameters, core::Simt simt = core::Simt())
        : SimtRun(shape, parameters, small(std::move(simt))) {}

  private:
    static core::Simt small(core::Simt simt) {
        simt.device.multiprocessors = 1;
        return simt;
    }
};

constexpr Shape off_chip{37, 67};

class SimtCgOffChip : public testing::TestWithParam<Case> {};

TEST_P(SimtCgOffChip, DoesWhatTheCpuDoes) {
    expect_cpus_result<SmallDeviceRun>(GetParam(), off_chip, 5);
}

TEST_P(SimtCgOffChip, GivesTheSameBitsInAnyOrderOfLanes) {
    expect_same_bits_in_any_order<SmallDeviceRun>(GetParam(), off_chip);
}

TEST(SimtConjugateGradientsOffChip, StartsRecordsAndAllocatesAsOnChip) {
    const Case c{Solver::cg, replicate, Stencil::five};
    expect_start_to_be_used<SmallDeviceRun>(c, off_chip);
    expect_recorded_residuals<SmallDeviceRun>(c, off_chip);
    expect_no_allocation_in_a_second_run<SmallDeviceRun>(c, off_chip);
}

std::vector<Case> off_chip_cases() {
    std::vector<Case> cases = all_cases();
    std::erase_if(cases, [](const Case& c) { return c.solver != Solver::cg; });
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Solvers, SimtCgOffChip, testing::ValuesIn(off_chip_cases()), case_name);

// Everything of a solution that ends at rounding: in one kernel, in two an iteration, and staged.
class SimtEndAtRounding : public testing::TestWithParam<Case> {};
TEST_P(SimtEndAtRounding, ReturnsAboutTheLeastResidual) {
    // Three times as many iterations as unknowns; multigrid has a coarse level.
    const bool multigrid = GetParam().solver == Solver::multigrid;
    expect_least_residual_at_the_end<SimtRun>(GetParam(), {multigrid ? Shape{3, 5} : Shape{2, 3}},
                                              40);
}
INSTANTIATE_TEST_SUITE_P(Solvers, SimtEndAtRounding,
                         testing::ValuesIn(cases_at_rounding(all_gpu_cases())), case_name);

TEST(SimtConjugateGradients, EndWhereTheToleranceIsOutOfReach) {
    expect_end_at_an_unattainable_tolerance<SimtRun>(true);
    expect_end_at_an_unattainable_tolerance<SmallDeviceRun>(true);
}

TEST(SimtSingularSystem, HasTheSolutionOfMinimumNorm) {
    for (const Solver solver : {Solver::cg, Solver::cacg, Solver::multigrid}) {
        expect_minimum_norm<SimtRun>(solver);
    }
}

class SimtCommunicationAvoiding : public testing::TestWithParam<BasisCase> {};

TEST_P(SimtCommunicationAvoiding, ResidualsFallAsThoseOfConjugateGradients) {
    expect_curve_of_conjugate_gradients<SimtRun>(GetParam(), {9, 33});
}
INSTANTIATE_TEST_SUITE_P(Bases, SimtCommunicationAvoiding,
                         testing::Values(BasisCase{Basis::newton, 8, true},
                                         BasisCase{Basis::chebyshev, 8, false}),
                         case_name);

TEST(SimtCommunicationAvoidingCg, FallsBackToFewerStepsWhereItsBasisBreaksDown) {
    expect_fall_back_to_fewer_steps<SimtRun>({9, 15}, 8);
}

TEST(SimtCommunicationAvoidingCg, IsCgWhereItsBasisDoesNotFit) {
    const Shape shape{9, 15};
    SolverParameters p = iterated({Solver::cacg, replicate, Stencil::five}, 5);
    EXPECT_EQ(gpu::solver_on(core::Simt(), shape, p), Solver::cacg);
    p.s_step = 9;
    EXPECT_EQ(gpu::solver_on(core::Simt(), shape, p), Solver::cg);
    const OwnedSystem system = system_of({Solver::cg, replicate, Stencil::five}, shape);
    HostFlow flow = zero_flow(shape);
    EXPECT_EQ(SimtRun(shape, p)(system, flow).work_units, 6);
    p.solver = Solver::cg;
    HostFlow expected = zero_flow(shape);
    SimtRun(shape, p)(system, expected);
    EXPECT_EQ(std::memcmp(flow.data(), expected.data(),
                          sizeof(float) * static_cast<std::size_t>(flow.size())),
              0);
}

// So many pixels that the finest levels use many blocks, with windows of both sizes.
TEST(SimtMultigrid, DoesWhatTheCpuDoesOnLevelsOfManyBlocks) {
    for (const Case& c : {Case{Solver::multigrid, replicate, Stencil::five},
                          Case{Solver::multigrid, zero, Stencil::nine},
                          Case{Solver::multigrid, replicate, Stencil::five, true}}) {
        expect_cpus_result<SimtRun>(c, {45, 111}, 2);
        expect_cpus_result<SimtRun>(c, {151, 130}, 2);
    }
}

TEST(SimtMultigrid, ConvergesAtTheSameRateForEveryShape) {
    for (const Case& c : multigrid_cases()) {
        expect_a_factor_of_convergence<SimtRun>(c, {{1, 9}, {3, 5}, {4, 4}, {17, 23}});
    }
}

// The first cycles, and those that add a part of their corrections.
TEST(SimtMultigrid, DoesWhatTheCpuDoesInManyCycles) {
    for (const Case& c : multigrid_cases()) expect_cpus_result<SimtRun>(c, {33, 17}, 12);
    expect_cpus_result<SimtRun>({Solver::multigrid, replicate, Stencil::five}, {65, 66}, 10);
}

}  // namespace
}  // namespace aperture::flow
