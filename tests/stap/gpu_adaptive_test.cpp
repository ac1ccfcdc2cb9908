// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/stages.hpp"
#include "tests/stap/adaptive_cases.hpp"
#include "tests/stap/gpu_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class GpuAdaptive : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuAdaptive, AgreesWithTheOracle) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    expect_oracle(problem, cube, steering, run_gpu(problem, cube, steering));
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuAdaptive, testing::ValuesIn(shapes_cases()));
INSTANTIATE_TEST_SUITE_P(Options, GpuAdaptive, testing::ValuesIn(options_cases()));
INSTANTIATE_TEST_SUITE_P(Windows, GpuAdaptive, testing::ValuesIn(windows_cases()));
INSTANTIATE_TEST_SUITE_P(Detectors, GpuAdaptive, testing::ValuesIn(detectors_cases()));
INSTANTIATE_TEST_SUITE_P(Cublas, GpuAdaptive,
                         testing::Values(Case{.implementation = Implementation::cublas},
                                         Case{.channels = 6,
                                              .range_cells = 130,
                                              .training_block = 64,
                                              .vectors = 16,
                                              .detector = Detector::amf,
                                              .loading = {0.1, true},
                                              .implementation = Implementation::cublas},
                                         Case{.range_cells = 32,
                                              .implementation = Implementation::cublas}));

class GpuStreamed : public GpuTest {};

TEST_F(GpuStreamed, GivesTheBitsOfOnePiece) {
    for (const Case& c : {Case{.channels = 4,
                         .doppler_bins = 32,
                         .range_cells = 5000,
                         .training_block = 32,
                         .vectors = 8,
                         .detector = Detector::amf},
                          Case{.channels = 2,
                          .doppler_bins = 16,
                          .range_cells = 1000,
                          .training_block = 32,
                          .vectors = 2,
                          .training = Training::all,
                          .guard = 2},
                          Case{.channels = 2,
                          .doppler_bins = 16,
                          .range_cells = 1000,
                          .training_block = 32,
                          .vectors = 2,
                          .training = Training::sliding,
                          .guard = 2}}) {
        SCOPED_TRACE(testing::PrintToString(c));
        const Problem problem = c.problem();
        const auto cube = noise_cube(problem);
        const auto steering = random_steering(problem);
        const HostResults whole = run_gpu(problem, cube, steering);
        HostResults pieces(problem);
        core::Gpu gpu;
        run_streamed(gpu, problem, cube.view(), steering.view(), pieces.views(problem), 16 << 20,
                     nullptr);
        expect_same_bits(whole, pieces);
    }
}

class GpuStages : public GpuTest {};

TEST_F(GpuStages, AgreeWithTheOracle) {
    const Problem problem = Case{.channels = 3, .range_cells = 45}.problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    HostResults host(problem);
    core::Gpu gpu;
    const auto device_cube = to_device(gpu, cube);
    const auto device_steering = to_device(gpu, steering);
    auto output = to_device(gpu, host.output);
    auto info = to_device(gpu, host.info);
    auto pivot_ratio = to_device(gpu, host.pivot_ratio);
    auto covariance = to_device(gpu, host.covariance);
    auto weights = to_device(gpu, host.weights);
    estimate_covariance<float>(gpu, problem, device_cube.view(), covariance.view());
    const core::Array<cfloat, 4, core::Device>& estimated = covariance;
    solve_weights<float>(gpu, problem, estimated.view(), device_steering.view(), weights.view(),
                         info.view(), pivot_ratio.view());
    const core::Array<cfloat, 4, core::Device>& solved = weights;
    apply_weights<float>(gpu, problem, device_cube.view(), device_steering.view(), solved.view(),
                         output.view());
    to_host(gpu, output, host.output);
    to_host(gpu, info, host.info);
    to_host(gpu, pivot_ratio, host.pivot_ratio);
    to_host(gpu, covariance, host.covariance);
    to_host(gpu, weights, host.weights);
    expect_oracle(problem, cube, steering, host);
}

}  // namespace
}  // namespace aperture::stap::kernel_cases
