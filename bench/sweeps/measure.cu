// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/sweeps/gaussian.cuh"
#include "bench/sweeps/joint_histogram.cuh"
#include "bench/sweeps/measure.hpp"
#include "bench/sweeps/network.cuh"
#include "bench/sweeps/shortest_paths.cuh"
#include "bench/sweeps/sweep.cuh"

namespace aperture::bench {
namespace {

constexpr index_t checked_tasks[] = {0, tasks_at_once - 1};

template <class Output>
double error_of(const core::Array<Output, 2>& outputs,
                const std::vector<std::vector<double>>& expected) {
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Output* its = &outputs(checked_tasks[i], 0);
        for (const double value : expected[i]) {
            largest = std::max(largest, std::abs(value));
            const double difference = std::abs(static_cast<double>(*its++) - value);
            if (!(difference <= worst)) worst = difference;
        }
    }
    return worst / largest;
}

template <template <class> class Program, class Problem>
std::vector<SchemeTimes> measure(core::Gpu& gpu, const Problem& problem, int repetitions) {
    Program<core::Gpu> program(gpu, problem);
    Sweep<Program<core::Gpu>, core::Gpu> sweep(gpu, program, problem.inputs);
    std::vector<std::vector<double>> expected;
    for (const index_t task : checked_tasks) expected.push_back(problem.expected(task));
    core::Timeline timeline;
    const auto time_scheme = [&](const char* name, auto run) {
        SchemeTimes times{name, std::numeric_limits<double>::infinity(), {}, 0};
        times.error = error_of(run(nullptr), expected);
        for (int i = 0; i < repetitions; ++i) {
            const core::Stopwatch watch;
            run(nullptr);
            times.ms = std::min(times.ms, watch.ms());
        }
        double least = std::numeric_limits<double>::infinity();
        for (int i = 0; i < repetitions; ++i) {
            timeline.begin_run();
            run(&timeline);
            std::vector<core::Stage> stages = timeline.stages();
            double sum = 0;
            for (const core::Stage& stage : stages) sum += stage.ms;
            if (sum >= least) continue;
            least = sum;
            times.stages = std::move(stages);
        }
        return times;
    };
    using Timed = core::Timeline*;
    return {time_scheme(
                "naive", [&](Timed on) -> const auto& { return sweep.one_by_one(on); }),
            time_scheme(
                "interleaved", [&](Timed on) -> const auto& { return sweep.all_at_once(on); })};
}

}  // namespace

std::vector<SchemeTimes> measure_sweep(core::Gpu& gpu, SweepProgram program, index_t size,
                                       int repetitions) {
    const core::Pages pages = core::Pages::locked;
    switch (program) {
        case SweepProgram::network:
            return measure<NetworkSweep>(gpu, NetworkProblem(pages), repetitions);
        case SweepProgram::shortest_paths:
            return measure<PathSweep>(gpu, PathProblem(size, pages), repetitions);
        case SweepProgram::joint_histogram:
            return measure<HistogramSweep>(gpu, HistogramProblem(size, pages), repetitions);
        case SweepProgram::gaussian:
            break;
    }
    return measure<GaussianSweep>(gpu, GaussianProblem(size, pages), repetitions);
}

}  // namespace aperture::bench
