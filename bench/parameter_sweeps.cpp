// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0

// The four programs of Ino et al. 2013, section 5, for 32 values of their parameters: one after
// another, and interleaved. Named gpu/PROGRAM/SIZE, with a time of each scheme and of its stages in
// milliseconds. scripts/sweeps makes tables and figures of the report.

#include <string>
#include <vector>

#include "bench/program.hpp"
#include "bench/sweeps/measure.hpp"

namespace aperture::bench {
namespace {

/// Set by --quick: fewer sizes.
bool quick = false;

struct Points {
    const char* name;
    SweepProgram program;
    double tolerance;  ///< of the largest value
    std::vector<core::index_t> sizes;
    std::vector<core::index_t> few;
    std::vector<core::index_t> least;
};

void run(benchmark::State& state, const Points& points, core::index_t size) {
    core::Gpu gpu;
    while (state.KeepRunning()) {
        const int repetitions = smoke ? 1 : 10;
        double ms = 0;
        for (const SchemeTimes& scheme : measure_sweep(gpu, points.program, size, repetitions)) {
            state.counters[scheme.name] = ms = scheme.ms;
            for (const core::Stage& stage : scheme.stages) {
                state.counters[scheme.name + '/' + stage.name] = stage.ms;
            }
            if (!(scheme.error <= points.tolerance)) {
                return fail(state, scheme.name + ": the result is wrong");
            }
        }
        state.SetIterationTime(1e-3 * ms);
    }
}

void register_all() {
    if (!core::gpu_status().usable) return;
    // The sizes of the paper's figures 9 to 11. Its figure 8 is at 29, 32 K, 16 and 1024.
    const std::vector<Points> programs{{"network", SweepProgram::network, 1e-5, {29}, {29}, {29}},
                                       {"shortest_paths",
                                        SweepProgram::shortest_paths,
                                        0,
                                        {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                                         32768, 65536, 131072, 262144, 524288, 1048576, 2097152},
                                        {32, 256, 2048, 32768, 262144},
                                        {32}},
                                       {"joint_histogram",
                                        SweepProgram::joint_histogram,
                                        0,
                                        {1, 2, 4, 8, 16, 32, 41, 64},
                                        {1, 4, 16},
                                        {1}},
                                       {"gaussian",
                                        SweepProgram::gaussian,
                                        1e-6,
                                        {256, 512, 768, 1024, 1280, 1536, 1792, 2048},
                                        {256, 1024, 2048},
                                        {32}}};
    for (const Points& points : programs) {
        for (const core::index_t size : smoke ? points.least : quick ? points.few : points.sizes) {
            benchmark::RegisterBenchmark(
                core::text("gpu/", points.name, '/', size).c_str(),
                [points, size](benchmark::State& state) { run(state, points, size); })
                ->UseManualTime()
                ->Iterations(1)
                ->Unit(benchmark::kMillisecond);
        }
    }
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture::bench;
    quick = take_flag(argc, argv, "--quick");
    return run_program(argc, argv, register_all);
}
