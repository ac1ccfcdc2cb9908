// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/run.hpp"

#include <algorithm>

namespace aperture::apps {

using core::Host;
using core::index_t;
using stap::cfloat;

template <class Space>
ResultArrays<Space>::ResultArrays(const stap::Problem& problem, const SavedResults& wanted) {
    const index_t bins = problem.doppler_bins;
    const index_t sets = problem.training_sets;
    const index_t order = problem.order;
    const index_t vectors = problem.steering_vectors;
    const index_t cells = problem.shape.range_cells;
    output.reshape({vectors, bins, cells});
    info.reshape({bins, sets});
    pivot_ratio.reshape({bins, sets});
    attempt.reshape({bins, sets});
    if (wanted.covariance) covariance.reshape({bins, sets, order, order});
    if (wanted.weights) weights.reshape({bins, sets, vectors, order});
    if (problem.parameters.detector != stap::Detector::none) {
        statistic.reshape({vectors, bins, cells});
    }
}
template struct ResultArrays<Host>;

RunTimes run_on(core::Cpu& cpu, const Configuration& setup, stap::CubeView<Host> cube,
                ResultArrays<Host>& results, int repeat, Console& console) {
    stap::Pipeline<core::Cpu> pipeline(cpu, setup.problem, setup.steering);
    core::Timeline timeline;
    return repeat_runs(repeat, console, [&]() -> RunTimes {
        timeline.begin_run();
        const core::Stopwatch watch;
        pipeline.run(cube, results.views(), &timeline);
        const double compute_ms = watch.ms();
        return {timeline.stages(), compute_ms, 0};
    });
}

#if APERTURE_CUDA
namespace {

using core::Device;

template <class T, int Rank>
void copy_wanted(core::Gpu& gpu, const core::Array<T, Rank, Device>& from,
                 core::Array<T, Rank, Host>& to) {
    if (to.size() > 0) core::copy(gpu, from.view(), to.view());
}

RunTimes run_resident(core::Gpu& gpu, const Configuration& setup, stap::CubeView<Host> cube,
                      ResultArrays<Host>& results, int repeat, Console& console) {
    stap::Pipeline<core::Gpu> pipeline(gpu, setup.problem, setup.steering);
    core::Array<cfloat, 3, Device> device_cube(cube.extent);
    ResultArrays<Device> device_results(setup.problem, {.covariance = results.covariance.size() > 0,
                                                        .weights = results.weights.size() > 0});
    core::Timeline timeline;
    return repeat_runs(repeat, console, [&]() -> RunTimes {
        timeline.begin_run();
        core::Stopwatch watch;
        core::copy(gpu, cube, device_cube.view());
        gpu.synchronize();
        const double to_device_ms = watch.ms();
        watch.reset();
        pipeline.run(device_cube, device_results.views(), &timeline);
        gpu.synchronize();
        const double compute_ms = watch.ms();
        watch.reset();
        copy_wanted(gpu, device_results.output, results.output);
        copy_wanted(gpu, device_results.info, results.info);
        copy_wanted(gpu, device_results.pivot_ratio, results.pivot_ratio);
        copy_wanted(gpu, device_results.attempt, results.attempt);
        copy_wanted(gpu, device_results.covariance, results.covariance);
        copy_wanted(gpu, device_results.weights, results.weights);
        copy_wanted(gpu, device_results.statistic, results.statistic);
        gpu.synchronize();
        return {timeline.stages(), compute_ms, to_device_ms + watch.ms()};
    });
}

/// Copies overlap computation here: what the stages do not account for is transfer that was waited
/// for.
RunTimes run_in_chunks(core::Gpu& gpu, const Configuration& setup, stap::CubeView<Host> cube,
                       ResultArrays<Host>& results, int repeat, Console& console) {
    console.note("the cube does not fit the GPU: streaming it in range chunks");
    core::Timeline timeline;
    return repeat_runs(repeat, console, [&]() -> RunTimes {
        timeline.begin_run();
        const core::Stopwatch watch;
        stap::run_streamed(gpu, setup.problem, cube, setup.steering, results.views(), 0, &timeline);
        const double wall_ms = watch.ms();
        const auto stages = timeline.stages();
        double compute_ms = 0;
        for (const auto& stage : stages) compute_ms += stage.ms;
        return {stages, compute_ms, std::max(0.0, wall_ms - compute_ms)};
    });
}

}  // namespace

RunTimes run_on(core::Gpu& gpu, const Configuration& setup, stap::CubeView<Host> cube,
                ResultArrays<Host>& results, int repeat, Console& console) {
    // A tenth is left for the libraries' own workspace.
    const double room = 0.9 * static_cast<double>(gpu.free_memory());
    const bool fits = stap::resident_bytes(setup.problem, results.covariance.size() > 0,
                                           results.weights.size() > 0) < room;
    return (fits ? run_resident : run_in_chunks)(gpu, setup, cube, results, repeat, console);
}
#endif

}  // namespace aperture::apps
