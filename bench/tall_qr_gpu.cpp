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
#include "bench/tall_blocks.hpp"
#include "bench/tall_problem.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;

/// GB/s of copies within the device, reads plus writes.
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

/// Percent of the bound: the slower of fp32 arithmetic and one read and write of A.
void report_on_gpu(benchmark::State& state, core::Gpu& gpu, const Size& size, double seconds) {
    const double arithmetic = gflop_of(size) / gpu_peak_gflops(gpu, GpuUnit::fp32);
    const double bytes = 8.0 * static_cast<double>(size.rows) * static_cast<double>(size.columns);
    const double memory = 1e-9 * bytes / copy_bandwidth(gpu);
    state.counters["GFLOP/s"] = gflop_of(size) / seconds;
    state.counters["%bound"] = 100 * std::max(arithmetic, memory) / seconds;
}

/// Minimum time of a tree: sequential steps, one per column, over levels whose blocks absorb
/// several times their rows, and the launches of each level.
double tree_latency(core::Gpu& gpu, const Size& size) {
    const int groups = groups_of_library(size.rows);
    const double step = 1.0e-6 + 0.03e-6 * groups;
    constexpr double launch = 3e-6;
    constexpr index_t panel = 32;
    const index_t panels = (size.columns + panel - 1) / panel;
    const index_t leaves = 2 * index_t{gpu.multiprocessors()};
    double seconds = 0;
    for (index_t p = 0; p < panels; ++p) {
        index_t left = (size.rows - p * panel + panel - 1) / panel;
        const index_t blocks =
            std::max<index_t>(1, (left + leaves * (groups - 1) - 1) / (leaves * (groups - 1)));
        seconds += static_cast<double>(blocks * panel) * step + 2 * launch;
        left = (left + blocks * (groups - 1)) / (blocks * (groups - 1) + 1);
        for (; left > 1; left = (left + groups - 1) / groups) {
            seconds += static_cast<double>(panel) * step + 2 * launch;
        }
    }
    return seconds;
}

/// Whether Q is kept.
enum class Wanted { r_and_q, r };

/// Times seconds(a, r), which computes R, and checks it.
template <class Seconds>
void run_on_gpu(benchmark::State& state, core::Gpu& gpu, Size size, const std::string& name,
                const Seconds& seconds) {
    const Array<float, 2> columns = random_columns(size);
    Array<float, 2, Device> a(columns.extent());
    core::copy<float, 2, core::Strided>(gpu, columns.view(), a.view());
    Array<float, 2, Device> r({size.columns, size.columns});
    const core::View<const float, 2, Device> by_columns(a.data(), {size.rows, size.columns},
                                                        {1, size.rows});
    const double best = measure(state, name, [&] { return seconds(by_columns, r.view()); });
    report_on_gpu(state, gpu, size, best);
    Array<float, 2> fetched(r.extent());
    core::copy<float, 2, core::Strided>(gpu, std::as_const(r).view(), fetched.view());
    gpu.synchronize();
    if (!is_r_of(columns, std::as_const(fetched).view())) fail(state, "R is wrong");
}

void run_method(benchmark::State& state, dense::QrMethod method, Wanted wanted, Size size,
                const std::string& name) {
    core::Gpu gpu;
    dense::TallQr<float, core::Gpu> qr(gpu, method, size.rows, size.columns);
    core::Timeline timeline;
    run_on_gpu(state, gpu, size, name, [&](auto a, auto r) {
        return seconds_on(gpu, timeline, smoke ? 1 : 4, [&](std::size_t) {
            if (wanted == Wanted::r) {
                qr.find_r(a, r);
            } else {
                qr.factor(a, r);
            }
        });
    });
    if (method == dense::QrMethod::tsqr) {
        state.counters["latency ms"] = 1e3 * tree_latency(gpu, size);
    }
    if (qr.fell_back()) fail(state, "fell back");
}

void run_policy(benchmark::State& state, int approach, const std::string& name) {
    core::Gpu gpu;
    const int blocks = smoke ? 4 : 200 * gpu.multiprocessors();
    const double best =
        measure(state, name, [&] { return seconds_of_policy(gpu, approach, blocks); });
    const double gflops = 1e-9 * policy_flops() * blocks / best;
    state.counters["GFLOP/s"] = gflops;
    state.counters["%peak"] = 100 * gflops / gpu_peak_gflops(gpu, GpuUnit::fp32);
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
    for (const int approach : {1, 2, 3, 4}) {
        add_measured("gpu/approach" + std::to_string(approach) + "/128x16",
                     [approach](benchmark::State& state, const std::string& name) {
                         run_policy(state, approach, name);
                     });
    }
    for (const Size& size : tall_sizes()) {
        const auto add = [&](const std::string& of, auto run) {
            add_measured("gpu/" + of + "/" + name_of(size), run);
        };
        const auto add_method = [&](const std::string& of, dense::QrMethod method, Wanted wanted) {
            add(of, [size, method, wanted](benchmark::State& state, const std::string& name) {
                run_method(state, method, wanted, size, name);
            });
        };
        add_method("tsqr", dense::QrMethod::tsqr, Wanted::r_and_q);
        add_method("cholesky2", dense::QrMethod::cholesky2, Wanted::r_and_q);
        add_method("cholesky2_r", dense::QrMethod::cholesky2, Wanted::r);
        add("blas2", [size](benchmark::State& state, const std::string& name) {
            core::Gpu gpu;
            run_on_gpu(state, gpu, size, name,
                       [&](auto a, auto r) { return seconds_of_columns(gpu, a, r); });
        });
        for (const int groups : {5, 7, 11, 15}) {
            add("tree_of_" + std::to_string(groups),
                [size, groups](benchmark::State& state, const std::string& name) {
                    core::Gpu gpu;
                    run_on_gpu(state, gpu, size, name,
                               [&](auto a, auto r) { return seconds_of_tree(gpu, groups, a, r); });
                });
        }
        add("cusolver", [size](benchmark::State& state, const std::string& name) {
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
