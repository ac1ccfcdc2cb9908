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

constexpr index_t vectors_of_pass = 32;

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

/// All steering vectors in one pipeline.
template <class Executor>
RunTimes run_at_once(Executor& executor, const stap::Problem& problem, SteeringView steering,
                     stap::CubeView<Host> cube, ResultArrays& results, int repeat,
                     Console& console) {
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

/// Copies the results of the vectors from `first` on.
void copy_pass(const ResultArrays& pass, index_t first, ResultArrays& all) {
    const auto copy_block = [&](const auto& from, auto& to) {
        const index_t block = from.size() / from.extent()[0];
        std::copy(from.begin(), from.end(), to.begin() + first * block);
    };
    copy_block(pass.output, all.output);
    if (pass.statistic.size() > 0) copy_block(pass.statistic, all.statistic);
    const auto [bins, sets, vectors, order] = pass.weights.extent();
    for (index_t matrix = 0; matrix < bins * sets; ++matrix) {
        const cfloat* const from = pass.weights.data() + matrix * vectors * order;
        std::copy_n(from, vectors * order,
                    all.weights.data() + (matrix * all.weights.extent()[2] + first) * order);
    }
    // What does not depend on the vectors is the same in every pass.
    const auto copy_all = [](const auto& from, auto& to) {
        std::copy(from.begin(), from.end(), to.begin());
    };
    copy_all(pass.info, all.info);
    copy_all(pass.pivot_ratio, all.pivot_ratio);
    copy_all(pass.attempt, all.attempt);
    copy_all(pass.covariance, all.covariance);
}

void add_times(RunTimes& sum, const RunTimes& times) {
    if (sum.stages.empty()) {
        sum = times;
        return;
    }
    sum.compute_ms += times.compute_ms;
    sum.transfer_ms += times.transfer_ms;
    for (std::size_t s = 0; s < sum.stages.size(); ++s) {
        sum.stages[s].ms += times.stages[s].ms;
        sum.stages[s].gflop += times.stages[s].gflop;
        sum.stages[s].mb += times.stages[s].mb;
    }
}

}  // namespace

template <class Executor>
RunTimes run_on(Executor& executor, const Configuration& setup, stap::CubeView<Host> cube,
                ResultArrays& results, int repeat, Console& console) {
    const index_t vectors = setup.problem.steering_vectors;
    const index_t order = setup.problem.order;
    if (vectors <= stap::max_vectors_of_run) {
        return run_at_once(executor, setup.problem, setup.steering, cube, results, repeat, console);
    }
    const SavedResults wanted{.covariance = results.covariance.size() > 0,
                              .weights = results.weights.size() > 0};
    // Passes of nearly equal size: kernels are compiled for each size.
    const index_t passes = (vectors + vectors_of_pass - 1) / vectors_of_pass;
    RunTimes sum;
    for (index_t p = 0; p < passes; ++p) {
        const index_t first = p * vectors / passes;
        stap::Problem part = setup.problem;
        part.steering_vectors = static_cast<int>((p + 1) * vectors / passes - first);
        ResultArrays pass(part, wanted);
        const SteeringView steering(setup.steering.data() + first * order,
                                    {part.steering_vectors, order});
        add_times(sum, run_at_once(executor, part, steering, cube, pass, repeat, console));
        copy_pass(pass, first, results);
    }
    return sum;
}

template RunTimes run_on(core::Cpu&, const Configuration&, stap::CubeView<Host>, ResultArrays&, int,
                         Console&);
#if APERTURE_CUDA
template RunTimes run_on(core::Gpu&, const Configuration&, stap::CubeView<Host>, ResultArrays&, int,
                         Console&);
#endif

}  // namespace aperture::apps
