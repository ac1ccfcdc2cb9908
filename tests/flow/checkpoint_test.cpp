// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Where a caller may end an estimation or a solution on the CPU.
#include <gtest/gtest.h>

#include <set>

#include "tests/flow/oracle.hpp"
#include "tests/flow/scene.hpp"

namespace aperture::flow {
namespace {

struct Ended {};

/// Ends `run` at some of its checkpoints, and expects it to give the same bits afterwards as
/// before. `run` writes a new flow.
template <class Run>
void expect_usable_after_an_end(core::Cpu& cpu, const Run& run) {
    int passed = 0;
    cpu.set_checkpoint([&] { ++passed; });
    const Flow whole = run();
    const int checkpoints = passed;
    ASSERT_GT(checkpoints, 1);
    for (const int last : std::set{1, 2, checkpoints / 3, checkpoints / 2, checkpoints}) {
        passed = 0;
        cpu.set_checkpoint([&] {
            if (++passed == last) throw Ended{};
        });
        EXPECT_THROW(run(), Ended) << last;
        EXPECT_EQ(passed, last);
        cpu.set_checkpoint({});
        EXPECT_TRUE(same_bytes(run(), whole)) << "after " << last << " of " << checkpoints;
    }
}

class EndedEstimation : public testing::TestWithParam<Setup> {};

INSTANTIATE_TEST_SUITE_P(Setups, EndedEstimation, testing::ValuesIn(all_setups()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(EndedEstimation, LeavesAnEstimatorToUseAgain) {
    const Shape shape{45, 67};
    const ImagePair pair(Scene(4), shape, Motion::shift(1.3, -0.7));
    Parameters parameters = GetParam().parameters();
    parameters.solver.iterations = std::min(parameters.solver.iterations, 20);
    const Flow fresh = estimated(pair.image0, pair.image1, parameters);
    core::Cpu cpu(1);
    Estimator<core::Cpu> estimator(cpu, shape, parameters);
    const auto run = [&] {
        Flow flow = constant_flow(shape, nan, nan);
        estimator.run(pair.image0, pair.image1, flow, false, nullptr);
        return flow;
    };
    expect_usable_after_an_end(cpu, run);
    EXPECT_TRUE(same_bytes(run(), fresh));
}

struct SolverCase {
    const char* name;
    SolverParameters parameters;
};
void PrintTo(const SolverCase& c, std::ostream* stream) { *stream << c.name; }

class EndedSolution : public testing::TestWithParam<SolverCase> {};

INSTANTIATE_TEST_SUITE_P(
    Solvers, EndedSolution,
    testing::Values(
        SolverCase{"jacobi", {.solver = Solver::jacobi, .iterations = 40}},
        SolverCase{"block2x2", {.solver = Solver::block2x2, .iterations = 40}},
        SolverCase{"block2x2_tolerance",
                   {.solver = Solver::block2x2, .iterations = 40, .tolerance = 1e-9}},
        SolverCase{"cg", {.solver = Solver::cg, .iterations = 10}},
        SolverCase{"cacg", {.solver = Solver::cacg, .iterations = 16}},
        SolverCase{"cacg_plain", {.solver = Solver::cacg, .iterations = 16, .precondition = false}},
        SolverCase{"redblack", {.solver = Solver::redblack, .iterations = 40, .relaxation = 1.7}},
        SolverCase{"multigrid", {.solver = Solver::multigrid, .iterations = 3}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(EndedSolution, LeavesASolverToUseAgain) {
    const Shape shape{53, 71};
    const oracle::OwnedSystem system = oracle::random_system(shape, 5, 20);
    core::Cpu cpu(1);
    SystemSolver<core::Cpu> solver(cpu, shape, GetParam().parameters);
    for (const bool watched : {false, true}) {
        std::vector<double> residuals;
        expect_usable_after_an_end(cpu, [&] {
            Flow flow = constant_flow(shape, 0.25F, -1);
            residuals.clear();
            solver.solve(system.view(), flow, watched ? &residuals : nullptr);
            return flow;
        });
    }
}

}  // namespace
}  // namespace aperture::flow
