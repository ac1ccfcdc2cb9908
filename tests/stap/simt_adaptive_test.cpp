// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/stap/adaptive_cases.hpp"
#include "tests/stap/failure_cases.hpp"
#include "tests/stap/many_matrices.hpp"
#include "tests/stap/perfect_accuracy.hpp"
#include "tests/stap/simt_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class SimtAdaptive : public testing::TestWithParam<Case> {};

TEST_P(SimtAdaptive, AgreesWithTheOracle) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    expect_oracle(problem, cube, steering, run_simt(problem, cube, steering));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SimtAdaptive, testing::ValuesIn(shapes_cases()));
INSTANTIATE_TEST_SUITE_P(Pairs, SimtAdaptive, testing::ValuesIn(pairs_cases()));

INSTANTIATE_TEST_SUITE_P(Options, SimtAdaptive, testing::ValuesIn(options_cases()));

INSTANTIATE_TEST_SUITE_P(Specialised, SimtAdaptive, testing::ValuesIn(specialised_cases()));

INSTANTIATE_TEST_SUITE_P(Windows, SimtAdaptive, testing::ValuesIn(windows_cases()));

INSTANTIATE_TEST_SUITE_P(Detectors, SimtAdaptive, testing::ValuesIn(detectors_cases()));

// With 64 vectors and 99 KiB the register kernel of order 18 does not fit; the block kernel does.
TEST(SimtSmallDevices, AgreeWithTheOracle) {
    for (const int shared_bytes : {163 * 1024, 99 * 1024}) {
        for (const Case& c : {Case{.channels = 6, .training_block = 30, .vectors = 64},
                              Case{.channels = 6,
                              .training_block = 30,
                              .vectors = 64,
                              .training = Training::sliding},
                              Case{.channels = 3, .detector = Detector::amf, .precision = mixed},
                              Case{.solver = gauss_jordan, .implementation = staged}}) {
            SCOPED_TRACE(shared_bytes);
            SCOPED_TRACE(testing::PrintToString(c));
            const Problem problem = c.problem();
            const auto cube = noise_cube(problem);
            const auto steering = random_steering(problem);
            expect_oracle(
                problem, cube, steering,
                run_simt(problem, cube, steering, core::LaneOrder::reverse, {86, shared_bytes}));
        }
    }
}

TEST(SimtSmallDevices, RefuseWhatTheyHaveNoRoomFor) {
    const Problem problem = Case{.channels = 40,
                                 .range_cells = 260,
                                 .training_block = 250,
                                 .vectors = 64,
                                 .precision = mixed}
                                .problem();
    EXPECT_THAT(
        [&] {
            run_simt(problem, noise_cube(problem), random_steering(problem),
                     core::LaneOrder::forward, {86, 99 * 1024});
        },
        testing::ThrowsMessage<core::UnfitDevice>(
            testing::HasSubstr("exceeds the 101376 bytes of shared memory")));
}

// The cubes contain Doppler bins, because the SIMT executor does not support Fourier transforms.
TEST(SimtWorkspace, IsAsLargeAsPromised) {
    for (const Case& c :
         {Case{.detector = Detector::amf, .precision = Precision::automatic},
          Case{.training = Training::all, .guard = 2},
          Case{.training = Training::all, .guard = 2, .precision = Precision::automatic},
          Case{.training = Training::all, .implementation = staged, .precision = mixed},
          Case{.detector = Detector::glrt, .implementation = staged},
          Case{.implementation = staged, .precision = mixed},
          Case{.training = Training::sliding, .implementation = staged, .precision = mixed},
          Case{.training = Training::sliding, .implementation = staged}}) {
        SCOPED_TRACE(testing::PrintToString(c));
        const Problem problem = c.problem();
        core::Simt simt(core::LaneOrder::forward, 5);
        gpu::AdaptiveWorkspace<core::Simt> workspace;
        run_simt_in(workspace, simt, problem, noise_cube(problem), random_steering(problem));
        const auto bytes = [](const auto&... arrays) {
            return ((arrays.size() * static_cast<index_t>(sizeof(*arrays.data()))) + ...);
        };
        EXPECT_EQ(workspace_bytes(problem),
                  bytes(workspace.steering, workspace.total, workspace.cell_info,
                        workspace.snapshots, workspace.covariance, workspace.weights));
    }
}

const auto run = [](const Problem& problem, const auto& cube, const auto& steering) {
    return run_simt(problem, cube, steering);
};

TEST(SimtFailure, StaysInItsTrainingSet) {
    for (const Case& c : failure_cases()) expect_failure_to_stay(c, run);
}

TEST(SimtFailure, CellAveragingLeavesOutWhatIsNotFinite) {
    expect_cell_averaging_to_leave_out_what_is_not_finite(run);
}

TEST(SimtFailure, NamesTheCellThatCarriesTheCovariance) {
    for (const Case& c : removed_cell_cases()) expect_removed_cell_to_be_named(c, run);
}

TEST(LargeSimt, EveryMatrixOfPerfectsInput) {
    for (const char* size : {"small", "medium", "large"}) {
        expect_perfect_accuracy(size, Implementation::fused, run);
        expect_perfect_accuracy(size, staged, run);
    }
}

TEST(LargeSimt, WeightingOfPerfectsWhiteInput) {
    for (const char* size : {"small", "medium", "large"}) {
        expect_perfect_weighting(size, Implementation::fused, run);
        expect_perfect_weighting(size, staged, run);
    }
}

// More blocks than a grid can have along y or z.
TEST(LargeSimt, EveryMatrixIsRight) {
    expect_every_matrix(many_matrices(65537, 4, Implementation::fused), run);
}

TEST(SimtAdaptiveBits, DoNotDependOnTheOrderOfLanes) {
    for (const Case& c :
         {Case{.channels = 4,
         .range_cells = 50,
         .training_block = 32,
         .vectors = 7,
         .detector = Detector::amf},
          Case{.detector = Detector::ace, .solver = gauss_jordan},
          Case{.training = Training::all, .guard = 2, .detector = Detector::glrt},
          Case{.training = Training::sliding, .implementation = staged, .precision = mixed},
          Case{.loading = {0.1, true}, .precision = Precision::automatic}}) {
        SCOPED_TRACE(testing::PrintToString(c));
        const Problem problem = c.problem();
        const auto cube = noise_cube(problem);
        const auto steering = random_steering(problem);
        const HostResults forward = run_simt(problem, cube, steering);
        expect_same_bits(forward, run_simt(problem, cube, steering, core::LaneOrder::reverse));
        expect_same_bits(forward, run_simt(problem, cube, steering, core::LaneOrder::random));
    }
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
