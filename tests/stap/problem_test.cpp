// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "aperture/stap/pipeline.hpp"

namespace aperture::stap {
namespace {

using testing::HasSubstr;

struct Asked {
    CubeShape shape{4, 16, 100, Domain::pulse};
    Parameters parameters;
    int steering_vectors = 2;

    Asked() {
        parameters.training_block = 20;
        parameters.temporal_taps = 3;
    }
    Problem problem() const { return make_problem(shape, parameters, steering_vectors); }
};

TEST(Problem, DerivesSizes) {
    Asked asked;
    const Problem problem = asked.problem();
    EXPECT_EQ(problem.doppler_bins, 16);
    EXPECT_EQ(problem.order, 12);
    EXPECT_EQ(problem.training_sets, 5);
    asked.shape.pulses = 17;
    asked.shape.range_cells = 101;
    EXPECT_EQ(asked.problem().doppler_bins, 32);
    EXPECT_EQ(asked.problem().training_sets, 6);
    asked.parameters.doppler_bins = 19;
    EXPECT_EQ(asked.problem().doppler_bins, 19);
    asked.shape.domain = Domain::doppler;
    asked.parameters.doppler_bins = 0;
    EXPECT_EQ(asked.problem().doppler_bins, 17);
    asked.parameters.training = Training::sliding;
    EXPECT_EQ(asked.problem().training_sets, 101);
    asked.parameters.training = Training::all;
    EXPECT_EQ(asked.problem().training_sets, 1);
}

struct Refusal {
    const char* name;
    void (*spoil)(Asked&);
    std::vector<const char*> words;
};

void PrintTo(const Refusal& refusal, std::ostream* stream) { *stream << refusal.name; }

class ProblemRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ProblemRefuses, WithTheValuesAndTheRemedy) {
    Asked asked;
    GetParam().spoil(asked);
    try {
        asked.problem();
        FAIL() << "accepted";
    } catch (const core::InvalidArgument& error) {
        for (const char* word : GetParam().words) EXPECT_THAT(error.what(), HasSubstr(word));
    }
}

const std::vector<Refusal> refusals = {
    {"no_channels", [](Asked& a) { a.shape.channels = 0; }, {"empty cube", "0 channels"}},
    {"no_pulses", [](Asked& a) { a.shape.pulses = 0; }, {"empty cube", "0 pulses"}},
    {"no_range_cells", [](Asked& a) { a.shape.range_cells = 0; }, {"0 range cells"}},
    {"negative_extent", [](Asked& a) { a.shape.pulses = -3; }, {"-3 pulses"}},
    {"fewer_bins_than_pulses",
     [](Asked& a) { a.parameters.doppler_bins = 15; },
     {"15 Doppler bins", "16 pulses", "use 16 or more"}},
    {"bins_of_a_doppler_cube",
     [](Asked& a) {
         a.shape.domain = Domain::doppler;
         a.parameters.doppler_bins = 32;
     },
     {"16 Doppler bins", "32"}},
    {"fewer_bins_than_taps", [](Asked& a) { a.shape.pulses = 2; }, {"2 Doppler bins", "3"}},
    {"even_taps", [](Asked& a) { a.parameters.temporal_taps = 2; }, {"taps is 2", "1, 3 or 5"}},
    {"order", [](Asked& a) { a.shape.channels = 43; }, {"order 129", "128", "fewer taps"}},
    {"many_channels", [](Asked& a) { a.shape.channels = 1LL << 62; }, {"channels"}},
    {"no_steering", [](Asked& a) { a.steering_vectors = 0; }, {"0 steering vectors", "1 to 1024"}},
    {"much_steering", [](Asked& a) { a.steering_vectors = 1025; }, {"1025 steering vectors"}},
    {"no_block", [](Asked& a) { a.parameters.training_block = 0; }, {"training block 0"}},
    {"long_block",
     [](Asked& a) { a.parameters.training_block = 101; },
     {"101 range cells", "100", "smaller training block"}},
    {"singular_block",
     [](Asked& a) { a.parameters.training_block = 11; },
     {"11 training cells", "order 12", "4 channels x 3 taps", "loading"}},
    {"singular_without_cell_under_test",
     [](Asked& a) {
         a.parameters.training_block = 12;
         a.parameters.detector = Detector::amf;
     },
     {"11 training cells", "order 12"}},
    {"long_window",
     [](Asked& a) {
         a.parameters.training = Training::sliding;
         a.parameters.training_block = 90;
         a.parameters.guard = 5;
     },
     {"101 range cells", "guard 5", "100"}},
    {"long_cfar_window",
     [](Asked& a) {
         a.parameters.detector = Detector::cfar;
         a.parameters.training_block = 90;
         a.parameters.guard = 5;
     },
     {"101 range cells"}},
    {"huge_guard",
     [](Asked& a) {
         a.parameters.training = Training::sliding;
         a.parameters.guard = 1'500'000'000;
     },
     {"3000000021 range cells", "exceeds"}},
    {"guard_leaves_nothing",
     [](Asked& a) {
         a.parameters.training = Training::all;
         a.parameters.guard = 50;
         a.parameters.loading.value = 1;
     },
     {"guard 50", "no training cells"}},
    {"singular_all",
     [](Asked& a) {
         a.parameters.training = Training::all;
         a.parameters.guard = 44;
     },
     {"11 training cells"}},
    {"guard_with_block",
     [](Asked& a) { a.parameters.guard = 1; },
     {"guard 1", "sliding or all training"}},
    {"negative_guard", [](Asked& a) { a.parameters.guard = -1; }, {"guard -1"}},
    {"negative_loading", [](Asked& a) { a.parameters.loading.value = -0.5; }, {"loading -0.5"}},
    {"infinite_loading", [](Asked& a) { a.parameters.loading.value = INFINITY; }, {"inf"}},
    {"nan_loading", [](Asked& a) { a.parameters.loading.value = NAN; }, {"nan"}},
};

INSTANTIATE_TEST_SUITE_P(Problem, ProblemRefuses, testing::ValuesIn(refusals),
                         [](const auto& tested) { return tested.param.name; });

TEST(Problem, HasAtMost1024SteeringVectors) {
    Asked asked;
    asked.steering_vectors = 1024;
    EXPECT_EQ(asked.problem().steering_vectors, 1024);
    asked.steering_vectors = 1025;
    EXPECT_THROW(asked.problem(), core::InvalidArgument);
}

TEST(Problem, LoadingMakesFewCellsEnough) {
    Asked asked;
    asked.parameters.training_block = 1;
    asked.parameters.loading.value = 1e-3;
    EXPECT_EQ(asked.problem().training_sets, 100);
}

TEST(TrainingCells, ShortLastBlockTrainsOnTheLastCells) {
    Asked asked;
    asked.parameters.training_block = 30;
    const Problem problem = asked.problem();
    ASSERT_EQ(problem.training_sets, 4);
    EXPECT_EQ(training_cells(problem, 2).begin, 60);
    EXPECT_EQ(training_cells(problem, 3).begin, 70);
    EXPECT_EQ(training_cells(problem, 3).end, 100);
    EXPECT_EQ(independent_training_cells(problem, 99), 29);
}

TEST(TrainingCells, SlidingWindowIsShiftedInwards) {
    Asked asked;
    asked.parameters.training = Training::sliding;
    asked.parameters.guard = 2;
    const Problem problem = asked.problem();
    const auto expect = [&](index_t cell, RangeSpan window, RangeSpan excluded, index_t cells) {
        const TrainingWindow w = training_window(problem, cell);
        EXPECT_EQ(w.window.begin, window.begin) << cell;
        EXPECT_EQ(w.window.end, window.end) << cell;
        EXPECT_EQ(w.excluded.begin, excluded.begin) << cell;
        EXPECT_EQ(w.excluded.end, excluded.end) << cell;
        EXPECT_EQ(w.cells(), cells) << cell;
        EXPECT_EQ(independent_training_cells(problem, cell), cells) << cell;
    };
    expect(50, {38, 63}, {48, 53}, 20);
    expect(12, {0, 25}, {10, 15}, 20);
    expect(1, {0, 25}, {0, 4}, 21);
    expect(0, {0, 25}, {0, 3}, 22);
    expect(99, {75, 100}, {97, 100}, 22);
}

TEST(TrainingCells, AllLeavesOutTheGuard) {
    Asked asked;
    asked.parameters.training = Training::all;
    asked.parameters.guard = 3;
    const Problem problem = asked.problem();
    EXPECT_EQ(training_window(problem, 50).cells(), 93);
    EXPECT_EQ(training_window(problem, 0).cells(), 96);
    EXPECT_EQ(independent_training_cells(problem, 98), 95);
    EXPECT_EQ(reference_window(problem, 50).cells(), 20);
}

TEST(Work, PerfectLargeIsWhatTheLiteratureCounts) {
    Parameters parameters;
    parameters.doppler_bins = 256;
    parameters.training_block = 64;
    const Problem problem = make_problem({8, 128, 4096, Domain::pulse}, parameters, 16);
    EXPECT_NEAR(doppler_work(problem).gflop, 0.336, 1e-3);
    EXPECT_NEAR(covariance_work(problem).gflop, 2.416, 1e-3);
    EXPECT_NEAR(weights_work(problem).gflop, 1.510, 1e-3);
    EXPECT_NEAR(weighting_work(problem).gflop, 3.221, 1e-3);
    EXPECT_NEAR(adaptive_work(problem).gflop, 7.15, 0.01);
    EXPECT_NEAR(adaptive_work(problem).mb, 67.1 + 134.2, 0.1);
    EXPECT_NEAR(covariance_work(problem).mb, 67.1 + 75.5, 0.1);
}

TEST(WorkspaceBytes, CountMatricesThatAreHeldAtATime) {
    Parameters parameters;
    parameters.doppler_bins = 256;
    parameters.training_block = 64;
    parameters.precision = Precision::fp32;
    const CubeShape large{8, 128, 4096, Domain::pulse};
    const auto gigabytes = [&] {
        return 1e-9 * static_cast<double>(workspace_bytes(make_problem(large, parameters, 16)));
    };
    const double doppler_cube = 0.0671;
    EXPECT_NEAR(gigabytes(), doppler_cube, 1e-4);
    parameters.implementation = Implementation::staged;
    // Snapshots of 64 blocks, and their covariances and weights.
    EXPECT_NEAR(gigabytes(), doppler_cube + 0.2013 + 0.1258, 1e-3);
    parameters.implementation = Implementation::cublas;
    // The inverses as well, and 148 bytes a matrix.
    EXPECT_NEAR(gigabytes(), doppler_cube + 0.2013 + 0.1258 + 0.0755 + 0.0024, 1e-3);
    parameters.implementation = Implementation::staged;
    parameters.precision = Precision::mixed;
    EXPECT_NEAR(gigabytes(), doppler_cube + 0.2013 + 0.2517, 1e-3);
    parameters.training = Training::sliding;
    // Of a million matrices, 256 MB are in memory at a time, with their weights.
    EXPECT_NEAR(gigabytes(), doppler_cube + 0.2684 * (24 + 16) / 24, 0.01);
}

}  // namespace
}  // namespace aperture::stap
