// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/gpu/streamed.cuh"
#include "tests/stap/simt_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class SimtStreamed : public testing::TestWithParam<Case> {};

TEST_P(SimtStreamed, GivesTheBitsOfOnePiece) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    const HostResults whole = run_simt(problem, cube, steering);
    for (const index_t cells : {1, 20, 50, 1000}) {
        SCOPED_TRACE(cells);
        core::Simt first, second;
        HostResults pieces(problem);
        gpu::run_in_pieces<core::Simt>({&first, &second}, problem, cube, steering,
                                       pieces.views(problem), cells, nullptr);
        expect_same_bits(whole, pieces);
    }
}

constexpr auto staged = Implementation::staged;

INSTANTIATE_TEST_SUITE_P(
    Cases, SimtStreamed,
    testing::Values(Case{.range_cells = 53},
                    Case{.range_cells = 53, .detector = Detector::amf, .implementation = staged},
                    Case{.range_cells = 53, .guard = 1, .detector = Detector::cfar},
                    Case{.range_cells = 53,
                         .detector = Detector::amf,
                         .loading = {1e-4, true},
                         .precision = Precision::automatic},
                    Case{.range_cells = 47,
                         .training_block = 9,
                         .training = Training::sliding,
                         .guard = 2,
                         .detector = Detector::glrt},
                    Case{.range_cells = 40,
                         .training_block = 9,
                         .training = Training::sliding,
                         .detector = Detector::cfar},
                    Case{.doppler_bins = 3,
                         .range_cells = 150,
                         .training = Training::all,
                         .guard = 2,
                         .detector = Detector::ace,
                         .loading = {0.1, true}},
                    Case{.doppler_bins = 3,
                         .range_cells = 150,
                         .training = Training::all,
                         .precision = Precision::mixed},
                    Case{.doppler_bins = 3,
                         .range_cells = 150,
                         .training = Training::all,
                         .guard = 1,
                         .detector = Detector::amf,
                         .precision = Precision::automatic}));

TEST(SimtStreamedTraining, KeepsWhatFailedInTheFirstPiece) {
    const Problem problem =
        Case{.taps = 1, .range_cells = 150, .training = Training::all}.problem();
    // Without the cell that alone has a channel, the covariance is singular.
    core::Array<cfloat, 3> cube(noise_cube(problem).extent());
    std::fill(cube.begin(), cube.end(), cfloat(0));
    for (index_t k = 0; k < problem.doppler_bins; ++k) cube(0, k, 0) = cube(1, k, 1) = 1;
    const auto steering = random_steering(problem);
    const HostResults whole = run_simt(problem, cube, steering);
    EXPECT_NE(whole.info(0, 0), 0);
    core::Simt executor;
    HostResults pieces(problem);
    gpu::run_in_pieces<core::Simt>({&executor}, problem, cube, steering, pieces.views(problem), 64,
                                   nullptr);
    expect_same_bits(whole, pieces);
}

TEST(RangePieces, CoverEveryCellOnceAndBringWhatWindowsReach) {
    for (const Training training : {Training::block, Training::sliding, Training::all}) {
        for (const Detector detector : {Detector::none, Detector::cfar}) {
            Case c{.range_cells = 173, .training_block = 16, .training = training};
            c.detector = detector;
            const Problem problem = c.problem();
            for (const index_t cells : {1, 16, 40, 200}) {
                index_t next = 0;
                for (const gpu::RangePiece& piece : gpu::plan_range_pieces(problem, cells)) {
                    EXPECT_EQ(piece.wanted.begin, next);
                    next = piece.wanted.end;
                    EXPECT_LE(piece.data.begin, piece.adapted.begin);
                    EXPECT_GE(piece.data.end, piece.adapted.end);
                    EXPECT_LE(piece.adapted.begin, piece.wanted.begin);
                    EXPECT_GE(piece.adapted.end, piece.wanted.end);
                    EXPECT_LE(piece.data.end, problem.shape.range_cells);
                    EXPECT_GE(piece.data.begin, 0);
                }
                EXPECT_EQ(next, problem.shape.range_cells);
            }
        }
    }
}

TEST(RangePieces, AreNoLargerThanOverlapNeeds) {
    Problem problem = Case{}.problem();
    HostResults results(problem);
    const auto views = results.views(problem);
    problem.shape.range_cells = 100'000'000;
    const index_t cells = gpu::cells_of_piece(problem, views, {std::size_t(1) << 40}, 2);
    const double bytes = gpu::bytes_per_cell(problem, views);
    EXPECT_NEAR(double(cells) * bytes, double(64 << 20), bytes);
    EXPECT_EQ(gpu::cells_of_piece(problem, views, {std::size_t(1) << 30}, 2), cells);
    problem.parameters.training_block = 1'000'000;
    EXPECT_GE(gpu::cells_of_piece(problem, views, {std::size_t(1) << 40}, 2), 16'000'000);
}

TEST(RangePieces, RefuseTooLittleMemory) {
    const Problem problem = Case{}.problem();
    HostResults results(problem);
    const auto views = results.views(problem);
    EXPECT_THROW(gpu::cells_of_piece(problem, views, {1000}, 2), core::InvalidArgument);
    EXPECT_THROW(gpu::cells_of_piece(problem, views, {1000, false}, 2), core::UnfitDevice);
    EXPECT_EQ(gpu::cells_of_piece(problem, views, {std::size_t(1) << 30}, 2), 37);
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
