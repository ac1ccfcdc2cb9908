// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/rpca/oracle.hpp"
#include "tests/same_bytes.hpp"
#include "tests/usable_gpu.hpp"

/// RobustPca of every executor compared with the textbook.
///
/// A Runner runs it on host arrays and copies data if its executor has memory of its own (else see
/// HostRunner):
///     std::string why_not();          // not empty: the reason to skip the suite
///     std::vector<Shape> shapes();    // around tiles, blocks and rows
///     int ahead;                      // iterations that multipliers begin before a state is read
///     template <class T> class Pursuit: Pursuit(Runner&, frames, values, Parameters) and
///         Outcome run(const Array<T, 2>& m, Array<T, 2>* low_rank, Array<T, 2>* sparse, observe);
///     bool large();                   // whether large matrices are fast
///     std::uint64_t allocations();    // on its device since the program started
namespace aperture::rpca::oracle {

using core::Array;
using core::index_t;
using Observer = std::function<bool(const Progress&)>;

struct Shape {
    index_t values;
    index_t frames;
};

/// Sizes around a pass's frames (32, 64, 104, 128), Gram tiles (32, 64, 104) and blocks of values
/// (128, 256) of a device. Two frames are one rotation.
inline std::vector<Shape> device_shapes() {
    return {{1, 1},    {2, 2},    {40, 1},  {33, 2},   {3, 7},    {127, 31},
            {128, 32}, {129, 33}, {255, 9}, {256, 10}, {257, 11}, {700, 5}};
}

/// For executors that use host memory.
template <class Executor>
struct HostRunner {
    Executor executor{};

    static std::string why_not() { return ""; }
    static std::uint64_t allocations() { return core::host_allocations(); }

    template <class T>
    class Pursuit {
      public:
        Pursuit(HostRunner& runner, index_t frames, index_t values, const Parameters& parameters)
            : pursuit_(runner.executor, frames, values, parameters) {}

        Outcome run(const Array<T, 2>& m, Array<T, 2>* low_rank, Array<T, 2>* sparse,
                    const Observer& observe) {
            using View = FramesView<T, core::Host>;
            return pursuit_.run(m.view(), low_rank == nullptr ? View{} : low_rank->view(),
                                sparse == nullptr ? View{} : sparse->view(), observe);
        }

      private:
        RobustPca<T, Executor> pursuit_;
    };
};

template <class T>
struct Result {
    Outcome outcome;
    Array<T, 2> low_rank;
    Array<T, 2> sparse;

