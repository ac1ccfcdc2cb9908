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

/// The cube and the results in the executor's memory.
template <class Executor>
struct ResidentArrays {
    Resident<Executor, const cfloat, 3> cube;
    Resident<Executor, cfloat, 3> output;
    Resident<Executor, int, 2> info;
    Resident<Executor, float, 2> pivot_ratio;
    Resident<Executor, cfloat, 4> covariance;
    Resident<Executor, cfloat, 4> weights;
    Resident<Executor, float, 3> statistic;
    Resident<Executor, int, 2> attempt;

    ResidentArrays(Executor& executor, stap::CubeView<Host> of_cube, ResultArrays& results)
        : cube(executor, of_cube),
          output(executor, results.output),
          info(executor, results.info),
          pivot_ratio(executor, results.pivot_ratio),
          covariance(executor, results.covariance),
          weights(executor, results.weights),
          statistic(executor, results.statistic),
          attempt(executor, results.attempt) {}

    stap::Results<typename Executor::Space> results() {
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

template <class Executor>
bool fits(const Executor& gpu, const stap::Problem& problem, stap::CubeView<Host> cube,
          const ResultArrays& results) {
    const index_t needed =
        stap::workspace_bytes(problem) + cube.size() * static_cast<index_t>(sizeof(cfloat)) +
        bytes_of(results.output, results.info, results.pivot_ratio, results.covariance,
                 results.weights, results.statistic, results.attempt);
    // A tenth is reserved for the libraries' own workspace.
    return static_cast<double>(needed) < 0.9 * static_cast<double>(gpu.free_memory());
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

}  // namespace

template <class Executor>
RunTimes run_on(Executor& executor, const Configuration& setup, stap::CubeView<Host> cube,
                ResultArrays& results, int repeat, Console& console) {
    const stap::Problem& problem = setup.problem;
    const SteeringView steering = setup.steering;
    if constexpr (is_gpu<Executor>) {
        if (!fits(executor, problem, cube, results)) {
            return run_in_pieces(executor, problem, steering, cube, results, repeat, console);
        }
    }
    stap::Pipeline<Executor> pipeline(executor, problem, steering);
    ResidentArrays<Executor> resident(executor, cube, results);
    core::Timeline timeline;
    const auto load = [&] { resident.cube.load(cube); };
    const auto compute = [&] { pipeline.run(resident.cube.view(), resident.results(), &timeline); };
    return repeat_runs(repeat, console, [&] {
        return run_resident(executor, timeline, load, compute, [&] { resident.store(); });
    });
}

template RunTimes run_on(core::Cpu&, const Configuration&, stap::CubeView<Host>, ResultArrays&, int,
                         Console&);
#if APERTURE_CUDA
template RunTimes run_on(core::Gpu&, const Configuration&, stap::CubeView<Host>, ResultArrays&, int,
                         Console&);
#endif

}  // namespace aperture::apps
