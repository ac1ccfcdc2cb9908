// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "tests/stap/kernel_cases.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::stap::kernel_cases {

using tests::GpuTest;

template <class T, int Rank>
core::Array<T, Rank, core::Device> to_device(core::Gpu& gpu, const core::Array<T, Rank>& host) {
    core::Array<T, Rank, core::Device> device(host.extent());
    if (host.size() > 0) core::copy<T, Rank, core::Strided>(gpu, host.view(), device.view());
    return device;
}
template <class T, int Rank>
void to_host(core::Gpu& gpu, const core::Array<T, Rank, core::Device>& device,
             core::Array<T, Rank>& host) {
    if (host.size() > 0) core::copy<T, Rank, core::Strided>(gpu, device.view(), host.view());
    gpu.synchronize();
}

/// Results on the device, initialised with the values of `host`.
struct DeviceResults {
    core::Array<cfloat, 3, core::Device> output;
    core::Array<int, 2, core::Device> info;
    core::Array<float, 2, core::Device> pivot_ratio;
    core::Array<cfloat, 4, core::Device> covariance;
    core::Array<cfloat, 4, core::Device> weights;
    core::Array<float, 3, core::Device> statistic;
    core::Array<int, 2, core::Device> attempt;

    DeviceResults(core::Gpu& gpu, const HostResults& host)
        : output(to_device(gpu, host.output)),
          info(to_device(gpu, host.info)),
          pivot_ratio(to_device(gpu, host.pivot_ratio)),
          covariance(to_device(gpu, host.covariance)),
          weights(to_device(gpu, host.weights)),
          statistic(to_device(gpu, host.statistic)),
          attempt(to_device(gpu, host.attempt)) {}

    Results<core::Device> views(const Problem& p) {
        Results<core::Device> results{output,  info,      pivot_ratio, covariance,
                                      weights, statistic, attempt};
        if (p.parameters.detector == Detector::none) results.statistic = {};
        return results;
    }
    void fetch(core::Gpu& gpu, HostResults& host) const {
        to_host(gpu, output, host.output);
        to_host(gpu, info, host.info);
        to_host(gpu, pivot_ratio, host.pivot_ratio);
        to_host(gpu, covariance, host.covariance);
        to_host(gpu, weights, host.weights);
        to_host(gpu, statistic, host.statistic);
        to_host(gpu, attempt, host.attempt);
    }
};

/// Runs the pipeline on a GPU. A second run must yield the same bits without allocations.
inline HostResults run_gpu(const Problem& problem, const core::Array<cfloat, 3>& cube,
                           const core::Array<cfloat, 2>& steering) {
    core::Gpu gpu;
    HostResults host(problem);
    const auto device_cube = to_device(gpu, cube);
    DeviceResults results(gpu, host);
    Pipeline<core::Gpu> pipeline(gpu, problem, steering.view());
    pipeline.run(device_cube.view(), results.views(problem), nullptr);
    results.fetch(gpu, host);
    HostResults again(problem);
    const auto allocations = core::device_allocations();
    pipeline.run(device_cube.view(), results.views(problem), nullptr);
    EXPECT_EQ(core::device_allocations(), allocations) << "a second run allocates";
    results.fetch(gpu, again);
    expect_same_bits(host, again);
    return host;
}

}  // namespace aperture::stap::kernel_cases