    Matrix l() const { return matrix_of<T>(low_rank.view()); }
    Matrix s() const { return matrix_of<T>(sparse.view()); }
};

template <class T, class Runner>
Result<T> solved_by(Runner& runner, const Matrix& m, const Parameters& parameters,
                    const Observer& observe = {}) {
    const Array<T, 2> frames = frames_of<T>(m);
    Result<T> result{{}, Array<T, 2>(frames.extent()), Array<T, 2>(frames.extent())};
    typename Runner::template Pursuit<T> pursuit(runner, m.cols(), m.rows(), parameters);
    result.outcome = pursuit.run(frames, &result.low_rank, &result.sparse, observe);
    return result;
}

inline Parameters solving_by(Solver solver) {
    Parameters parameters;
    parameters.solver = solver;
    return parameters;
}
/// One solver by multipliers, and one by projections.
inline constexpr Solver two_solvers[] = {Solver::ialm, Solver::accaltproj};

template <class Runner>
class RobustPcaSuite : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = runner.why_not(); !reason.empty()) GTEST_SKIP() << reason;
    }

    template <class T>
    void expect_the_textbook(const Matrix& m, const Parameters& parameters, double bound) {
        const auto method = parameters.solver == Solver::ialm ? ialm : admm;
        const double lambda = 1 / std::sqrt(static_cast<double>(std::max(m.rows(), m.cols())));
        const Result<T> result = solved_by<T>(runner, m, parameters);
        const Split expected = method(m, lambda, result.outcome.iterations);
        const double scale = m.norm();
        EXPECT_TRUE(result.outcome.iterations == parameters.max_iterations ||
                    result.outcome.converged);
        EXPECT_LE((result.l() - expected.low_rank).norm(), bound * scale);
        EXPECT_LE((result.s() - expected.sparse).norm(), bound * scale);
        if (sizeof(T) == sizeof(float)) return;
        EXPECT_EQ(result.outcome.rank, expected.rank);
        const double residual = (m - expected.low_rank - expected.sparse).norm() / scale;
        EXPECT_NEAR(result.outcome.residual, residual, 1e-9 + 1e-6 * residual);
        const double zeros = static_cast<double>((expected.sparse.array() == 0).count());
        EXPECT_NEAR(result.outcome.density, 1 - zeros / static_cast<double>(m.size()), 1e-3);
    }

    /// Expects the textbook's parts of a planted sum after at most `iterations` iterations.
    void expect_split(index_t values, index_t frames, Parameters parameters, int iterations) {
        SCOPED_TRACE(testing::Message() << values << " x " << frames << ", svd "
                                        << static_cast<int>(parameters.svd) << ", " << iterations);
        const Planted planted_sum = planted(values, frames, 2, 0.1, 3);
        const Matrix m =
            planted_sum.low_rank + planted_sum.sparse + Matrix::Constant(values, frames, 3);
        parameters.max_iterations = iterations;
        parameters.tolerance = 1e-15;
        expect_the_textbook<double>(m, parameters, 1e-9);
        expect_the_textbook<float>(m, parameters, 1e-4);
    }

    Runner runner;
};
TYPED_TEST_SUITE_P(RobustPcaSuite);

TYPED_TEST_P(RobustPcaSuite, SplitsAsTheTextbookDoes) {
    for (const auto [values, frames] : this->runner.shapes()) {
        for (const Solver solver : {Solver::ialm, Solver::admm}) {
            Parameters parameters;
            parameters.solver = solver;
            // The first iteration, and an even number of them.
            for (const int iterations : {1, this->runner.large() ? 4 : 2})
                this->expect_split(values, frames, parameters, iterations);
        }
    }
}

// 170 frames are two blocks of frames and three pairs of Gram tiles, and their rotations do not fit
// in a block's shared memory.
TYPED_TEST_P(RobustPcaSuite, SplitsManyFrames) {
    const Planted planted_sum = planted(300, 170, 3, 0.1, 5);
    const Matrix m = planted_sum.low_rank + planted_sum.sparse + Matrix::Constant(300, 170, 3);
    Parameters parameters;
    parameters.max_iterations = tests::small_shapes() || !this->runner.large() ? 1 : 2;
    parameters.tolerance = 1e-15;
    this->template expect_the_textbook<double>(m, parameters, 1e-9);
    // On large devices fp32's rotations use shared memory, which takes racecheck minutes.
    if (!tests::small_shapes()) this->template expect_the_textbook<float>(m, parameters, 1e-4);
}

TYPED_TEST_P(RobustPcaSuite, SplitsTheSameByEveryQr) {
    for (const Svd svd : {Svd::tsqr, Svd::cholqr2}) {
        Parameters parameters;
        parameters.svd = svd;
        if (tests::small_shapes()) {
            this->expect_split(300, 5, parameters, 2);
        } else {
            this->expect_split(700, 9, parameters, 9);
        }
    }
}

TYPED_TEST_P(RobustPcaSuite, QrTakesBlocksThatValuesFillAndNoMoreOfThemThanFrames) {
    Parameters parameters;
    parameters.svd = Svd::tsqr;
    const index_t frames = tests::small_shapes() ? 32 : this->runner.large() ? 128 : 64;
    this->expect_split(frames, frames, parameters, 2);
}

