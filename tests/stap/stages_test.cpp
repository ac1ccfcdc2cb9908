// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/stages.hpp"

#include <gtest/gtest.h>

#include "tests/same_bytes.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

using core::Cpu;
using core::Host;
using oracle::Complex;
using tests::same_bytes;

struct StageCase {
    index_t channels, bins, range_cells;
    int block, taps, directions;
};

void PrintTo(const StageCase& c, std::ostream* stream) {
    *stream << c.channels << " channels, " << c.bins << " bins, " << c.range_cells
            << " cells in blocks of " << c.block << ", " << c.taps << " taps, " << c.directions
            << " directions";
}

class Stages : public testing::TestWithParam<StageCase> {
  protected:
    Stages() {
        const StageCase& c = GetParam();
        Parameters parameters;
        parameters.training_block = c.block;
        parameters.temporal_taps = c.taps;
        parameters.loading = {0.01, true};
        problem_ = make_problem({c.channels, c.bins, c.range_cells, Domain::doppler}, parameters,
                                c.directions);
        storage_ = random_normal<3>({c.channels, c.bins + 2, c.range_cells + 9}, 11);
        cube_ = storage_.view().slice(1, 1, c.bins + 1).slice(2, 5, c.range_cells + 5);
        steering_ = random_normal<2>({c.directions, problem_.order}, 12);
        expected_ = oracle::adapt(problem_, oracle::widen(cube_), steering_);
    }

    template <class Real>
    void check() {
        const auto [bins, sets, directions, n] = expected_.weights.extent();
        core::Array<std::complex<Real>, 4> covariance({bins, sets, n, n});
        core::Array<std::complex<Real>, 4> weights({bins, sets, directions, n});
        core::Array<int, 2> info({bins, sets});
        core::Array<float, 2> pivot_ratio({bins, sets});
        core::Array<cfloat, 3> rows({directions, bins, problem_.shape.range_cells + 3});
        const auto output = rows.view().slice(2, 2, problem_.shape.range_cells + 2);
        estimate_covariance<Real>(cpu_, problem_, cube_, covariance);
        solve_weights<Real>(cpu_, problem_, covariance, steering_, weights, info, pivot_ratio);
        apply_weights<Real>(cpu_, problem_, cube_, steering_, weights, output);

        const bool fp64 = std::is_same_v<Real, double>;
        expect_close(covariance.view(), expected_.covariance.view(), fp64 ? 290 : 130);
        expect_close(weights.view(), expected_.weights.view(), fp64 ? 230 : 85);
        expect_output(output, fp64 ? 120 : 85);
    }

    void expect_output(const core::View<cfloat, 3, Host>& output, double db) const {
        const auto [directions, bins, cells] = output.extent;
        oracle::SnrDb snr;
        for (index_t d = 0; d < directions; ++d)
            for (index_t k = 0; k < bins; ++k)
                for (index_t r = 0; r < cells; ++r)
                    snr.add(expected_.output(d, k, r), Complex(output(d, k, r)));
        EXPECT_GT(snr.value(), db);
    }

    template <class T>
    static void expect_close(core::View<T, 4, Host> values, core::View<Complex, 4, Host> expected,
                             double db) {
        oracle::SnrDb snr;
        for (index_t i = 0; i < expected.size(); ++i)
            snr.add(expected.data[i], Complex(values.data[i]));
        EXPECT_GT(snr.value(), db);
    }

    Cpu cpu_;
    Problem problem_;
    core::Array<cfloat, 3> storage_;
    core::View<const cfloat, 3, Host> cube_;
    core::Array<cfloat, 2> steering_;
    oracle::Adapted expected_;
};

TEST_P(Stages, SinglePrecisionAgreesWithOracle) { check<float>(); }
TEST_P(Stages, DoublePrecisionAgreesWithOracle) { check<double>(); }

TEST_P(Stages, InOnePassAgreeWithOracleAndAreTheFusedPipelines) {
    const index_t bins = problem_.doppler_bins, sets = problem_.training_sets;
    core::Array<int, 2> info({bins, sets});
    core::Array<float, 2> pivot_ratio({bins, sets});
    core::Array<cfloat, 3> output({problem_.steering_vectors, bins, problem_.shape.range_cells});
    adapt_cube(cpu_, problem_, cube_, steering_, output, info, pivot_ratio);
    expect_output(output.view(), 85);
    Problem fp32 = problem_;
    fp32.parameters.precision = Precision::fp32;
    OwnedResults results(fp32);
    Pipeline<Cpu>(cpu_, fp32, steering_).run(cube_, results.views(), nullptr);
    EXPECT_TRUE(same_bytes(output, results.output));
    EXPECT_TRUE(same_bytes(info, results.info));
    EXPECT_TRUE(same_bytes(pivot_ratio, results.pivot_ratio));
}

TEST_P(Stages, SnapshotsAreExact) {
    const index_t block = problem_.parameters.training_block;
    core::Array<cfloat, 4> snapshots(
        {problem_.doppler_bins, problem_.training_sets, problem_.order, block});
    extract_snapshots(cpu_, problem_, cube_, snapshots);
    const oracle::Cube wide = oracle::widen(cube_);
    for (index_t k = 0; k < problem_.doppler_bins; ++k)
        for (index_t b = 0; b < problem_.training_sets; ++b)
            for (index_t r = 0; r < block; ++r) {
                const index_t cell = training_cells(problem_, b).begin + r;
                const oracle::Vector s = oracle::snapshot(problem_, wide, k, cell);
                for (index_t i = 0; i < problem_.order; ++i)
                    ASSERT_EQ(Complex(snapshots(k, b, i, r)), s(i));
            }
}

