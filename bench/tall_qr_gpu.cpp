// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/tall_qr_gpu.hpp"

#if APERTURE_CUDA
#include <cusolverDn.h>

#include <algorithm>
#include <string>
#include <utility>

#include "aperture/dense/tall_qr.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/program.hpp"
#include "bench/tall_problem.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;

/// GB/s of copies within the device, bytes read and bytes written.
double copy_bandwidth(core::Gpu& gpu) {
    static double best = 0;
    if (best > 0) return best;
    constexpr index_t bytes = index_t{1} << 30;
    Array<float, 1, Device> from({bytes / 4});
    Array<float, 1, Device> to({bytes / 4});
    core::Timeline timeline;
    for (int i = 0; i < 5; ++i) {
        const double seconds = seconds_on(gpu, timeline, 2, [&](std::size_t) {
            cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, gpu.stream());
        });
        best = std::max(best, 2e-9 * static_cast<double>(bytes) / seconds);
    }
    return best;
}

/// The share of the lower of two bounds: fp32 arithmetic, and A read and written once.
void report_on_gpu(benchmark::State& state, core::Gpu& gpu, const Size& size, double seconds) {
    const double arithmetic = gflop_of(size) / gpu_peak_gflops(gpu, GpuUnit::fp32);
    const double bytes = 8.0 * static_cast<double>(size.rows) * static_cast<double>(size.columns);
    const double memory = 1e-9 * bytes / copy_bandwidth(gpu);
    state.counters["GFLOP/s"] = gflop_of(size) / seconds;
    state.counters["%bound"] = 100 * std::max(arithmetic, memory) / seconds;
}

void run_on_gpu(benchmark::State& state, Size size, const std::string& name) {
    core::Gpu gpu;
    const Array<float, 2> columns = random_columns(size);
    Array<float, 2, Device> a(columns.extent());
    core::copy<float, 2, core::Strided>(gpu, columns.view(), a.view());
    Array<float, 2, Device> r({size.columns, size.columns});
    dense::TallQr<float, core::Gpu> qr(gpu, dense::QrMethod::caqr, size.rows, size.columns);
    core::Timeline timeline;
    const double best = measure(state, name, [&] {
        return seconds_on(gpu, timeline, smoke ? 1 : 4, [&](std::size_t) {
            qr.factor({a.data(), {size.rows, size.columns}, {1, size.rows}}, r.view());
        });
    });
    report_on_gpu(state, gpu, size, best);
    Array<float, 2> fetched(r.extent());
    core::copy<float, 2, core::Strided>(gpu, std::as_const(r).view(), fetched.view());
    gpu.synchronize();
    if (!is_r_of(columns, std::as_const(fetched).view())) fail(state, "R is wrong");
}

void run_cusolver(benchmark::State& state, Size size, const std::string& name) {
    core::Gpu gpu;
    const Array<float, 2> columns = random_columns(size);
    Array<float, 2, Device> a(columns.extent());
    Array<float, 2, Device> factors(columns.extent());
    core::copy<float, 2, core::Strided>(gpu, columns.view(), a.view());
    cusolverDnHandle_t handle = nullptr;
    cusolverDnCreate(&handle);
    cusolverDnSetStream(handle, gpu.stream());
    const auto m = static_cast<int>(size.rows);
    const auto n = static_cast<int>(size.columns);
    int words = 0;
    cusolverDnSgeqrf_bufferSize(handle, m, n, factors.data(), m, &words);
    Array<float, 1, Device> workspace({words});
    Array<float, 1, Device> tau({size.columns});
    Array<int, 1, Device> info({1});
    core::Timeline timeline;
    const double best = measure(state, name, [&] {
        cudaMemcpyAsync(factors.data(), a.data(), static_cast<std::size_t>(a.size()) * 4,
                        cudaMemcpyDeviceToDevice, gpu.stream());
        return seconds_on(gpu, timeline, 1, [&](std::size_t) {
            cusolverDnSgeqrf(handle, m, n, factors.data(), m, tau.data(), workspace.data(), words,
                             info.data());
        });
    });
    report_on_gpu(state, gpu, size, best);
    Array<float, 2> fetched(columns.extent());
    core::copy<float, 2, core::Strided>(gpu, std::as_const(factors).view(), fetched.view());
    gpu.synchronize();
    cusolverDnDestroy(handle);
    Array<float, 2> r({size.columns, size.columns});
    for (index_t i = 0; i < size.columns; ++i) {
        for (index_t j = 0; j < size.columns; ++j) r(i, j) = j < i ? 0 : fetched(j, i);
    }
    if (!is_r_of(columns, std::as_const(r).view())) fail(state, "R is wrong");
}

}  // namespace

void register_gpu() {
    if (!core::gpu_status().usable) return;
    for (const Size& size : tall_sizes()) {
        const std::string of_size = name_of(size);
        add_measured("gpu/caqr/" + of_size,
                     [size](benchmark::State& state, const std::string& name) {
                         run_on_gpu(state, size, name);
                     });
        add_measured("gpu/cusolver/" + of_size,
                     [size](benchmark::State& state, const std::string& name) {
                         run_cusolver(state, size, name);
                     });
    }
}

}  // namespace aperture::bench

#else

namespace aperture::bench {

void register_gpu() {}

}  // namespace aperture::bench
#endif