TYPED_TEST_P(RobustPcaSuite, QrOfBlackFramesIsNothing) {
    Parameters parameters;
    parameters.svd = Svd::cholqr2;
    const Result<float> black = solved_by<float>(this->runner, Matrix::Zero(70, 8), parameters);
    EXPECT_TRUE(black.outcome.converged);
    EXPECT_EQ(black.l().norm(), 0);
}

TYPED_TEST_P(RobustPcaSuite, RecoversWhatWasPlanted) {
    const index_t order = this->runner.large() ? 500 : 60;
    const Planted truth = planted(order, order, static_cast<int>(order / 20), 0.05, 17);
    Parameters parameters;
    parameters.tolerance = 1e-7;
    const Result<double> result =
        solved_by<double>(this->runner, truth.low_rank + truth.sparse, parameters);
    EXPECT_TRUE(result.outcome.converged);
    // The constant part counts as one.
    EXPECT_EQ(result.outcome.rank, order / 20 + 1);
    EXPECT_LE((result.l() - truth.low_rank).norm(), 1e-5 * truth.low_rank.norm());
    const Matrix sparse = result.s();
    index_t wrong = 0;
    for (Eigen::Index i = 0; i < sparse.size(); ++i) {
        wrong += (sparse.reshaped()(i) != 0) != (truth.sparse.reshaped()(i) != 0);
    }
    EXPECT_EQ(wrong, 0);
}

TYPED_TEST_P(RobustPcaSuite, OfAStaticSceneHasRankOneAndNothingSparse) {
    Matrix m(300, 12);
    for (Eigen::Index v = 0; v < 300; ++v) m.row(v).setConstant(static_cast<double>(v % 251));
    for (const Solver solver : two_solvers) {
        const Result<float> result = solved_by<float>(this->runner, m, solving_by(solver));
        EXPECT_TRUE(result.outcome.converged);
        EXPECT_EQ(result.outcome.rank, 1);
        EXPECT_LE((result.l() - m).cwiseAbs().maxCoeff(), 0.01);
        EXPECT_LE(result.s().cwiseAbs().maxCoeff(), 0.01);
    }
}

// A few equal frames with bright spots.
TYPED_TEST_P(RobustPcaSuite, OfFewFramesThatAreTheSameNothingIsSparse) {
    for (const index_t frames : {1, 2, 5}) {
        Matrix m(300, frames);
        for (Eigen::Index v = 0; v < 300; ++v) {
            m.row(v).setConstant(v % 50 == 0 ? 250 : static_cast<double>(v * 7 % 31));
        }
        std::vector<Parameters> ways(5);
        ways[1].solver = ways[3].solver = Solver::admm;
        ways[2].svd = ways[3].svd = Svd::tsqr;
        ways[4].solver = Solver::accaltproj;
        for (const Parameters& way : ways) {
            SCOPED_TRACE(testing::Message() << frames << ' ' << static_cast<int>(way.solver) << ' '
                                            << static_cast<int>(way.svd));
            const Result<float> result = solved_by<float>(this->runner, m, way);
            EXPECT_TRUE(result.outcome.converged);
            EXPECT_EQ(result.outcome.rank, 1);
            EXPECT_LE((result.l() - m).cwiseAbs().maxCoeff(), 1e-3);
            // Projections leave rounding errors in S.
            EXPECT_LE(result.s().cwiseAbs().maxCoeff(),
                      way.solver == Solver::accaltproj ? 1e-4 : 0);
        }
    }
}

