// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "tests/stap/kernel_cases.hpp"

namespace aperture::stap::kernel_cases {

/// Skips the test where there is no GPU.
class GpuTest : public testing::Test {
  protected:
    void SetUp() override {
        const core::GpuStatus status = core::gpu_status();
        if (!status.usable) GTEST_SKIP() << "no usable GPU: " << status.reason;
    }
};

template <class T, int Rank>
core::Array<T, Rank, core::Device> to_device(core::Gpu& gpu, const core::Array<T, Rank>& host) {
    core::Array<T, Rank, core::Device> device(host.extent());
    core::copy<T, Rank, core::Strided>(gpu, host.view(), device.view());
    return device;
}
template <class T, int Rank>
void to_host(core::Gpu& gpu, const core::Array<T, Rank, core::Device>& device,
             core::Array<T, Rank>& host) {
    core::copy<T, Rank, core::Strided>(gpu, device.view(), host.view());
    gpu.synchronize();
}

/// The pipeline on a GPU; results begin with the values `HostResults` fills in, and a second run
/// must give the same bits without allocating.
inline HostResults run_gpu(const Problem& problem, const core::Array<cfloat, 3>& cube,
                           const core::Array<cfloat, 2>& steering) {
    core::Gpu gpu;
    HostResults host(problem);
    const auto device_cube = to_device(gpu, cube);
    auto output = to_device(gpu, host.output);
    auto info = to_device(gpu, host.info);
    auto pivot_ratio = to_device(gpu, host.pivot_ratio);
    auto covariance = to_device(gpu, host.covariance);
    auto weights = to_device(gpu, host.weights);
    auto statistic = to_device(gpu, host.statistic);
    Results<core::Device> results{output.view(),     info.view(), pivot_ratio.view(),
                                  covariance.view(), {},          {}};
    if (problem.parameters.training != Training::all) results.weights = weights.view();
    if (problem.parameters.detector != Detector::none) results.statistic = statistic.view();
    const auto fetch = [&](HostResults& to) {
        to_host(gpu, output, to.output);
        to_host(gpu, info, to.info);
        to_host(gpu, pivot_ratio, to.pivot_ratio);
        to_host(gpu, covariance, to.covariance);
        to_host(gpu, weights, to.weights);
        to_host(gpu, statistic, to.statistic);
    };
    Pipeline<core::Gpu> pipeline(gpu, problem, steering.view());
    pipeline.run(device_cube.view(), results, nullptr);
    fetch(host);
    HostResults again(problem);
    const auto allocations = core::device_allocations();
    pipeline.run(device_cube.view(), results, nullptr);
    EXPECT_EQ(core::device_allocations(), allocations) << "a second run allocates";
    fetch(again);
    expect_same_bits(host, again);
    return host;
}

}  // namespace aperture::stap::kernel_cases
