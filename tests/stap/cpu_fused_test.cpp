// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <random>

#include "libstap/cpu/fused_block.hpp"
#include "tests/same_bytes.hpp"
#include "tests/stap/oracle.hpp"

namespace aperture::stap {
namespace {

using tests::same_bytes;

struct Case {
    index_t channels, bins, cells;
    int block, taps, vectors;
    Detector detector = Detector::none;
    dense::Factorisation solver = dense::Factorisation::cholesky;
    Precision precision = Precision::fp32;
    DiagonalLoading loading{};
    index_t padding = 0;  // unused cells at the end of every row of cube and results
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << "L " << c.channels << " K " << c.bins << " N " << c.cells << " N_R " << c.block << " T "
         << c.taps << " D " << c.vectors << " detector " << static_cast<int>(c.detector)
         << " solver " << static_cast<int>(c.solver) << " precision "
         << static_cast<int>(c.precision) << " loading " << c.loading.value
         << (c.loading.relative ? " relative" : "") << " padding " << c.padding;
}

Problem problem_of(const Case& c) {
    Parameters p;
    p.doppler_bins = static_cast<int>(c.bins);
    p.training_block = c.block;
    p.temporal_taps = c.taps;
    p.detector = c.detector;
    p.solver = c.solver;
    p.precision = c.precision;
    p.loading = c.loading;
    return make_problem({c.channels, c.bins, c.cells, Domain::doppler}, p, c.vectors);
}

core::Array<cfloat, 2> random_steering(const Problem& problem) {
    core::Array<cfloat, 2> steering({problem.steering_vectors, problem.order});
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    for (cfloat& v : steering) v = {normal(engine), normal(engine)};
    return steering;
}

// Rows of range cells with `padding` elements between them that must not change.
template <class T, int Rank>
struct Padded {
    core::Array<T, Rank> whole;
    core::View<T, Rank, core::Host> view;

    Padded(core::Extents<Rank> extents, index_t padding, T value) {
        const index_t wanted = extents[Rank - 1];
        extents[Rank - 1] += padding;
        whole = core::Array<T, Rank>(extents);
        std::fill(whole.begin(), whole.end(), value);
        view = whole.view().slice(Rank - 1, 0, wanted);
    }
};

constexpr float untouched = 12345.0f;

struct FusedRun {
    Problem problem;
    Padded<cfloat, 3> cube;
    core::Array<cfloat, 2> steering;
    Padded<cfloat, 3> output;
    core::Array<int, 2> info;
    core::Array<float, 2> pivot_ratio;
    core::Array<cfloat, 4> covariance, weights;
    Padded<float, 3> statistic;
    Results<core::Host> results;

    explicit FusedRun(const Case& c)
        : problem(problem_of(c)),
          cube({c.channels, c.bins, c.cells}, c.padding, cfloat(untouched)),
          steering(random_steering(problem)),
          output({c.vectors, c.bins, c.cells}, c.padding, cfloat(untouched)),
          info({c.bins, problem.training_sets}),
          pivot_ratio({c.bins, problem.training_sets}),
          covariance({c.bins, problem.training_sets, problem.order, problem.order}),
          weights({c.bins, problem.training_sets, c.vectors, problem.order}),
          statistic({c.vectors, c.bins, c.cells}, c.padding, untouched) {
        std::mt19937 engine(static_cast<unsigned>(c.channels * 1000 + c.bins));
        std::normal_distribution<float> normal;
        for (index_t i = 0; i < c.channels; ++i)
            for (index_t k = 0; k < c.bins; ++k)
                for (index_t r = 0; r < c.cells; ++r)
                    cube.view(i, k, r) = {normal(engine), normal(engine)};
        results = {output.view, info, pivot_ratio, covariance, weights, statistic.view};
    }

