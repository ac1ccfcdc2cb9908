// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/corr_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "bench/corr_problem.hpp"
#include "bench/corr_tiles.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using corr::index_t;
using corr::Method;
using corr::Precision;
using corr::Problem;

double flops_of(const Problem& problem) {
    return static_cast<double>(problem.images) *
           corr::direct_flops(problem.planes, problem.image, problem.lags);
}

double tolerance(const Problem& problem) {
    if (problem.method == Method::fft) return 5e-7;
    switch (problem.precision) {
        case Precision::fp32:
            return 2e-7;
        case Precision::tf32x3:
            return 1e-6;
        case Precision::fp64:
            break;
    }
    return 1e-13;
}

/// Percent of the GPU's peak that the direct method reaches; tf32x3 needs three products for one.
double percent_of_peak(core::Gpu& gpu, Precision precision, double gflops) {
    switch (precision) {
        case Precision::fp32:
            return 100 * gflops / gpu_peak_gflops(gpu, GpuUnit::fp32);
        case Precision::tf32x3:
            return 300 * gflops / gpu_peak_gflops(gpu, GpuUnit::tf32);
        case Precision::fp64:
            break;
    }
    return 100 * gflops / gpu_peak_gflops(gpu, GpuUnit::fp64);
}

/// Correlates random planes.
void correlate_by(const PrepareCorrelation& prepare, benchmark::State& state,
                  const std::string& name, const Problem& problem) {
    core::Gpu gpu;
    const Planes planes = random_planes(problem);
    Sums sums = sums_of(problem);
    core::Array<float, 3, core::Device> device_planes(planes.extent());
    core::Array<double, 3, core::Device> device_sums(sums.extent());
    core::copy(gpu, planes.view(), device_planes.view());
    const GpuCorrelation correlation = prepare(gpu, problem);
    const auto input = std::as_const(device_planes).view();
    // Launch gaps do not matter for such a long call.
    const bool is_long = problem.method == Method::direct && flops_of(problem) > 1e12;
    const int calls = smoke || is_long ? 1 : calls_in_a_row;
    core::Timeline timeline;
    const double seconds = measure(state, name, [&] {
        return seconds_on(gpu, timeline, calls,
                          [&](std::size_t) { correlation(input, device_sums.view()); });
    });
    state.counters["us/image"] = 1e6 * seconds / static_cast<double>(problem.images);
    if (problem.method == Method::direct) {
        const double gflops = 1e-9 * flops_of(problem) / seconds;
        state.counters["GFLOP/s"] = gflops;
        state.counters["%peak"] = percent_of_peak(gpu, problem.precision, gflops);
    }
    core::copy(gpu, std::as_const(device_sums).view(), sums.view());
    gpu.synchronize();
    if (!verifies(planes, problem, sums, tolerance(problem))) fail(state, "wrong sums");
}

void correlate(benchmark::State& state, const std::string& name, const Problem& problem) {
    const auto prepare = [](core::Gpu& gpu, const Problem& by) -> GpuCorrelation {
        const auto correlator = std::make_shared<corr::Correlator<core::Gpu>>(gpu, by);
        return [correlator](auto planes, auto sums) { correlator->run(planes, planes, sums); };
    };
    correlate_by(prepare, state, name, problem);
}

void ceiling(benchmark::State& state, const std::string& name, GpuUnit unit) {
    core::Gpu gpu;
    GpuCeiling work(gpu, unit);
    core::Timeline timeline;
    const double seconds = measure(state, name, [&] {
        return seconds_on(gpu, timeline, smoke ? 1 : calls_in_a_row,
                          [&](std::size_t) { work.run(); });
    });
    state.counters["GFLOP/s"] = 1e-9 * work.flops() / seconds;
}

