// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <string>

#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"
#include "bench/ceilings.hpp"

/// The common parts of all benchmark programs.
namespace aperture::bench {

/// Set by --smoke: uses tiny sizes, only to show that the program works.
inline bool smoke = false;
/// Set if a result fails its check.
inline bool wrong = false;

/// Marks the running benchmark and the program's exit status as failed.
inline void fail(benchmark::State& state, const std::string& why) {
    wrong = true;
    state.SkipWithError(why.c_str());
}

/// Minimum time of each benchmark in milliseconds.
inline std::map<std::string, double> best_ms;

/// Runs `body`, which returns its seconds; reports and returns the minimum.
template <class Body>
double measure(benchmark::State& state, const std::string& name, const Body& body) {
    body();
    double best = std::numeric_limits<double>::infinity();
    for (auto _ : state) {
        const double seconds = body();
        state.SetIterationTime(seconds);
        best = std::min(best, seconds);
    }
    best_ms[name] = best * 1e3;
    state.counters["best_ms"] = best * 1e3;
    return best;
}

/// Registers function(state, name), which times itself by `measure`, for `seconds` or, if they are
/// 0, for Google Benchmark's time.
template <class Function>
void add_measured(const std::string& name, const Function& function, double seconds = 0) {
    auto* registered = benchmark::RegisterBenchmark(
        name.c_str(), [name, function](benchmark::State& state) { function(state, name); });
    registered->UseManualTime()->Unit(benchmark::kMillisecond);
    if (smoke) {
        registered->Iterations(1);
    } else if (seconds > 0) {
        registered->MinTime(seconds);
    }
}

#if APERTURE_CUDA
/// Number of consecutive calls to time; events around a single call would also count the time
/// between launches.
inline constexpr int calls_in_a_row = 8;

/// Seconds per call of `call(0)`, `call(1)`, ...
template <class Call>
double seconds_on(core::Gpu& gpu, core::Timeline& timeline, int calls, const Call& call) {
    timeline.begin_run();
    {
        const auto scope = core::Timeline::stage(&timeline, gpu, "calls", 0, 0);
        for (int i = 0; i < calls; ++i) call(static_cast<std::size_t>(i));
    }
    return timeline.stages().front().ms * 1e-3 / calls;
}
#endif

/// Adds the kernels of the peers' OpenBLAS to the report. Warns of generic kernels, which OpenBLAS
/// uses for unknown processors and which run at half the speed, and of another BLAS, which may be
/// slower still.
inline void report_blas() {
#if APERTURE_LAPACK
    const auto core_name =
        reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    const std::string name = core_name == nullptr ? "none" : core_name();
    benchmark::AddCustomContext("OpenBLAS kernels", name);
    if (core_name == nullptr) {
        std::cerr << "warning: the BLAS here is not OpenBLAS; for a fair comparison install "
                     "libopenblas0-pthread\n";
    }
    for (const char* generic : {"Prescott", "Core2", "Generic", "generic", "unknown"}) {
        if (name != generic) continue;
        std::cerr << "warning: OpenBLAS runs its kernels for " << name
                  << " here, at half the speed; set OPENBLAS_CORETYPE (ZEN, HASWELL, COOPERLAKE) "
                     "for a fair comparison\n";
    }
#endif
}

/// Whether the arguments have a flag, which is taken from them.
inline bool take_flag(int& argc, char** argv, const char* flag) {
    const auto last = std::remove_if(argv + 1, argv + argc, [&](const char* argument) {
        return std::strcmp(argument, flag) == 0;
    });
    const bool found = last != argv + argc;
    argc = static_cast<int>(last - argv);
    return found;
}

/// Runs what `register_all` registers, with the machine and its ceilings in the report. Returns the
/// exit status.
template <class RegisterAll>
int run_program(int argc, char** argv, const RegisterAll& register_all) {
    smoke = take_flag(argc, argv, "--smoke");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    const core::Cpu cpu;
    benchmark::AddCustomContext("executor", cpu.name());
    benchmark::AddCustomContext("fp32 FMA peak, GFLOP/s",
                                std::to_string(fma_peak_gflops<float>(cpu.threads())));
    benchmark::AddCustomContext("copy bandwidth, GB/s",
                                std::to_string(copy_bandwidth_gbs(cpu.threads())));
    const core::GpuStatus gpu = core::gpu_status();
#if APERTURE_CUDA
    benchmark::AddCustomContext("gpu", gpu.usable ? core::Gpu().name() : gpu.reason);
#else
    benchmark::AddCustomContext("gpu", gpu.reason);
#endif
    report_blas();
    register_all();
    benchmark::RunSpecifiedBenchmarks();
    return wrong ? 1 : 0;
}

}  // namespace aperture::bench
