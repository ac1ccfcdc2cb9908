// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/gpu_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class GpuStreamed : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuStreamed, GivesTheBitsOfOnePiece) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    const HostResults whole = run_gpu(problem, cube, steering);
    HostResults pieces(problem);
    core::Gpu gpu;
    core::Timeline timeline;
    timeline.begin_run();
    run_streamed(gpu, problem, cube.view(), steering.view(), pieces.views(problem), 16 << 20,
                 &timeline);
    expect_same_bits(whole, pieces);
    double gflop = 0;
    for (const core::Stage& stage : timeline.stages()) {
        EXPECT_GT(stage.ms, 0) << stage.name;
        if (stage.name == "adaptive") gflop = stage.gflop;
    }
    // Pieces whose windows overlap count a few cells twice.
    const double wanted = adaptive_work(problem).gflop;
    EXPECT_GE(gflop, 0.999 * wanted);
    EXPECT_LE(gflop, 1.5 * wanted);
}

INSTANTIATE_TEST_SUITE_P(Doppler, GpuStreamed,
                         testing::Values(Case{.channels = 4,
                                              .doppler_bins = 32,
                                              .range_cells = 5000,
                                              .training_block = 32,
                                              .vectors = 8,
                                              .detector = Detector::amf},
                                         Case{.doppler_bins = 16,
                                              .range_cells = 1000,
                                              .training_block = 32,
                                              .vectors = 2,
                                              .training = Training::all,
                                              .guard = 2},
                                         Case{.doppler_bins = 16,
                                              .range_cells = 1000,
                                              .training_block = 32,
                                              .vectors = 2,
                                              .training = Training::sliding,
                                              .guard = 2}));

INSTANTIATE_TEST_SUITE_P(Pulses, GpuStreamed,
                         testing::Values(Case{.channels = 4,
                                              .doppler_bins = 32,
                                              .range_cells = 5000,
                                              .training_block = 32,
                                              .vectors = 8,
                                              .pulses = 25,
                                              .taper = "hann"},
                                         Case{.doppler_bins = 16,
                                              .range_cells = 3000,
                                              .training_block = 32,
                                              .vectors = 2,
                                              .training = Training::sliding,
                                              .guard = 2,
                                              .pulses = 16}));

TEST(GpuStreamedRefusals, NameWhatIsWrong) {
    if (const core::GpuStatus status = core::gpu_status(); !status.usable)
        GTEST_SKIP() << "no usable GPU: " << status.reason;
    const Problem problem = Case{}.problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    HostResults results(problem);
    Results<core::Host> views = results.views(problem);
    core::Gpu gpu;
    EXPECT_THROW(run_streamed(gpu, problem, cube.view(), steering.view(), views, 1000, nullptr),
                 core::InvalidArgument);
    views.info = {};
    EXPECT_THROW(run_streamed(gpu, problem, cube.view(), steering.view(), views, 0, nullptr),
                 core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