/// Each time is the mean of several calls. Measures `iterations` times, or for a short while if it
/// is 0.
template <class Function, class Argument>
void add(const std::string& name, Function function, const Argument& argument, int iterations = 0) {
    auto* registered = benchmark::RegisterBenchmark(
        name.c_str(), [=](benchmark::State& state) { function(state, name, argument); });
    registered->UseManualTime()->Unit(benchmark::kMillisecond);
    if (smoke || iterations > 0) {
        registered->Iterations(smoke ? 1 : iterations);
    } else {
        registered->MinTime(0.02);
    }
}

void register_direct() {
    Problem problem = main_problem();
    problem.method = Method::direct;
    const auto with = [&](Precision precision) {
        Problem chosen = problem;
        chosen.precision = precision;
        return chosen;
    };
    add("gpu/direct/fp32/500", correlate, with(Precision::fp32));
    add("gpu/direct/tf32x3/500", correlate, with(Precision::tf32x3));
    add("gpu/direct/fp64/500", correlate, with(Precision::fp64));
    for (const SlowerKernel& kernel : slower_kernels()) {
        const auto by_kernel = [prepare = kernel.prepare](auto&&... arguments) {
            correlate_by(prepare, arguments...);
        };
        add(core::text("gpu/tile/", kernel.name), by_kernel, with(kernel.precision));
    }
}

void register_fft() {
    Problem problem = main_problem();
    problem.method = Method::fft;
    add("gpu/fft/one/500", correlate, problem);
    Problem both_signs = problem;
    both_signs.lags.both_signs = true;
    add("gpu/fft/both-signs/500", correlate, both_signs);
    // Creating and checking many images is slow; fixed iterations need it only once.
    problem.images = smoke ? 3 : 100;
    add("gpu/fft/batch100/500", correlate, problem, 10);
}

std::string grid_name(const char* method, index_t extent, index_t lags) {
    return core::text("gpu/grid/", method, '/', extent, '/', lags);
}

/// Calls body(extent, lags) for problems to which the choice of the method can be fitted.
template <class Body>
void for_grid(const Body& body) {
    for (const index_t extent : {64, 128, 256, 500, 1000, 2000}) {
        for (const index_t lags : std::set<index_t>{1, 8, 32, 128, extent / 2}) {
            if (lags <= extent) body(extent, lags);
        }
    }
}

void register_grid() {
    for_grid([](index_t extent, index_t lags) {
        Problem problem = square_problem(extent, lags);
        problem.method = Method::fft;
        add(grid_name("fft", extent, lags), correlate, problem);
        problem.method = Method::direct;
        // A call would take more than a second.
        if (flops_of(problem) > 3e13) return;
        add(grid_name("direct", extent, lags), correlate, problem);
    });
}

}  // namespace

void register_gpu() {
    if (!core::gpu_status().usable) return;
    add("gpu/ceiling/fma", ceiling, GpuUnit::fp32);
    add("gpu/ceiling/fma-fp64", ceiling, GpuUnit::fp64);
    add("gpu/ceiling/tf32", ceiling, GpuUnit::tf32);
    register_direct();
    register_fft();
    if (!smoke) register_grid();
}

void compare_gpu_methods() {
    for_grid([](index_t extent, index_t lags) {
        const auto direct = best_ms.find(grid_name("direct", extent, lags));
        const auto fft = best_ms.find(grid_name("fft", extent, lags));
        if (direct == best_ms.end() || fft == best_ms.end()) return;
        const double ratio = direct->second / fft->second;
        std::fprintf(stderr, "gpu %4ld /%4ld  direct %9.4f ms, fft %9.4f ms: %s, %.2f times\n",
                     static_cast<long>(extent), static_cast<long>(lags), direct->second,
                     fft->second, ratio < 1 ? "direct" : "fft", std::max(ratio, 1 / ratio));
    });
}

}  // namespace aperture::bench

#else

namespace aperture::bench {

void register_gpu() {}
void compare_gpu_methods() {}

}  // namespace aperture::bench

#endif
