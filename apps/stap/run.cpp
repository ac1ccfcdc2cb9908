// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/run.hpp"

#include <algorithm>

#include "apps/common/resident.hpp"

namespace aperture::apps {

using core::Host;
using core::index_t;
using stap::cfloat;

ResultArrays::ResultArrays(const stap::Problem& problem, const SavedResults& wanted) {
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

namespace {

/// The results in the executor's memory.
template <class Executor>
struct ResidentResults {
    Resident<Executor, cfloat, 3> output;
    Resident<Executor, int, 2> info;
    Resident<Executor, float, 2> pivot_ratio;
    Resident<Executor, cfloat, 4> covariance;
    Resident<Executor, cfloat, 4> weights;
    Resident<Executor, float, 3> statistic;
    Resident<Executor, int, 2> attempt;

    ResidentResults(Executor& executor, ResultArrays& results)
        : output(executor, results.output),
          info(executor, results.info),
          pivot_ratio(executor, results.pivot_ratio),
          covariance(executor, results.covariance),
          weights(executor, results.weights),
          statistic(executor, results.statistic),
          attempt(executor, results.attempt) {}

    stap::Results<typename Executor::Space> views() {
        return {output.view(),  info.view(),      pivot_ratio.view(), covariance.view(),
                weights.view(), statistic.view(), attempt.view()};
    }
    void store() {
        output.store();
        info.store();
        pivot_ratio.store();
        covariance.store();
        weights.store();
        statistic.store();
        attempt.store();
    }
};

template <class... Arrays>
index_t bytes_of(const Arrays&... arrays) {
    return ((arrays.size() * static_cast<index_t>(sizeof(*arrays.data()))) + ...);
}

using SteeringView = core::View<const cfloat, 2, Host>;

/// Copies overlap computation here. Time outside the stages is time spent waiting for transfers.
template <class Executor>
RunTimes run_in_pieces(Executor& gpu, const stap::Problem& problem, SteeringView steering,
                       stap::CubeView<Host> cube, ResultArrays& results, int repeat,
                       Console& console) {
    console.note("the cube exceeds the GPU memory: streaming it in range pieces");
    core::Timeline timeline;
    return repeat_runs(repeat, console, [&]() -> RunTimes {
        timeline.begin_run();
        const core::Stopwatch watch;
        stap::run_streamed(gpu, problem, cube, steering, results.views(), 0, &timeline);
        const double wall_ms = watch.ms();
        const auto stages = timeline.stages();
        double compute_ms = 0;
        for (const auto& stage : stages) compute_ms += stage.ms;
        return {stages, compute_ms, std::max(0.0, wall_ms - compute_ms)};
    });
}

/// `load` copies the cube there.
template <class Executor, class Load>
RunTimes run_pipeline(Executor& executor, const Configuration& setup,
                      stap::CubeView<typename Executor::Space> cube, const Load& load,
                      ResultArrays& results, int repeat, Console& console) {
    stap::Pipeline<Executor> pipeline(executor, setup.problem, setup.steering);
    ResidentResults<Executor> resident(executor, results);
    core::Timeline timeline;
    return repeat_runs(repeat, console, [&] {
        return run_resident(
            executor, timeline, load, [&] { pipeline.run(cube, resident.views(), &timeline); },
            [&] { resident.store(); });
    });
}

}  // namespace

template <class Executor>
bool fits([[maybe_unused]] const Executor& executor, [[maybe_unused]] const stap::Problem& problem,
          [[maybe_unused]] stap::CubeView<Host> cube,
          [[maybe_unused]] const ResultArrays& results) {
    if constexpr (is_gpu<Executor>) {
        const index_t needed =
            stap::workspace_bytes(problem) + cube.size() * static_cast<index_t>(sizeof(cfloat)) +
            bytes_of(results.output, results.info, results.pivot_ratio, results.covariance,
                     results.weights, results.statistic, results.attempt);
        // A tenth is reserved for the libraries' own workspace.
        return static_cast<double>(needed) < 0.9 * static_cast<double>(executor.free_memory());
    }
    return true;
}

template <class Executor>
RunTimes run_on(Executor& executor, const Configuration& setup, stap::CubeView<Host> cube,
                ResultArrays& results, int repeat, Console& console) {
    if constexpr (is_gpu<Executor>) {
        if (!fits(executor, setup.problem, cube, results)) {
            return run_in_pieces(executor, setup.problem, setup.steering, cube, results, repeat,
                                 console);
        }
    }
    Resident<Executor, const cfloat, 3> resident(executor, cube);
    return run_pipeline(
        executor, setup, resident.view(), [&] { resident.load(cube); }, results, repeat, console);
}

template <class Executor>
RunTimes run_on_resident(Executor& executor, const Configuration& setup,
                         stap::CubeView<typename Executor::Space> cube, ResultArrays& results,
                         int repeat, Console& console) {
    return run_pipeline(
        executor, setup, cube, [] {}, results, repeat, console);
}

template RunTimes run_on(core::Cpu&, const Configuration&, stap::CubeView<Host>, ResultArrays&, int,
                         Console&);
template RunTimes run_on_resident(core::Cpu&, const Configuration&, stap::CubeView<Host>,
                                  ResultArrays&, int, Console&);
template bool fits(const core::Cpu&, const stap::Problem&, stap::CubeView<Host>,
                   const ResultArrays&);
#if APERTURE_CUDA
template RunTimes run_on(core::Gpu&, const Configuration&, stap::CubeView<Host>, ResultArrays&, int,
                         Console&);
template RunTimes run_on_resident(core::Gpu&, const Configuration&, stap::CubeView<core::Device>,
                                  ResultArrays&, int, Console&);
template bool fits(const core::Gpu&, const stap::Problem&, stap::CubeView<Host>,
                   const ResultArrays&);
#endif

}  // namespace aperture::apps