INSTANTIATE_TEST_SUITE_P(Stap, Stages,
                         testing::Values(StageCase{1, 1, 1, 1, 1, 1}, StageCase{2, 3, 30, 15, 3, 4},
                                         StageCase{2, 5, 33, 16, 5, 5},
                                         StageCase{4, 7, 64, 64, 3, 3},
                                         StageCase{6, 4, 129, 65, 3, 16},
                                         StageCase{11, 2, 67, 63, 1, 64}));

/// The bits do not depend on the number of threads, for any way of training.
TEST(PipelineThreads, SameBitsWhateverTheirNumber) {
    for (Training training : {Training::block, Training::sliding, Training::all})
        for (Implementation implementation : {Implementation::fused, Implementation::staged}) {
            Parameters parameters;
            parameters.training = training;
            parameters.implementation = implementation;
            parameters.training_block = 20;
            parameters.detector = Detector::glrt;
            const Problem problem = make_problem({3, 70, 50, Domain::doppler}, parameters, 5);
            const auto cube = random_normal<3>({3, 70, 50}, 1);
            const auto steering = random_normal<2>({5, 9}, 2);
            const auto run = [&](int threads) {
                Cpu cpu(threads);
                OwnedResults results(problem);
                Pipeline<Cpu>(cpu, problem, steering).run(cube, results.views(), nullptr);
                return results;
            };
            const OwnedResults one = run(1);
            for (int threads : {2, 17}) {
                const OwnedResults many = run(threads);
                EXPECT_TRUE(same_bytes(one.output, many.output)) << threads;
                EXPECT_TRUE(same_bytes(one.weights, many.weights)) << threads;
                EXPECT_TRUE(same_bytes(one.covariance, many.covariance)) << threads;
                EXPECT_TRUE(same_bytes(one.statistic, many.statistic)) << threads;
                EXPECT_TRUE(same_bytes(one.pivot_ratio, many.pivot_ratio)) << threads;
                EXPECT_TRUE(same_bytes(one.info, many.info)) << threads;
                EXPECT_TRUE(same_bytes(one.attempt, many.attempt)) << threads;
            }
        }
}

TEST(StageArguments, WrongExtentsAreRefused) {
    Parameters parameters;
    parameters.training_block = 16;
    parameters.temporal_taps = 1;
    const Problem problem = make_problem({2, 4, 32, Domain::doppler}, parameters, 3);
    Cpu cpu;
    const core::Array<cfloat, 3> cube({2, 4, 32});
    const core::Array<cfloat, 3> short_cube({2, 4, 31});
    const core::Array<cfloat, 2> steering({3, 2});
    core::Array<cfloat, 4> covariance({4, 2, 2, 2});
    core::Array<cfloat, 4> weights({4, 2, 3, 2});
    core::Array<cfloat, 4> few_weights({4, 2, 2, 2});
    core::Array<cfloat, 3> output({3, 4, 32});
    core::Array<int, 2> info({4, 2});
    core::Array<float, 2> pivot_ratio({4, 2});
    using core::InvalidArgument;
    EXPECT_THROW(estimate_covariance<float>(cpu, problem, short_cube, covariance), InvalidArgument);
    EXPECT_THROW(estimate_covariance<float>(cpu, problem, cube, weights), InvalidArgument);
    EXPECT_THROW(extract_snapshots(cpu, problem, cube, covariance), InvalidArgument);
    EXPECT_THROW(
        solve_weights<float>(cpu, problem, covariance, steering, few_weights, info, pivot_ratio),
        InvalidArgument);
    EXPECT_THROW(apply_weights<float>(cpu, problem, cube, steering, few_weights, output),
                 InvalidArgument);
    core::View<const cfloat, 3, Host> every_other = cube;
    every_other.stride[2] = 2;
    EXPECT_THROW(apply_weights<float>(cpu, problem, every_other, steering, weights, output),
                 InvalidArgument);
    Parameters sliding = parameters;
    sliding.training = Training::sliding;
    const Problem windowed = make_problem({2, 4, 32, Domain::doppler}, sliding, 3);
    EXPECT_THROW(estimate_covariance<float>(cpu, windowed, cube, covariance), InvalidArgument);
    Parameters library = parameters;
    library.implementation = Implementation::cublas;
    const Problem on_gpu = make_problem({2, 4, 32, Domain::doppler}, library, 3);
    EXPECT_THROW(Pipeline<Cpu>(cpu, on_gpu, steering), InvalidArgument);
    const core::Array<cfloat, 2> short_steering({3, 1});
    EXPECT_THROW(Pipeline<Cpu>(cpu, problem, short_steering), InvalidArgument);
    Pipeline<Cpu> pipeline(cpu, problem, steering);
    Results<Host> results;
    results.output = output;
    results.info = info;
    EXPECT_THROW(pipeline.run(cube, results, nullptr), InvalidArgument);
    results.pivot_ratio = pivot_ratio;
    EXPECT_THROW(pipeline.run(short_cube, results, nullptr), InvalidArgument);
}

}  // namespace
}  // namespace aperture::stap
