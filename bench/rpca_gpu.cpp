// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/rpca_gpu.hpp"

#if APERTURE_CUDA
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/camera.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/masks.hpp"
#include "bench/program.hpp"
#include "bench/rpca_problem.hpp"
#include "bench/rpca_stages.hpp"

namespace aperture::bench {
namespace {

/// GFLOP of each iteration's product with P and triangle of the Gram matrix.
double gflop_of_iteration(const Size& size) {
    const auto m = static_cast<double>(size.values);
    const auto n = static_cast<double>(size.frames);
    return (2 * m * n * n + m * n * n) * 1e-9;
}

using core::Array;

template <class T>
void run_on_gpu(benchmark::State& state, Size size, double tolerance, const std::string& name,
                rpca::Svd svd = rpca::Svd::gram, rpca::Solver solver = rpca::Solver::ialm) {
    core::Gpu gpu;
    const Array<float, 2> m = video(size);
    Array<T, 2> converted(m.extent());
    std::copy(m.begin(), m.end(), converted.begin());
    Array<T, 2, core::Device> frames(m.extent());
    Array<T, 2, core::Device> low_rank(m.extent());
    Array<T, 2, core::Device> sparse(m.extent());
    core::copy<T, 2, core::Strided>(gpu, std::as_const(converted).view(), frames.view());
    rpca::Parameters parameters;
    parameters.tolerance = tolerance;
    parameters.svd = svd;
    parameters.solver = solver;
    if (tolerance < 1e-8) parameters.max_iterations = iterations;
    rpca::RobustPca<T, core::Gpu> pca(gpu, size.frames, size.values, parameters);
    rpca::Outcome outcome;
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        outcome = pca.run(std::as_const(frames).view(), low_rank.view(), sparse.view());
        return watch.seconds();
    });
    state.counters["iterations"] = outcome.iterations;
    state.counters["iterations/s"] = outcome.iterations / best;
    if (solver == rpca::Solver::ialm) {
        const double gflops = gflop_of_iteration(size) * outcome.iterations / best;
        const GpuUnit unit = sizeof(T) == sizeof(float) ? GpuUnit::fp32 : GpuUnit::fp64;
        state.counters["GFLOP/s"] = gflops;
        state.counters["%peak"] = 100 * gflops / gpu_peak_gflops(gpu, unit);
    }
    state.counters["rank"] = outcome.rank;
    state.counters["residual"] = outcome.residual;
    const auto fetch = [&](const Array<T, 2, core::Device>& from) {
        core::copy<T, 2, core::Strided>(gpu, from.view(), converted.view());
        gpu.synchronize();
        Array<float, 2> fetched(m.extent());
        std::transform(converted.begin(), converted.end(), fetched.begin(),
                       [](T value) { return static_cast<float>(value); });
        return fetched;
    };
    if (!(residual_of(m, fetch(low_rank), fetch(sparse)) <= worst_residual)) {
        fail(state, "L + S is not M");
    }
}

void run_stages(benchmark::State& state, Size size, bool by_cusolver, const std::string& name) {
    core::Gpu gpu;
    const Array<float, 2> frames = video(size);
    StageTimes times;
    measure(state, name, [&] {
        times = time_stages(gpu, frames, iterations, by_cusolver);
        return times.spectrum + times.factor + times.pass;
    });
    state.counters["spectrum_us"] = 1e6 * times.spectrum;
    state.counters["factor_us"] = 1e6 * times.factor;
    state.counters["pass_us"] = 1e6 * times.pass;
}

}  // namespace

void register_gpu() {
    if (!core::gpu_status().usable) return;
    const std::vector<Size> sizes =
        smoke ? std::vector<Size>{{900, 12}}
              : std::vector<Size>{{110592, 100}, {76800, 100}, {110592, 50}, {110592, 200}};
    for (const Size& size : sizes) {
        const std::string of_size = name_of(size);
        const auto add = [&](const std::string& kind, auto function) {
            add_measured("gpu/" + kind + "/" + of_size, function);
        };
        add("ialm", [size](benchmark::State& state, const std::string& name) {
            run_on_gpu<float>(state, size, 1e-9, name);
        });
        add("to_1e-5", [size](benchmark::State& state, const std::string& name) {
            run_on_gpu<float>(state, size, 1e-5, name);
        });
        add("to_1e-5_by_accaltproj", [size](benchmark::State& state, const std::string& name) {
            run_on_gpu<float>(state, size, 1e-5, name, rpca::Svd::gram, rpca::Solver::accaltproj);
        });
        add("fp64", [size](benchmark::State& state, const std::string& name) {
            run_on_gpu<double>(state, size, 1e-9, name);
        });
        for (const auto& [svd, of_svd] :
             {std::pair{rpca::Svd::tsqr, "tsqr"}, {rpca::Svd::cholqr2, "cholqr2"}}) {
            add(std::string("ialm_by_") + of_svd,
                [size, chosen = svd](benchmark::State& state, const std::string& name) {
                    run_on_gpu<float>(state, size, 1e-9, name, chosen);
                });
        }
        add("stages", [size](benchmark::State& state, const std::string& name) {
            run_stages(state, size, false, name);
        });
        add("stages_by_cusolver", [size](benchmark::State& state, const std::string& name) {
            run_stages(state, size, true, name);
        });
    }
    add_masks("gpu/", [] { return core::Gpu(); });
    add_camera("gpu/", [] { return core::Gpu(); });
}

}  // namespace aperture::bench

#else

namespace aperture::bench {

void register_gpu() {}

}  // namespace aperture::bench
#endif