    void operator()(int threads) {
        core::Cpu cpu(threads);
        run(cpu);
    }
    void run(core::Cpu& cpu) {
        if (problem.parameters.precision == Precision::mixed) {
            cpu::FusedBlock<double>(cpu, problem, steering).run(cube.view, results);
        } else {
            cpu::FusedBlock<float>(cpu, problem, steering).run(cube.view, results);
        }
    }
};

double snr_db(const core::Array<cfloat, 4>& found, const core::Array<oracle::Complex, 4>& wanted) {
    oracle::SnrDb snr;
    const cfloat* value = found.begin();
    for (const oracle::Complex& reference : wanted) snr.add(reference, oracle::Complex(*value++));
    return snr.value();
}

double snr_db(const core::View<cfloat, 3, core::Host>& found, const oracle::Cube& wanted) {
    oracle::SnrDb snr;
    for (index_t d = 0; d < found.extent[0]; ++d)
        for (index_t k = 0; k < found.extent[1]; ++k)
            for (index_t r = 0; r < found.extent[2]; ++r)
                snr.add(wanted(d, k, r), oracle::Complex(found(d, k, r)));
    return snr.value();
}

class FusedBlockCase : public testing::TestWithParam<Case> {};

// The covariance of N_R cells of white data has a condition of about (1 + sqrt(n/N_R))^2 / (1 -
// sqrt(n/N_R))^2. The weights lose that much of fp32's 130 dB.
TEST_P(FusedBlockCase, AgreesWithTheOracle) {
    FusedRun run(GetParam());
    run(2);
    const oracle::Adapted wanted =
        oracle::adapt(run.problem, oracle::widen(run.cube.view), run.steering);
    EXPECT_GE(snr_db(run.covariance, wanted.covariance), 130.0);
    EXPECT_GE(snr_db(run.weights, wanted.weights), 100.0);
    EXPECT_GE(snr_db(run.output.view, wanted.output), 100.0);
    for (int info : run.info) EXPECT_EQ(info, 0);
    for (float ratio : run.pivot_ratio) EXPECT_TRUE(ratio >= 1 && std::isfinite(ratio));

    const Detector detector = GetParam().detector;
    const bool detects = detector != Detector::none && detector != Detector::cfar;
    for (index_t d = 0; d < run.statistic.whole.extent()[0]; ++d)
        for (index_t k = 0; k < run.statistic.whole.extent()[1]; ++k)
            for (index_t r = 0; r < run.statistic.whole.extent()[2]; ++r) {
                const bool inside = r < GetParam().cells;
                if (!inside || !detects) {
                    ASSERT_EQ(run.statistic.whole(d, k, r), untouched);
                } else {
                    const double statistic = wanted.statistic(d, k, r);
                    ASSERT_NEAR(run.statistic.whole(d, k, r), statistic, 1e-3 * (1 + statistic))
                        << d << " " << k << " " << r;
                }
                if (!inside) {
                    ASSERT_EQ(run.output.whole(d, k, r), cfloat(untouched));
                }
            }
}

constexpr dense::Factorisation gauss_jordan = dense::Factorisation::gauss_jordan;
constexpr dense::Factorisation cholesky = dense::Factorisation::cholesky;
constexpr DiagonalLoading absolute{0.5, false};
constexpr DiagonalLoading relative{0.1, true};

INSTANTIATE_TEST_SUITE_P(Shapes, FusedBlockCase,
                         testing::Values(Case{4, 32, 64, 32, 3, 16}, Case{6, 48, 128, 64, 3, 16},
                                         Case{8, 16, 128, 64, 3, 16},
                                         // K and N not multiples of lanes and blocks, odd sizes
                                         Case{1, 3, 7, 7, 3, 1}, Case{1, 1, 1, 1, 1, 1},
                                         Case{1, 5, 9, 4, 1, 5}, Case{2, 17, 41, 20, 3, 5},
                                         Case{3, 15, 67, 33, 5, 17}, Case{5, 37, 101, 47, 3, 3},
                                         Case{7, 33, 70, 64, 1, 64}, Case{10, 11, 150, 149, 5, 2},
                                         Case{9, 40, 97, 96, 1, 7}, Case{23, 4, 211, 200, 3, 4},
                                         Case{70, 3, 300, 290, 1, 2}, Case{2, 300, 10, 9, 1, 2}));

INSTANTIATE_TEST_SUITE_P(
    Options, FusedBlockCase,
    testing::Values(Case{4, 19, 75, 34, 3, 6, Detector::amf},
                    Case{4, 19, 75, 34, 3, 6, Detector::ace},
                    Case{4, 19, 75, 34, 3, 6, Detector::glrt},
                    Case{5, 7, 80, 64, 1, 3, Detector::cfar},
                    Case{6, 5, 128, 64, 3, 5, Detector::ace, gauss_jordan},
                    Case{4, 19, 75, 34, 3, 6, Detector::none, gauss_jordan},
                    Case{4, 19, 75, 34, 3, 6, Detector::none, cholesky, Precision::mixed},
                    Case{3, 9, 75, 34, 5, 6, Detector::glrt, gauss_jordan, Precision::mixed},
                    Case{4, 19, 75, 34, 3, 6, Detector::none, cholesky, Precision::fp32, absolute},
                    Case{4, 19, 75, 5, 3, 6, Detector::none, cholesky, Precision::fp32, relative},
                    Case{4, 19, 75, 34, 3, 6, Detector::amf, cholesky, Precision::fp32, absolute},
                    Case{4, 19, 75, 34, 3, 6, Detector::amf, cholesky, Precision::mixed, relative},
                    Case{4, 19, 75, 34, 3, 6, Detector::none, cholesky, Precision::fp32, {}, 5},
                    Case{4, 19, 64, 32, 3, 6, Detector::none, cholesky, Precision::fp32, {}, 8},
                    Case{4, 19, 75, 34, 3, 6, Detector::glrt, cholesky, Precision::mixed, {}, 3}));

TEST(FusedBlock, BitsDoNotDependOnTheThreads) {
    const Case c{3, 70, 50, 20, 3, 5, Detector::amf};
    FusedRun one(c);
    one(1);
    for (int threads : {2, 3, 7, 64}) {
        FusedRun many(c);
        many(threads);
        EXPECT_TRUE(same_bytes(one.output.whole, many.output.whole)) << threads;
        EXPECT_TRUE(same_bytes(one.weights, many.weights)) << threads;
        EXPECT_TRUE(same_bytes(one.covariance, many.covariance)) << threads;
        EXPECT_TRUE(same_bytes(one.statistic.whole, many.statistic.whole)) << threads;
        EXPECT_TRUE(same_bytes(one.pivot_ratio, many.pivot_ratio)) << threads;
    }
}

TEST(FusedBlock, SecondRunAllocatesNothing) {
    FusedRun run({4, 20, 70, 32, 3, 6, Detector::ace, gauss_jordan});
    core::Cpu cpu(2);
    cpu::FusedBlock<float> fused(cpu, run.problem, run.steering);
    const auto before = core::host_allocations();
    fused.run(run.cube.view, run.results);
    fused.run(run.cube.view, run.results);
    EXPECT_EQ(core::host_allocations(), before);
}

TEST(FusedBlock, WantsNoCovarianceWeightsOrStatistic) {
    FusedRun all({4, 20, 64, 32, 3, 6, Detector::ace});
    all(2);
    FusedRun bare({4, 20, 64, 32, 3, 6, Detector::ace});
    bare.results.covariance = {};
    bare.results.weights = {};
    bare.results.statistic = {};
    bare(2);
    EXPECT_TRUE(
        std::equal(all.output.whole.begin(), all.output.whole.end(), bare.output.whole.begin()));
}

// One bad bin in one block makes the problems that contain it fail, and no others.
TEST(FusedBlock, AFailedProblemIsZeroAndItsNeighboursAreUntouched) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const Case c{2, 40, 64, 32, 3, 4, Detector::glrt};
        FusedRun good(c);
        good(2);
        FusedRun run(c);
        run.cube.view(1, 10, 40) = bad;  // block 1, bins 9, 10 and 11
        run(2);
        for (index_t k = 0; k < 40; ++k)
            for (index_t b = 0; b < 2; ++b) {
                const bool fails = b == 1 && k >= 9 && k <= 11;
                EXPECT_EQ(run.info(k, b) > 0, fails) << k << " " << b;
                EXPECT_EQ(std::isinf(run.pivot_ratio(k, b)), fails);
                for (index_t d = 0; d < 4; ++d)
                    for (index_t r = 32 * b; r < 32 * b + 32; ++r) {
                        const cfloat y = fails ? cfloat(0) : good.output.view(d, k, r);
                        const float s = fails ? 0.0f : good.statistic.view(d, k, r);
                        ASSERT_EQ(run.output.view(d, k, r), y);
                        ASSERT_EQ(run.statistic.view(d, k, r), s);
                    }
                for (index_t i = 0; fails && i < 6; ++i)
                    EXPECT_EQ(run.weights(k, b, 0, i), cfloat(0));
            }
    }
}

// In the second block only cell 6 has a second channel, so the covariance is singular without it.
TEST(FusedBlock, ReportsTheFirstCellTheCovarianceCannotLose) {
    const Case c{2, 16, 8, 4, 1, 1, Detector::amf};
    FusedRun run(c);
    for (index_t k = 0; k < 16; ++k)
        for (index_t r = 4; r < 8; ++r) {
            run.cube.view(0, k, r) = r == 6 ? 0.0f : 1.0f;
            run.cube.view(1, k, r) = r == 6 ? 1.0f : 0.0f;
        }
    run(1);
    for (index_t k = 0; k < 16; ++k) {
        EXPECT_EQ(run.info(k, 0), 0);
        EXPECT_EQ(run.info(k, 1), -1 - 6);
        EXPECT_EQ(run.statistic.view(0, k, 6), 0.0f);
        EXPECT_GT(run.statistic.view(0, k, 5), 0.0f);
    }
}

TEST(FusedBlock, RejectsWrongSteering) {
    FusedRun run({2, 4, 16, 8, 1, 3});
    core::Cpu cpu(1);
    core::Array<cfloat, 2> wrong({2, 2});
    EXPECT_THROW(cpu::FusedBlock<float>(cpu, run.problem, wrong), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::stap
