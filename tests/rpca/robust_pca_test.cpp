// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/robust_pca.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "aperture/core/error.hpp"
#include "librpca/run_state.hpp"
#include "tests/rpca/robust_pca_suite.hpp"

namespace aperture::rpca::oracle {
namespace {

struct CpuRunner : HostRunner<core::Cpu> {
    CpuRunner() : HostRunner{core::Cpu(2)} {}

    static bool large() { return false; }
    static constexpr int ahead = 0;
    /// Around blocks (512 or 256 values), rows of products (32 or 16) and Gram tiles (5 frames).
    static std::vector<Shape> shapes() {
        return {{1, 1},  {2, 2},   {40, 1},   {33, 2},   {3, 7},    {31, 4},   {32, 5},
                {17, 6}, {255, 9}, {257, 10}, {511, 11}, {512, 14}, {513, 15}, {1031, 26}};
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, RobustPcaSuite, CpuRunner);

template <class T = float>
Result<T> solved(const Matrix& m, const Parameters& parameters, int threads = 2) {
    HostRunner<core::Cpu> runner{core::Cpu(threads)};
    return solved_by<T>(runner, m, parameters);
}

TEST(RobustPca, ReportsTheResidualAndDensityOfItsParts) {
    const Matrix video = video_like(2000, 40);
    expect_reported(solved(video, Parameters{}), video, 1e-7);
    const auto projects = [](const ProjectedProblem& problem, auto tolerance) {
        using T = decltype(tolerance);
        SCOPED_TRACE(testing::Message() << problem.values << " x " << problem.frames);
        const Matrix m = video_like(problem.values, problem.frames);
        const Parameters parameters = projecting(problem, static_cast<double>(tolerance));
        const Result<T> result = solved<T>(m, parameters);
        expect_reported(result, m, 2e-7);
        EXPECT_LE(result.outcome.residual, parameters.tolerance);
        EXPECT_LE(result.outcome.rank, rank_of(parameters, problem.frames, problem.values));
    };
    for (const ProjectedProblem& problem : projected_problems()) {
        projects(problem, 1e-5F);
        projects(problem, 1e-7);
    }
}

TEST(RunState, ANanIsNoConvergence) {
    RunState state;
    advance(state, {std::nan(""), 0, 0}, {.norm = 1, .tolerance = 0.5}, false);
    EXPECT_TRUE(std::isnan(state.residual));
    EXPECT_EQ(state.converged, 0);
    advance(state, {0, 0, 0}, {.norm = 0, .tolerance = 0.5}, false);
    EXPECT_EQ(state.residual, 0) << "of black frames";
    EXPECT_EQ(state.converged, 1);
}

TEST(RobustPca, SinglePrecisionTakesTheIterationsAndRanksOfDouble) {
    const Matrix m = video_like(5000, 60);
    const auto trace = [&](auto type) {
        using T = decltype(type);
        core::Cpu cpu(2);
        const Array<T, 2> frames = frames_of<T>(m);
        RobustPca<T, core::Cpu> pca(cpu, 60, 5000, Parameters{});
        std::vector<int> ranks;
        const Outcome outcome = pca.run(frames.view(), {}, {}, [&](const Progress& progress) {
            ranks.push_back(progress.rank);
            return true;
        });
        EXPECT_TRUE(outcome.converged);
        EXPECT_LE(outcome.iterations, 30);
        return ranks;
    };
    EXPECT_EQ(trace(float()), trace(double()));
}

TEST(RobustPca, BitsDoNotDependOnTheNumberOfThreads) {
    const Matrix m = video_like(20011, 21);
    for (const Solver solver : two_solvers) {
        const Result<float> first = solved(m, solving_by(solver), 1);
        for (const int threads : {2, 3, 7}) {
            const Result<float> other = solved(m, solving_by(solver), threads);
            EXPECT_TRUE(tests::same_bytes(first.low_rank, other.low_rank)) << threads;
            EXPECT_TRUE(tests::same_bytes(first.sparse, other.sparse)) << threads;
        }
    }
}

TEST(RobustPca, TakesAndWritesFramesApart) {
    constexpr core::index_t n = 9;
    constexpr core::index_t m = 700;
    const Array<float, 2> frames = frames_of<float>(video_like(m, n));
    Array<float, 2> in({n, m + 13}), out({n, m + 5}), expected({n, m});
    std::fill(in.begin(), in.end(), std::nanf(""));
    std::fill(out.begin(), out.end(), -7.0F);
    for (core::index_t f = 0; f < n; ++f) std::copy_n(&frames(f, 0), m, &in(f, 0));
    core::Cpu cpu(2);
    RobustPca<float, core::Cpu> pca(cpu, n, m, Parameters{});
    pca.run(frames.view(), expected, {});
    pca.run(std::as_const(in).view().slice(1, 0, m), out.view().slice(1, 0, m), {});
    for (core::index_t f = 0; f < n; ++f) {
        EXPECT_TRUE(std::equal(&out(f, 0), &out(f, 0) + m, &expected(f, 0))) << f;
        for (core::index_t v = m; v < m + 5; ++v) EXPECT_EQ(out(f, v), -7.0F);
    }
}

TEST(RobustPca, AnotherLambdaIsThatOfANewSolver) {
    const Array<float, 2> frames = frames_of<float>(video_like(700, 12));
    core::Cpu cpu(2);
    Array<float, 2> again(frames.extent()), anew(frames.extent()), before(frames.extent());
    for (const Solver solver : {Solver::ialm, Solver::admm}) {
        Parameters parameters{.solver = solver, .max_iterations = 40};
        RobustPca<float, core::Cpu> pca(cpu, 12, 700, parameters);
        for (const double lambda : {0.02, 0.1, 0.0}) {
            parameters.lambda = lambda;
            pca.set_lambda(lambda);
            const Outcome outcome = pca.run(frames.view(), again, {});
            RobustPca<float, core::Cpu> other(cpu, 12, 700, parameters);
            EXPECT_EQ(outcome.iterations, other.run(frames.view(), anew, {}).iterations);
            EXPECT_TRUE(tests::same_bytes(again, anew)) << lambda;
            EXPECT_FALSE(tests::same_bytes(again, before)) << lambda;
            std::copy(again.begin(), again.end(), before.begin());
        }
        EXPECT_THROW(pca.set_lambda(-1), core::InvalidArgument);
    }
}

TEST(RobustPca, EndsWhereTheMaskIsFinal) {
    const Matrix m = video_like(5000, 40);
    for (const Solver solver : two_solvers) {
        Parameters parameters = solving_by(solver);
        const Result<float> whole = solved(m, parameters);
        parameters.mask_threshold = 25;
        const Result<float> early = solved(m, parameters);
        EXPECT_GT(early.outcome.iterations_to_mask, 0);
        EXPECT_GT(early.outcome.seconds_to_mask, 0);
        EXPECT_LT(early.outcome.iterations, whole.outcome.iterations);
        const auto beyond = [&](const Result<float>& result) {
            return ((m - result.l()).array().abs() > 25).eval();
        };
        const double different = (beyond(early) != beyond(whole)).count();
        EXPECT_LE(different, 3e-4 * static_cast<double>(m.size()));
        EXPECT_GT(beyond(whole).count(), 0);
    }
}

// While no singular value exceeds the threshold the background is the mean of the frames.
TEST(RobustPca, AMaskOfTheMeanIsNotFinal) {
    Matrix m = Matrix::Constant(3000, 40, 100);
    for (index_t f = 0; f < m.cols(); ++f) {
        m.col(f).head(600).array() += 12 * std::sin(2 * std::numbers::pi * double(f) / 40);
        m.col(f).segment(600 + 50 * f, 60).array() += 80;
    }
    Parameters parameters;
    parameters.mask_threshold = 8;
    const Result<float> early = solved(m, parameters);
    EXPECT_GT(early.outcome.iterations_to_mask, 0);
    EXPECT_EQ(((m - early.l()).array().abs() > 8).count(), 60 * m.cols());
}

TEST(AlternatingProjections, RecoverWhatCandesPlanted) {
    for (const double share : {0.05, 0.1, 0.2}) {
        const Planted truth = planted(500, 500, 25, share, 17);
        Parameters parameters = solving_by(Solver::accaltproj);
        parameters.rank = 25;
        parameters.tolerance = 1e-7;
        const Result<double> result = solved<double>(truth.low_rank + truth.sparse, parameters);
        EXPECT_TRUE(result.outcome.converged);
        EXPECT_EQ(result.outcome.rank, 25);
        EXPECT_LE(result.outcome.iterations, 30);
        EXPECT_LE((result.l() - truth.low_rank).norm(), 1e-5 * truth.low_rank.norm());
        // Entries below the threshold are noise of the residual's size, not planted ones.
        EXPECT_EQ(((result.s().array().abs() > 1e-3) != (truth.sparse.array() != 0)).count(), 0)
            << share;
    }
}

// Sizes around blocks (512 or 256 values), rows of products (32 or 16) and tiles (5 frames).
TEST(AlternatingProjections, SplitAsPlanted) {
    for (const auto [values, frames] : {Shape{255, 29}, Shape{257, 30}, Shape{511, 31},
                                        Shape{512, 34}, Shape{513, 35}, Shape{1031, 46}}) {
        SCOPED_TRACE(testing::Message() << values << " x " << frames);
        Planted truth = planted(values, frames, 2, 0.02, 3);
        truth.low_rank *= 3 * std::sqrt(static_cast<double>(values));
        truth.low_rank.array() += 100;
        truth.sparse *= 50;
        const Matrix m = truth.low_rank + truth.sparse;
        Parameters parameters = solving_by(Solver::accaltproj);
        parameters.rank = 3;
        parameters.tolerance = 1e-9;
        const Result<double> fp64 = solved<double>(m, parameters);
        EXPECT_TRUE(fp64.outcome.converged);
        EXPECT_EQ(fp64.outcome.rank, 3);
        // In matrices as small as the first, S absorbs a little of L as the threshold falls.
        EXPECT_LE((fp64.l() - truth.low_rank).norm(), 1e-5 * m.norm());
        EXPECT_LE((m - fp64.l() - fp64.s()).norm(), 1e-9 * m.norm());
        parameters.tolerance = 1e-6;
        const Result<float> fp32 = solved(m, parameters);
        EXPECT_TRUE(fp32.outcome.converged);
        EXPECT_LE((fp32.l() - truth.low_rank).norm(), 1e-5 * m.norm());
        EXPECT_LE((m - fp32.l() - fp32.s()).norm(), 2e-6 * m.norm());
    }
}

TEST(AlternatingProjections, AgreeWithTheConvexSolutionOnAVideo) {
    const Matrix m = video_like(6000, 60);
    const Result<float> convex = solved(m, Parameters{});
    const Result<float> projected = solved(m, solving_by(Solver::accaltproj));
    EXPECT_TRUE(projected.outcome.converged);
    EXPECT_LT(projected.outcome.iterations, convex.outcome.iterations);
    const auto mask = [&](const Result<float>& result) {
        return ((m - result.l()).array().abs() > 17).eval();
    };
    EXPECT_LE((mask(convex) != mask(projected)).count(), 1e-3 * static_cast<double>(m.size()));
    EXPECT_GT(mask(projected).count(), m.size() / 50);
    // Two grey levels, one of which is the planted noise.
    EXPECT_LE((convex.l() - projected.l()).norm(), 2 * std::sqrt(static_cast<double>(m.size())));
}

}  // namespace
}  // namespace aperture::rpca::oracle
