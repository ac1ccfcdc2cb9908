// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "aperture/stap/stages.hpp"
#include "tests/stap/gpu_run.hpp"

namespace aperture::stap::kernel_cases {
namespace {

class GpuStages : public GpuTest {};

TEST_F(GpuStages, AgreeWithTheOracleAndAreAsynchronous) {
    const Problem problem = Case{.channels = 3, .range_cells = 45}.problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    HostResults host(problem);
    core::Gpu gpu;
    const auto device_cube = to_device(gpu, cube);
    const auto device_steering = to_device(gpu, steering);
    DeviceResults results(gpu, host);
    const core::Array<cfloat, 4, core::Device>& estimated = results.covariance;
    const core::Array<cfloat, 4, core::Device>& solved = results.weights;
    const auto run_stages = [&] {
        estimate_covariance<float>(gpu, problem, device_cube.view(), results.covariance.view());
        solve_weights<float>(gpu, problem, estimated.view(), device_steering.view(),
                             results.weights.view(), results.info.view(),
                             results.pivot_ratio.view());
        apply_weights<float>(gpu, problem, device_cube.view(), device_steering.view(),
                             solved.view(), results.output.view());
    };
    run_stages();
    // A stream capture fails if anything waits for the device or allocates synchronously.
    gpu.synchronize();
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    run_stages();
    ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
    cudaGraphDestroy(graph);
    results.fetch(gpu, host);
    expect_oracle(problem, cube, steering, host);
    adapt_cube(gpu, problem, device_cube.view(), device_steering.view(), results.output.view(),
               results.info.view(), results.pivot_ratio.view());
    results.fetch(gpu, host);
    expect_oracle(problem, cube, steering, host);
}

/// A transform without adaptation.
Case transform_of(index_t channels, index_t pulses, int doppler_bins, index_t range_cells,
                  const char* taper) {
    return {.channels = channels,
            .taps = 1,
            .doppler_bins = doppler_bins,
            .range_cells = range_cells,
            .training_block = 1,
            .vectors = 1,
            .loading = {1, false},
            .pulses = pulses,
            .taper = taper};
}

class GpuDoppler : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuDoppler, AgreesWithTheSum) {
    const Problem problem = GetParam().problem();
    const CubeShape& shape = problem.shape;
    const int pulses = static_cast<int>(shape.pulses) + 2;
    const auto wide = noise_cube(
        transform_of(shape.channels + 1, pulses, pulses, shape.range_cells + 5, "none").problem());
    core::Gpu gpu;
    const auto device_wide = to_device(gpu, wide);
    const auto part = [&](auto view) {
        return view.slice(0, 1, shape.channels + 1)
            .slice(1, 2, shape.pulses + 2)
            .slice(2, 3, shape.range_cells + 3);
    };
    core::Array<cfloat, 3, core::Device> device_cube(
        {shape.channels, problem.doppler_bins, shape.range_cells});
    const DopplerFilter<core::Gpu> filter(gpu, problem);
    const auto allocations = core::device_allocations();
    filter.run(part(device_wide.view()), device_cube.view());
    EXPECT_EQ(core::device_allocations(), allocations);
    core::Array<cfloat, 3> cube(device_cube.extent());
    to_host(gpu, device_cube, cube);
    const oracle::Cube wanted = doppler_cube_of(problem, part(wide.view()));
    oracle::SnrDb snr;
    for (index_t i = 0; i < wanted.size(); ++i)
        snr.add(wanted.data()[i], oracle::Complex(cube.data()[i]));
    EXPECT_GT(snr.value(), 125);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuDoppler,
                         testing::Values(transform_of(1, 1, 1, 1, "none"),
                                         transform_of(2, 16, 16, 127, "hann"),
                                         transform_of(3, 7, 13, 128, "hamming"),
                                         transform_of(1, 100, 128, 129, "chebyshev:60"),
                                         transform_of(6, 128, 256, 97, "none")));

class GpuPulses : public GpuTest, public testing::WithParamInterface<Case> {};

TEST_P(GpuPulses, AgreeWithTheOracle) {
    const Problem problem = GetParam().problem();
    const auto cube = noise_cube(problem);
    const auto steering = random_steering(problem);
    expect_oracle(problem, cube, steering, run_gpu(problem, cube, steering));
}

constexpr auto staged = Implementation::staged;

INSTANTIATE_TEST_SUITE_P(
    Implementations, GpuPulses,
    testing::Values(Case{.doppler_bins = 8, .pulses = 8},
                    Case{.doppler_bins = 16, .pulses = 11, .taper = "hann"},
                    Case{.doppler_bins = 9,
                         .detector = Detector::amf,
                         .implementation = staged,
                         .pulses = 7,
                         .taper = "hamming"},
                    Case{.doppler_bins = 8, .implementation = Implementation::cublas, .pulses = 8},
                    Case{.doppler_bins = 8, .training = Training::sliding, .guard = 1, .pulses = 8},
                    Case{.doppler_bins = 8, .precision = Precision::mixed, .pulses = 6}));

}  // namespace
}  // namespace aperture::stap::kernel_cases