// Too many frames for rotations in shared memory: another code path finds the constant part.
TYPED_TEST_P(RobustPcaSuite, OfManyFramesThatAreTheSameNothingIsSparse) {
    Matrix m(400, 170);
    for (Eigen::Index v = 0; v < 400; ++v) m.row(v).setConstant(static_cast<double>(v % 251));
    Parameters parameters;
    parameters.max_iterations = 2;
    const Result<double> result = solved_by<double>(this->runner, m, parameters);
    EXPECT_EQ(result.outcome.rank, 1);
    EXPECT_LE((result.l() - m).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_EQ(result.s().norm(), 0);
}

TYPED_TEST_P(RobustPcaSuite, OfBlackFramesIsNothing) {
    for (const Solver solver : two_solvers) {
        const Result<float> result =
            solved_by<float>(this->runner, Matrix::Zero(70, 8), solving_by(solver));
        EXPECT_TRUE(result.outcome.converged);
        EXPECT_EQ(result.outcome.rank, 0);
        EXPECT_EQ(result.outcome.residual, 0);
        EXPECT_EQ(result.outcome.density, 0);
        EXPECT_EQ(result.l().norm(), 0);
        EXPECT_EQ(result.s().norm(), 0);
    }
}

TYPED_TEST_P(RobustPcaSuite, ASecondRunIsTheFirstAndAllocatesNothing) {
    const Array<float, 2> frames = frames_of<float>(video_like(1001, 17));
    const Array<float, 2> others = frames_of<float>(100 - video_like(1001, 17).array());
    Array<float, 2> first({17, 1001}), second({17, 1001});
    for (const Solver solver : two_solvers) {
        Parameters parameters = solving_by(solver);
        parameters.mask_threshold = 20;
        typename TypeParam::template Pursuit<float> pursuit(this->runner, 17, 1001, parameters);
        pursuit.run(frames, &first, nullptr, {});
        pursuit.run(others, nullptr, nullptr, {});
        const auto before = this->runner.allocations();
        pursuit.run(frames, &second, nullptr, {});
        EXPECT_EQ(this->runner.allocations(), before);
        EXPECT_TRUE(tests::same_bytes(first, second));
    }
}

TYPED_TEST_P(RobustPcaSuite, WritesWhereItReads) {
    for (const Solver solver : two_solvers) {
        Array<float, 2> frames = frames_of<float>(video_like(700, 9));
        Array<float, 2> expected(frames.extent());
        typename TypeParam::template Pursuit<float> pursuit(this->runner, 9, 700,
                                                            solving_by(solver));
        pursuit.run(frames, &expected, nullptr, {});
        pursuit.run(frames, &frames, nullptr, {});
        EXPECT_TRUE(tests::same_bytes(frames, expected));
    }
}

TYPED_TEST_P(RobustPcaSuite, RefusesWrongShapesAndParameters) {
    using Pursuit = typename TypeParam::template Pursuit<float>;
    const auto refuses = [&](index_t frames, index_t values, auto change) {
        Parameters parameters;
        change(parameters);
        EXPECT_THROW(Pursuit(this->runner, frames, values, parameters), core::InvalidArgument);
    };
    refuses(0, 5, [](Parameters&) {});
    refuses(5, 0, [](Parameters&) {});
    refuses(3, 4, [](Parameters& p) { p.lambda = -1; });
    refuses(3, 4, [](Parameters& p) { p.lambda = std::nan(""); });
    refuses(3, 4, [](Parameters& p) { p.tolerance = 0; });
    refuses(3, 4, [](Parameters& p) { p.tolerance = 1; });
    refuses(3, 4, [](Parameters& p) { p.max_iterations = 0; });
    refuses(3, 4, [](Parameters& p) { p.mask_threshold = -1; });
    refuses(4, 3, [](Parameters& p) { p.svd = Svd::tsqr; });
    refuses(3, 4, [](Parameters& p) { p.rank = -1; });
    const Array<float, 2> other = frames_of<float>(Matrix::Ones(4, 2));
    for (const Solver solver : two_solvers) {
        Pursuit pursuit(this->runner, 3, 4, solving_by(solver));
        EXPECT_THROW(pursuit.run(other, nullptr, nullptr, {}), core::InvalidArgument);
    }
}

TYPED_TEST_P(RobustPcaSuite, EndsWhereTheMaskIsFinal) {
    for (const Solver solver : two_solvers) {
        Parameters parameters = solving_by(solver);
        parameters.mask_threshold = 25;
        const Outcome outcome =
            solved_by<float>(this->runner, video_like(2000, 40), parameters).outcome;
        EXPECT_GT(outcome.iterations_to_mask, 2) << "the mask stays for three iterations";
        EXPECT_EQ(outcome.iterations, outcome.iterations_to_mask + 1) << "the last writes L and S";
        EXPECT_GT(outcome.seconds_to_mask, 0);
        EXPECT_FALSE(outcome.converged);
    }
}

TYPED_TEST_P(RobustPcaSuite, EndsWhereItsObserverSaysSo) {
    for (const Solver solver : two_solvers) {
        std::vector<int> seen;
        const Result<float> result = solved_by<float>(
            this->runner, video_like(500, 40), solving_by(solver), [&](const Progress& progress) {
                seen.push_back(progress.iteration);
                return progress.iteration < 4;
            });
        EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3, 4));
        // L and S are computed in one more iteration, and an executor may be ahead of the observer.
        EXPECT_EQ(result.outcome.iterations, 5 + (solver == Solver::ialm ? TypeParam::ahead : 0));
        EXPECT_FALSE(result.outcome.converged);
    }
}

