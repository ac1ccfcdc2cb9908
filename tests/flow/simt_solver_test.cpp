// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/solver.cuh"
#include "tests/flow/solver_cases.hpp"

namespace aperture::flow {
namespace {

using SimtRun = HostRun<core::Simt>;

class SimtSolver : public testing::TestWithParam<Case> {};

// The stationary ones need thousands of iterations; that they are those of the Cpu must do.
TEST_P(SimtSolver, FindsTheOraclesSolution) {
    if (stationary(GetParam().solver)) GTEST_SKIP() << "would take minutes";
    expect_oracles_solution<SimtRun>(
        GetParam(), {{1, 1}, {1, 7}, {9, 1}, {2, 2}, {3, 3}, {8, 32}, {9, 33}, {23, 37}});
}

TEST_P(SimtSolver, DoesWhatTheCpuDoes) {
    const Case& c = GetParam();
    for (const Shape shape : {Shape{1, 40}, Shape{13, 5}, Shape{37, 67}}) {
        const OwnedSystem system = system_of(c, shape);
        const SolverParameters p = iterated(c, 9);
        HostFlow expected = zero_flow(shape);
        HostRun<core::Cpu> on_cpu(shape, p);
        const SolveResult result = on_cpu(system, expected);
        HostFlow flow = zero_flow(shape);
        SimtRun on_simt(shape, p);
        EXPECT_NEAR(on_simt(system, flow).work_units, result.work_units, 1e-9);
        float largest = 0;
        for (const float value : expected) largest = std::max(largest, std::abs(value));
        for (index_t i = 0; i < flow.size(); ++i) {
            ASSERT_NEAR(flow.data()[i], expected.data()[i], 2e-5F * largest)
                << i << " of " << shape.rows << " x " << shape.columns;
        }
    }
}

TEST_P(SimtSolver, RecordsTheResidualsItReaches) { expect_recorded_residuals<SimtRun>(GetParam()); }

TEST_P(SimtSolver, SecondSolutionAllocatesNothing) {
    expect_no_allocation_in_a_second_run<SimtRun>(GetParam());
}

TEST_P(SimtSolver, GivesTheSameBitsInAnyOrderOfLanes) {
    const Case& c = GetParam();
    const Shape shape{19, 45};
    const OwnedSystem system = system_of(c, shape);
    HostFlow reference;
    for (const core::LaneOrder order :
         {core::LaneOrder::forward, core::LaneOrder::reverse, core::LaneOrder::random}) {
        HostFlow flow = zero_flow(shape);
        SimtRun run(shape, iterated(c, 5), core::Simt(order, 3));
        run(system, flow);
        if (order == core::LaneOrder::forward) {
            reference = std::move(flow);
            continue;
        }
        EXPECT_EQ(std::memcmp(reference.data(), flow.data(),
                              sizeof(float) * static_cast<std::size_t>(flow.size())),
                  0);
    }
}

INSTANTIATE_TEST_SUITE_P(Solvers, SimtSolver, testing::ValuesIn(all_gpu_cases()),
                         [](const auto& given) { return name_of(given.param); });

TEST(SimtSingularSystem, HasTheSolutionOfMinimumNorm) {
    for (const Solver solver : {Solver::cg, Solver::cacg, Solver::redblack, Solver::multigrid}) {
        expect_minimum_norm<SimtRun>(solver);
    }
}

}  // namespace
}  // namespace aperture::flow
