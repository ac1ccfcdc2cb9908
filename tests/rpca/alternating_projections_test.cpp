// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Solver::accaltproj: recovery, comparison with the convex solver, edge cases, and repeated runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/rpca/oracle.hpp"

namespace aperture::rpca::oracle {
namespace {

using core::Array;

Parameters projecting(core::index_t rank = 0) {
    Parameters parameters;
    parameters.solver = Solver::accaltproj;
    parameters.rank = rank;
    return parameters;
}

struct Parts {
    Outcome outcome;
    Matrix low_rank;
    Matrix sparse;
};

template <class T>
Parts solved(const Matrix& m, const Parameters& parameters, int threads = 2) {
    core::Cpu cpu(threads);
    const Array<T, 2> frames = frames_of<T>(m);
    Array<T, 2> low_rank(frames.extent()), sparse(frames.extent());
    RobustPca<T, core::Cpu> pca(cpu, m.cols(), m.rows(), parameters);
    const Outcome outcome = pca.run(frames.view(), low_rank, sparse);
    return {outcome, matrix_of<T>(std::as_const(low_rank).view()),
            matrix_of<T>(std::as_const(sparse).view())};
}

Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic> beyond(const Matrix& difference,
                                                          double threshold) {
    return difference.array().abs() > threshold;
}

core::index_t wrong_places(const Matrix& found, const Matrix& planted) {
    return ((found.array() != 0) != (planted.array() != 0)).count();
}

void expect_recovery(core::index_t order, int rank, double share) {
    const Planted truth = planted(order, order, rank, share, 17);
    Parameters parameters = projecting(rank);
    parameters.tolerance = 1e-7;
    const auto result = solved<double>(truth.low_rank + truth.sparse, parameters);
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_EQ(result.outcome.rank, rank);
    EXPECT_LE(result.outcome.iterations, 30);
    EXPECT_LE((result.low_rank - truth.low_rank).norm(), 1e-5 * truth.low_rank.norm());
    // Entries below the threshold are noise of the residual's size, not planted ones.
    const Matrix sparse = (result.sparse.array().abs() > 1e-3).select(result.sparse, 0);
    EXPECT_EQ(wrong_places(sparse, truth.sparse), 0) << share;
}

TEST(AlternatingProjections, RecoverWhatCandesPlanted) {
    for (const double share : {0.05, 0.1, 0.2}) expect_recovery(500, 25, share);
}

struct Shape {
    core::index_t values;
    core::index_t frames;
};
class ProjectedShapes : public testing::TestWithParam<Shape> {};
// Sizes around blocks (512 or 256 values), rows of products (32 or 16) and tiles (5 frames).
INSTANTIATE_TEST_SUITE_P(Rpca, ProjectedShapes,
                         testing::Values(Shape{255, 29}, Shape{257, 30}, Shape{511, 31},
                                         Shape{512, 34}, Shape{513, 35}, Shape{1031, 46}),
                         [](const auto& instance) {
                             return std::to_string(instance.param.values) + "x" +
                                    std::to_string(instance.param.frames);
                         });

TEST_P(ProjectedShapes, AreSplitAsPlanted) {
    const auto [values, frames] = GetParam();
    Planted truth = planted(values, frames, 2, 0.02, 3);
    truth.low_rank *= 3 * std::sqrt(static_cast<double>(values));
    truth.low_rank.array() += 100;
    truth.sparse *= 50;
    const Matrix m = truth.low_rank + truth.sparse;
    Parameters parameters = projecting(3);
    parameters.tolerance = 1e-9;
    const auto fp64 = solved<double>(m, parameters);
    EXPECT_TRUE(fp64.outcome.converged);
    EXPECT_EQ(fp64.outcome.rank, 3);
    // In matrices as small as the first, S absorbs a little of L as the threshold falls.
    EXPECT_LE((fp64.low_rank - truth.low_rank).norm(), 1e-5 * m.norm());
    EXPECT_LE((m - fp64.low_rank - fp64.sparse).norm(), 1e-9 * m.norm());
    parameters.tolerance = 1e-6;
    const auto fp32 = solved<float>(m, parameters);
    EXPECT_TRUE(fp32.outcome.converged);
    EXPECT_LE((fp32.low_rank - truth.low_rank).norm(), 1e-5 * m.norm());
    EXPECT_LE((m - fp32.low_rank - fp32.sparse).norm(), 2e-6 * m.norm());
}

TEST(AlternatingProjections, AgreeWithTheConvexSolutionOnAVideo) {
    const Matrix m = video_like(6000, 60);
    const auto convex = solved<float>(m, Parameters{});
    const auto projected = solved<float>(m, projecting());
    EXPECT_TRUE(projected.outcome.converged);
    EXPECT_LT(projected.outcome.iterations, convex.outcome.iterations);
    const auto mask = beyond(m - projected.low_rank, 17);
    const double different = (beyond(m - convex.low_rank, 17) != mask).count();
    EXPECT_LE(different, 1e-3 * static_cast<double>(m.size()));
    EXPECT_GT(mask.count(), m.size() / 50);
    // Two grey levels, one of which is the planted noise.
    EXPECT_LE((convex.low_rank - projected.low_rank).norm(),
              2 * std::sqrt(static_cast<double>(m.size())));
}

TEST(AlternatingProjections, PartsSumToTheWhole) {
    const Matrix m = video_like(3000, 40);
    const auto result = solved<float>(m, projecting());
    EXPECT_LE(result.outcome.residual, Parameters{}.tolerance);
    EXPECT_NEAR((m - result.low_rank - result.sparse).norm() / m.norm(), result.outcome.residual,
                2e-7);
    const double zeros = (result.sparse.array() == 0).count();
    EXPECT_EQ(result.outcome.density, 1 - zeros / static_cast<double>(m.size()));
}

TEST(AlternatingProjections, OfAStaticSceneHaveRankOneAndNothingSparse) {
    Matrix m(900, 12);
    for (Eigen::Index v = 0; v < 900; ++v) m.row(v).setConstant(static_cast<double>(v % 251));
    const auto result = solved<float>(m, projecting());
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_EQ(result.outcome.rank, 1);
    EXPECT_LE((result.low_rank - m).cwiseAbs().maxCoeff(), 0.01);
    EXPECT_LE(result.sparse.cwiseAbs().maxCoeff(), 0.01);
}

TEST(AlternatingProjections, OfBlackFramesAreNothing) {
    const auto result = solved<float>(Matrix::Zero(70, 8), projecting());
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_EQ(result.outcome.rank, 0);
    EXPECT_EQ(result.outcome.residual, 0);
    EXPECT_EQ(result.outcome.density, 0);
    EXPECT_EQ(result.low_rank.norm() + result.sparse.norm(), 0);
}

TEST(AlternatingProjections, TakeTheSmallestMatrices) {
    for (const auto& [values, frames] : {Shape{1, 1}, Shape{40, 1}, Shape{33, 2}, Shape{3, 7}}) {
        const Matrix m = video_like(values, frames);
        const auto result = solved<double>(m, projecting(20));
        EXPECT_TRUE(result.outcome.converged) << values << " x " << frames;
        EXPECT_LE((m - result.low_rank - result.sparse).norm(), 1e-5 * m.norm());
    }
}

TEST(AlternatingProjections, BitsDoNotDependOnTheNumberOfThreads) {
    const Matrix m = video_like(20011, 21);
    const auto first = solved<float>(m, projecting(), 1);
    for (const int threads : {2, 3, 7}) {
        const auto other = solved<float>(m, projecting(), threads);
        EXPECT_EQ(first.low_rank, other.low_rank) << threads;
        EXPECT_EQ(first.sparse, other.sparse) << threads;
    }
}

TEST(AlternatingProjections, ASecondRunIsTheFirst) {
    const Array<float, 2> frames = frames_of<float>(video_like(3001, 17));
    const Array<float, 2> others = frames_of<float>(100 - video_like(3001, 17).array());
    Array<float, 2> first({17, 3001}), second({17, 3001});
    core::Cpu cpu(2);
    Parameters parameters = projecting();
    parameters.mask_threshold = 20;
    RobustPca<float, core::Cpu> pca(cpu, 17, 3001, parameters);
    pca.run(frames.view(), first, {});
    pca.run(others.view(), {}, {});
    const auto before = core::host_allocations();
    pca.run(frames.view(), second, {});
    EXPECT_EQ(core::host_allocations(), before);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
}

TEST(AlternatingProjections, EndWhereTheMaskIsFinalOrTheObserverSaysSo) {
    const Matrix m = video_like(5000, 40);
    Parameters parameters = projecting();
    const auto whole = solved<float>(m, parameters);
    parameters.mask_threshold = 25;
    const auto early = solved<float>(m, parameters);
    EXPECT_GT(early.outcome.iterations_to_mask, 0);
    EXPECT_LT(early.outcome.iterations, whole.outcome.iterations);
    const double different =
        (beyond(m - early.low_rank, 25) != beyond(m - whole.low_rank, 25)).count();
    EXPECT_LE(different, 3e-4 * static_cast<double>(m.size()));
    EXPECT_GT(beyond(m - whole.low_rank, 25).count(), 0);

    const Array<float, 2> frames = frames_of<float>(m);
    core::Cpu cpu(1);
    RobustPca<float, core::Cpu> pca(cpu, 40, 5000, projecting());
    std::vector<int> seen;
    const Outcome outcome = pca.run(frames.view(), {}, {}, [&](const Progress& progress) {
        seen.push_back(progress.iteration);
        return progress.iteration < 3;
    });
    EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
    EXPECT_EQ(outcome.iterations, 4);
}

TEST(AlternatingProjections, RefuseWhatIsNoNumberAndANegativeRank) {
    Array<float, 2> frames = frames_of<float>(video_like(900, 5));
    core::Cpu cpu(1);
    RobustPca<float, core::Cpu> pca(cpu, 5, 900, projecting());
    for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        frames(3, 777) = value;
        try {
            pca.run(std::as_const(frames).view(), {}, {});
            ADD_FAILURE() << "took " << value;
        } catch (const core::InvalidArgument& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("value 777 of frame 3"));
        }
    }
    EXPECT_THROW((RobustPca<float, core::Cpu>(cpu, 5, 900, projecting(-1))), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca::oracle
