// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/robust_pca.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>

#include "aperture/core/error.hpp"
#include "tests/rpca/oracle.hpp"

namespace aperture::rpca::oracle {
namespace {

using core::Array;

template <class T>
struct Result {
    Outcome outcome;
    Array<T, 2> low_rank;
    Array<T, 2> sparse;

    Matrix l() const { return matrix_of<T>(low_rank.view()); }
    Matrix s() const { return matrix_of<T>(sparse.view()); }
};

template <class T>
Result<T> solved(const Matrix& m, const Parameters& parameters, int threads = 2) {
    core::Cpu cpu(threads);
    const Array<T, 2> frames = frames_of<T>(m);
    Result<T> result{{}, Array<T, 2>(frames.extent()), Array<T, 2>(frames.extent())};
    RobustPca<T, core::Cpu> pca(cpu, m.cols(), m.rows(), parameters);
    result.outcome = pca.run(frames.view(), result.low_rank, result.sparse);
    return result;
}

double default_lambda(const Matrix& m) {
    return 1 / std::sqrt(static_cast<double>(std::max(m.rows(), m.cols())));
}

struct Shape {
    core::index_t values;
    core::index_t frames;
};
class RobustPcaShapes : public testing::TestWithParam<Shape> {};
// Sizes around blocks (512 or 256 values), rows of products (32 or 16) and Gram tiles (5 frames).
INSTANTIATE_TEST_SUITE_P(Rpca, RobustPcaShapes,
                         testing::Values(Shape{1, 1}, Shape{2, 2}, Shape{40, 1}, Shape{33, 2},
                                         Shape{3, 7}, Shape{31, 4}, Shape{32, 5}, Shape{17, 6},
                                         Shape{255, 9}, Shape{257, 10}, Shape{511, 11},
                                         Shape{512, 14}, Shape{513, 15}, Shape{1031, 26}),
                         [](const auto& instance) {
                             return std::to_string(instance.param.values) + "x" +
                                    std::to_string(instance.param.frames);
                         });

TEST_P(RobustPcaShapes, AreSplitAsByTheOracle) {
    const auto [values, frames] = GetParam();
    const Planted planted_sum = planted(values, frames, 2, 0.1, 3);
    const Matrix m =
        planted_sum.low_rank + planted_sum.sparse + Matrix::Constant(values, frames, 3);
    const double scale = m.norm();
    for (const Solver solver : {Solver::ialm, Solver::admm}) {
        const auto method = solver == Solver::ialm ? ialm : admm;
        for (const int iterations : {1, 2, 7, 12}) {
            SCOPED_TRACE(iterations);
            Parameters parameters;
            parameters.solver = solver;
            parameters.max_iterations = iterations;
            parameters.tolerance = 1e-15;
            const Result<double> fp64 = solved<double>(m, parameters);
            const Result<float> fp32 = solved<float>(m, parameters);
            // Small matrices converge to the last bit before.
            EXPECT_TRUE(fp64.outcome.iterations == iterations || fp64.outcome.converged);
            const Split expected = method(m, default_lambda(m), fp64.outcome.iterations);
            EXPECT_EQ(fp64.outcome.rank, expected.rank);
            EXPECT_LE((fp64.l() - expected.low_rank).norm(), 1e-9 * scale);
            EXPECT_LE((fp64.s() - expected.sparse).norm(), 1e-9 * scale);
            EXPECT_LE((fp32.l() - expected.low_rank).norm(), 1e-4 * scale);
            EXPECT_LE((fp32.s() - expected.sparse).norm(), 1e-4 * scale);
            const double residual = (m - expected.low_rank - expected.sparse).norm() / scale;
            EXPECT_NEAR(fp64.outcome.residual, residual, 1e-9 + 1e-6 * residual);
            const double zeros = (expected.sparse.array() == 0).count();
            EXPECT_NEAR(fp64.outcome.density, 1 - zeros / static_cast<double>(m.size()), 1e-3);
        }
    }
}

TEST(RobustPca, RecoversWhatCandesPlanted) {
    for (const double share : {0.05, 0.1}) {
        const Planted truth = planted(500, 500, 25, share, 17);
        Parameters parameters;
        parameters.tolerance = 1e-7;
        const Result<double> result = solved<double>(truth.low_rank + truth.sparse, parameters);
        EXPECT_TRUE(result.outcome.converged);
        // The constant part counts as one.
        EXPECT_EQ(result.outcome.rank, 25 + 1);
        EXPECT_LE((result.l() - truth.low_rank).norm(), 1e-5 * truth.low_rank.norm());
        const Matrix sparse = result.s();
        core::index_t wrong = 0;
        for (Eigen::Index i = 0; i < sparse.size(); ++i) {
            wrong += (sparse.reshaped()(i) != 0) != (truth.sparse.reshaped()(i) != 0);
        }
        EXPECT_EQ(wrong, 0) << share;
    }
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

TEST(RobustPca, EveryWayToTheSingularValuesGivesTheSame) {
    const Matrix m = video_like(3000, 40);
    Parameters parameters;
    const Result<float> by_gram = solved<float>(m, parameters);
    for (const Svd svd : {Svd::tsqr, Svd::cholqr2}) {
        parameters.svd = svd;
        const Result<float> by_qr = solved<float>(m, parameters);
        EXPECT_EQ(by_qr.outcome.iterations, by_gram.outcome.iterations);
        EXPECT_EQ(by_qr.outcome.rank, by_gram.outcome.rank);
        EXPECT_LE((by_qr.l() - by_gram.l()).norm(), 1e-5 * m.norm());
    }
    core::Cpu cpu(1);
    EXPECT_THROW((RobustPca<float, core::Cpu>(cpu, 5, 4, parameters)), core::InvalidArgument);
}

TEST(RobustPca, PartsSumToTheWhole) {
    const Matrix m = video_like(3000, 40);
    const Result<float> result = solved<float>(m, Parameters{});
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_LE(result.outcome.residual, Parameters{}.tolerance);
    EXPECT_NEAR((m - result.l() - result.s()).norm() / m.norm(), result.outcome.residual, 1e-7);
}

TEST(RobustPca, OfAStaticSceneHasRankOneAndNothingSparse) {
    Matrix m(900, 12);
    for (Eigen::Index v = 0; v < 900; ++v) m.row(v).setConstant(static_cast<double>(v % 251));
    const Result<float> result = solved<float>(m, Parameters{});
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_EQ(result.outcome.rank, 1);
    EXPECT_LE((result.l() - m).cwiseAbs().maxCoeff(), 0.01);
    EXPECT_LE(result.s().cwiseAbs().maxCoeff(), 0.01);
}

// A few equal frames of any content, here a pattern whose brightest values would cost less in S
// than in the nuclear norm.
TEST(RobustPca, OfFewFramesThatAreTheSameNothingIsSparse) {
    for (const core::index_t frames : {1, 2, 3, 8}) {
        Matrix m(2000, frames);
        for (Eigen::Index v = 0; v < m.rows(); ++v) {
            m.row(v).setConstant(v % 100 == 0 ? 250 : static_cast<double>(v * 7 % 31));
        }
        for (const Svd svd : {Svd::gram, Svd::tsqr}) {
            for (const Solver solver : {Solver::ialm, Solver::admm, Solver::accaltproj}) {
                SCOPED_TRACE(testing::Message() << frames << ' ' << static_cast<int>(solver));
                Parameters parameters;
                parameters.solver = solver;
                if (solver != Solver::accaltproj) parameters.svd = svd;
                const Result<float> result = solved<float>(m, parameters);
                EXPECT_TRUE(result.outcome.converged);
                EXPECT_EQ(result.outcome.rank, 1);
                EXPECT_LE((result.l() - m).cwiseAbs().maxCoeff(), 1e-3);
                // Projections leave rounding errors in S.
                EXPECT_LE(result.s().cwiseAbs().maxCoeff(),
                          solver == Solver::accaltproj ? 1e-4 : 0);
            }
        }
    }
}

TEST(RobustPca, OfBlackFramesIsNothing) {
    const Result<float> result = solved<float>(Matrix::Zero(70, 8), Parameters{});
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_EQ(result.outcome.rank, 0);
    EXPECT_EQ(result.outcome.residual, 0);
    EXPECT_EQ(result.outcome.density, 0);
    EXPECT_EQ(result.l().norm(), 0);
    EXPECT_EQ(result.s().norm(), 0);
}

TEST(RobustPca, BitsDoNotDependOnTheNumberOfThreads) {
    const Matrix m = video_like(20011, 21);
    const Result<float> first = solved<float>(m, Parameters{}, 1);
    const auto bytes = static_cast<std::size_t>(first.low_rank.size()) * sizeof(float);
    for (const int threads : {2, 3, 7}) {
        const Result<float> other = solved<float>(m, Parameters{}, threads);
        EXPECT_EQ(std::memcmp(first.low_rank.data(), other.low_rank.data(), bytes), 0) << threads;
        EXPECT_EQ(std::memcmp(first.sparse.data(), other.sparse.data(), bytes), 0) << threads;
    }
}

TEST(RobustPca, ASecondRunIsTheFirstAndAllocatesNothing) {
    const Array<float, 2> frames = frames_of<float>(video_like(3001, 17));
    Array<float, 2> first({17, 3001}), second({17, 3001});
    core::Cpu cpu(2);
    Parameters parameters;
    parameters.mask_threshold = 20;
    RobustPca<float, core::Cpu> pca(cpu, 17, 3001, parameters);
    pca.run(frames.view(), first, {});
    const auto before = core::host_allocations();
    pca.run(frames.view(), second, {});
    EXPECT_EQ(core::host_allocations(), before);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
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

TEST(RobustPca, WritesWhereItReads) {
    Array<float, 2> frames = frames_of<float>(video_like(1700, 9));
    Array<float, 2> expected(frames.extent());
    core::Cpu cpu(2);
    RobustPca<float, core::Cpu> pca(cpu, 9, 1700, Parameters{});
    pca.run(std::as_const(frames).view(), expected, {});
    pca.run(std::as_const(frames).view(), frames, {});
    EXPECT_TRUE(std::equal(frames.begin(), frames.end(), expected.begin()));
    Parameters projections;
    projections.solver = Solver::accaltproj;
    Array<float, 2> again = frames_of<float>(video_like(1700, 9));
    RobustPca<float, core::Cpu> projected(cpu, 9, 1700, projections);
    projected.run(std::as_const(again).view(), expected, {});
    projected.run(std::as_const(again).view(), again, {});
    EXPECT_TRUE(std::equal(again.begin(), again.end(), expected.begin()));
}

TEST(RobustPca, EndsWhereItsObserverSaysSo) {
    const Array<float, 2> frames = frames_of<float>(video_like(500, 10));
    core::Cpu cpu(1);
    RobustPca<float, core::Cpu> pca(cpu, 10, 500, Parameters{});
    std::vector<int> seen;
    const Outcome outcome = pca.run(frames.view(), {}, {}, [&](const Progress& progress) {
        seen.push_back(progress.iteration);
        return progress.iteration < 4;
    });
    EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3, 4));
    // L and S are computed in one more iteration.
    EXPECT_EQ(outcome.iterations, 5);
    EXPECT_FALSE(outcome.converged);
}

TEST(RobustPca, EndsWhereTheMaskIsFinal) {
    const Matrix m = video_like(5000, 40);
    Parameters parameters;
    const Result<float> whole = solved<float>(m, parameters);
    parameters.mask_threshold = 25;
    const Result<float> early = solved<float>(m, parameters);
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

// While no singular value exceeds the threshold the background is the mean of the frames.
TEST(RobustPca, AMaskOfTheMeanIsNotFinal) {
    Matrix m = Matrix::Constant(3000, 40, 100);
    for (index_t f = 0; f < m.cols(); ++f) {
        m.col(f).head(600).array() += 12 * std::sin(2 * std::numbers::pi * double(f) / 40);
        m.col(f).segment(600 + 50 * f, 60).array() += 80;
    }
    Parameters parameters;
    parameters.mask_threshold = 8;
    const Result<float> early = solved<float>(m, parameters);
    EXPECT_GT(early.outcome.iterations_to_mask, 0);
    EXPECT_EQ(((m - early.l()).array().abs() > 8).count(), 60 * m.cols());
}

TEST(RobustPca, RefusesWhatIsNoNumber) {
    Array<float, 2> frames = frames_of<float>(video_like(900, 5));
    core::Cpu cpu(1);
    RobustPca<float, core::Cpu> pca(cpu, 5, 900, Parameters{});
    for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        frames(3, 777) = value;
        try {
            pca.run(std::as_const(frames).view(), {}, {});
            ADD_FAILURE() << "took " << value;
        } catch (const core::InvalidArgument& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("value 777 of frame 3"));
        }
    }
}

TEST(RobustPca, RefusesWrongShapesAndParameters) {
    core::Cpu cpu(1);
    using Pca = RobustPca<float, core::Cpu>;
    EXPECT_THROW(Pca(cpu, 0, 5, Parameters{}), core::InvalidArgument);
    EXPECT_THROW(Pca(cpu, 5, 0, Parameters{}), core::InvalidArgument);
    const auto refuses = [&](auto change) {
        Parameters parameters;
        change(parameters);
        EXPECT_THROW(Pca(cpu, 3, 4, parameters), core::InvalidArgument);
    };
    refuses([](Parameters& p) { p.lambda = -1; });
    refuses([](Parameters& p) { p.lambda = std::nan(""); });
    refuses([](Parameters& p) { p.tolerance = 0; });
    refuses([](Parameters& p) { p.tolerance = 1; });
    refuses([](Parameters& p) { p.max_iterations = 0; });
    refuses([](Parameters& p) { p.mask_threshold = -1; });
    Pca pca(cpu, 3, 4, Parameters{});
    const Array<float, 2> other = frames_of<float>(Matrix::Ones(4, 2));
    EXPECT_THROW(pca.run(other.view(), {}, {}), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::rpca::oracle
