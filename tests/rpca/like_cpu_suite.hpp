// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/rpca/robust_pca_suite.hpp"

namespace aperture::rpca::oracle {

/// RobustPca of other executors compared with the Cpu's; for the Runners of RobustPcaSuite.
template <class Runner>
class RobustPcaLikeCpuSuite : public RobustPcaSuite<Runner> {};
TYPED_TEST_SUITE_P(RobustPcaLikeCpuSuite);

TYPED_TEST_P(RobustPcaLikeCpuSuite, TakesTheCpusIterationsAndRanks) {
    const Matrix m = this->runner.large() ? video_like(60000, 100) : video_like(2000, 40);
    core::Cpu cpu(2);
    const Array<float, 2> frames = frames_of<float>(m);
    RobustPca<float, core::Cpu> pca(cpu, m.cols(), m.rows(), Parameters{});
    Array<float, 2> low_rank(frames.extent());
    std::vector<int> ranks;
    std::vector<int> expected_ranks;
    const auto writes_to = [](std::vector<int>& seen) {
        return [&seen](const Progress& progress) {
            seen.push_back(progress.rank);
            return true;
        };
    };
    const Outcome expected = pca.run(frames.view(), low_rank, {}, writes_to(expected_ranks));
    const Result<float> result = solved_by<float>(this->runner, m, Parameters{}, writes_to(ranks));
    expect_reported(result, m, 1e-7);
    EXPECT_EQ(result.outcome.iterations, expected.iterations);
    ASSERT_EQ(ranks.size(), expected_ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        // Rounding decides whether a singular value at the threshold counts.
        EXPECT_NEAR(ranks[i], expected_ranks[i], 1) << i;
    }
    EXPECT_NEAR(result.outcome.residual, expected.residual, 0.01 * expected.residual);
    EXPECT_NEAR(result.outcome.density, expected.density, 1e-3);
    EXPECT_LE((result.l() - matrix_of<float>(low_rank.view())).norm(), 1e-5 * m.norm());
}

TYPED_TEST_P(RobustPcaLikeCpuSuite, EndsWithTheCpusMask) {
    const Matrix m = video_like(2000, 40);
    core::Cpu cpu(2);
    const Array<float, 2> frames = frames_of<float>(m);
    for (const Solver solver : two_solvers) {
        Parameters parameters = solving_by(solver);
        parameters.mask_threshold = 25;
        RobustPca<float, core::Cpu> pca(cpu, m.cols(), m.rows(), parameters);
        const Outcome expected = pca.run(frames.view(), {}, {});
        const Outcome outcome = solved_by<float>(this->runner, m, parameters).outcome;
        EXPECT_EQ(outcome.iterations_to_mask, expected.iterations_to_mask);
        EXPECT_EQ(outcome.iterations, expected.iterations);
    }
}

TYPED_TEST_P(RobustPcaLikeCpuSuite, ProjectsAsTheCpuDoes) {
    std::vector<ProjectedProblem> problems = projected_problems();
    if (this->runner.large()) problems.insert(problems.end(), {{60000, 100, 0}, {3000, 230, 40}});
    const auto expect_the_cpus = [&]<class T>(const ProjectedProblem& problem, T tolerance,
                                              double bound) {
        SCOPED_TRACE(testing::Message() << problem.values << " x " << problem.frames);
        const Matrix m = video_like(problem.values, problem.frames);
        const Parameters parameters = projecting(problem, static_cast<double>(tolerance));
        core::Cpu cpu(2);
        const Array<T, 2> frames = frames_of<T>(m);
        Array<T, 2> low_rank(frames.extent()), sparse(frames.extent());
        const auto run_on_cpu = [&](const Parameters& its) {
            return RobustPca<T, core::Cpu>(cpu, m.cols(), m.rows(), its)
                .run(frames.view(), low_rank, sparse);
        };
        const Result<T> result = solved_by<T>(this->runner, m, parameters);
        expect_reported(result, m, 2e-7);
        EXPECT_LE(result.outcome.residual, parameters.tolerance);
        // If a residual is near the tolerance, rounding decides which of two iterations is the
        // last. Results are compared after the same number of iterations.
        EXPECT_NEAR(result.outcome.iterations, run_on_cpu(parameters).iterations, 1);
        Parameters counted = parameters;
        counted.tolerance = 1e-15;
        counted.max_iterations = result.outcome.iterations;
        const Outcome expected = run_on_cpu(counted);
        EXPECT_LE(expected.residual, 1.05 * parameters.tolerance);
        EXPECT_EQ(result.outcome.rank, expected.rank);
        EXPECT_LE((result.l() - matrix_of<T>(std::as_const(low_rank).view())).norm(),
                  bound * m.norm());
        EXPECT_LE((result.s() - matrix_of<T>(std::as_const(sparse).view())).norm(),
                  bound * m.norm());
    };
    for (const ProjectedProblem& problem : problems) {
        expect_the_cpus(problem, 1e-5F, 1e-4);
        expect_the_cpus(problem, 1e-7, 1e-6);
    }
}

REGISTER_TYPED_TEST_SUITE_P(RobustPcaLikeCpuSuite, TakesTheCpusIterationsAndRanks,
                            EndsWithTheCpusMask, ProjectsAsTheCpuDoes);

}  // namespace aperture::rpca::oracle