TYPED_TEST_P(RobustPcaSuite, RefusesWhatIsNoNumber) {
    for (const Solver solver : two_solvers) {
        Array<float, 2> frames = frames_of<float>(video_like(900, 5));
        typename TypeParam::template Pursuit<float> pursuit(this->runner, 5, 900,
                                                            solving_by(solver));
        for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
            frames(3, 777) = value;
            EXPECT_THAT([&] { pursuit.run(frames, nullptr, nullptr, {}); },
                        testing::ThrowsMessage<core::InvalidArgument>(
                            testing::HasSubstr("value 777 of frame 3")));
        }
    }
}

REGISTER_TYPED_TEST_SUITE_P(RobustPcaSuite, SplitsAsTheTextbookDoes, SplitsManyFrames,
                            SplitsTheSameByEveryQr,
                            QrTakesBlocksThatValuesFillAndNoMoreOfThemThanFrames,
                            QrOfBlackFramesIsNothing, RecoversWhatWasPlanted,
                            OfAStaticSceneHasRankOneAndNothingSparse,
                            OfFewFramesThatAreTheSameNothingIsSparse,
                            OfManyFramesThatAreTheSameNothingIsSparse, OfBlackFramesIsNothing,
                            ASecondRunIsTheFirstAndAllocatesNothing, WritesWhereItReads,
                            RefusesWrongShapesAndParameters, EndsWhereTheMaskIsFinal,
                            EndsWhereItsObserverSaysSo, RefusesWhatIsNoNumber);

/// Expects a converged outcome whose residual and density are those of L and S.
template <class T>
void expect_reported(const Result<T>& result, const Matrix& m, double bound) {
    EXPECT_TRUE(result.outcome.converged);
    EXPECT_NEAR((m - result.l() - result.s()).norm() / m.norm(), result.outcome.residual, bound);
    const auto zeros = static_cast<double>((result.s().array() == 0).count());
    EXPECT_EQ(result.outcome.density, 1 - zeros / static_cast<double>(m.size()));
}

struct ProjectedProblem {
    index_t values;
    index_t frames;
    index_t rank;
};
/// Blocks of 256 values, panels of 32 columns of U, Y and R together, and full ranks.
inline std::vector<ProjectedProblem> projected_problems() {
    return {{1, 1, 1},   {40, 1, 0},   {33, 2, 9},    {3, 7, 20},
            {255, 9, 0}, {256, 24, 4}, {257, 33, 16}, {900, 40, 17}};
}
inline Parameters projecting(const ProjectedProblem& problem, double tolerance) {
    Parameters parameters = solving_by(Solver::accaltproj);
    parameters.rank = problem.rank;
    parameters.tolerance = tolerance;
    return parameters;
}

}  // namespace aperture::rpca::oracle
