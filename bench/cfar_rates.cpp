// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// False-alarm rates of CFAR detection by the whole pipeline in white cubes, on a GPU if there is
// one, against the requested rates; ends with 1 where one does not hold.
//   cfar_rates [--smoke]    --smoke: only a few cells
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/pipeline.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/cpu/random_normal.hpp"

namespace aperture::bench {
namespace {

using core::index_t;
using stap::cfloat;
using stap::Problem;
using stap::cpu::NormalStream;

bool smoke = false;

void run_pipeline(core::Cpu& cpu, const Problem& problem, const core::Array<cfloat, 3>& cube,
                  const core::Array<cfloat, 2>& steering,
                  const stap::Results<core::Host>& results) {
    stap::Pipeline<core::Cpu>(cpu, problem, steering).run(cube, results, nullptr);
}

#if APERTURE_CUDA
void run_pipeline(core::Gpu& gpu, const Problem& problem, const core::Array<cfloat, 3>& cube,
                  const core::Array<cfloat, 2>& steering,
                  const stap::Results<core::Host>& results) {
    stap::run_streamed(gpu, problem, cube, steering, results, 0, nullptr);
}
#endif

struct Check {
    stap::Training training;
    int order;
    int cells;
    int guard;
    index_t range;
};

constexpr std::array checked_pfa{1e-2, 1e-3, 1e-4};
constexpr int directions = 2;

/// The observed false-alarm rate over the requested one, in a white cube.
template <class Executor>
std::array<double, checked_pfa.size()> alarms(Executor& executor, core::Cpu& cpu,
                                              const Check& check, index_t bins,
                                              std::uint64_t seed) {
    stap::Parameters parameters;
    parameters.training = check.training;
    parameters.detector = stap::Detector::cfar;
    parameters.training_block = check.cells;
    parameters.guard = check.guard;
    parameters.temporal_taps = 1;
    const Problem problem = stap::make_problem(
        {check.order, bins, check.range, stap::Domain::doppler}, parameters, directions);
    core::Array<cfloat, 3> cube({check.order, bins, check.range});
    core::for_each_task(cpu, bins, 0, [&](index_t k, std::byte*) {
        NormalStream stream({seed, static_cast<std::uint64_t>(k)});
        for (index_t c = 0; c < check.order; ++c)
            for (index_t r = 0; r < check.range; ++r) cube(c, k, r) = cfloat(stream.normal());
    });
    // Columns of the discrete Fourier transform.
    core::Array<cfloat, 2> steering({directions, check.order});
    for (int d = 0; d < directions; ++d)
        for (int c = 0; c < check.order; ++c)
            steering(d, c) = cfloat(std::polar(1.0, 2 * std::numbers::pi * c * d / check.order));
    const core::Extents<2> sets{problem.doppler_bins, problem.training_sets};
    core::Array<cfloat, 3> output({directions, bins, check.range});
    core::Array<float, 3> statistic(output.extent());
    core::Array<int, 2> info(sets), attempt(sets);
    core::Array<float, 2> pivot_ratio(sets);
    run_pipeline(executor, problem, cube, steering,
                 {output, info, pivot_ratio, {}, {}, statistic, attempt});
    std::array<double, checked_pfa.size()> ratio{};
    for (std::size_t i = 0; i < checked_pfa.size(); ++i) {
        const std::vector<double> thresholds = stap::detection_thresholds(problem, checked_pfa[i]);
        index_t count = 0;
        for (index_t r = 0; r < check.range; ++r)
            for (index_t d = 0; d < directions; ++d)
                for (index_t k = 0; k < bins; ++k)
                    count += statistic(d, k, r) > thresholds[static_cast<std::size_t>(r)];
        ratio[i] =
            static_cast<double>(count) / (checked_pfa[i] * static_cast<double>(statistic.size()));
    }
    return ratio;
}

/// False if a rate differs from the requested one by more than 10 % plus two standard errors.
template <class Executor>
bool check_rates(Executor& executor, core::Cpu& cpu) {
    using enum stap::Training;
    constexpr std::array checks{Check{block, 4, 16, 0, 1600},    Check{block, 12, 24, 0, 2400},
                                Check{block, 10, 33, 3, 1650},   Check{block, 24, 64, 0, 1280},
                                Check{block, 6, 20, 12, 2000},   Check{sliding, 4, 16, 0, 1600},
                                Check{sliding, 12, 24, 0, 1600}, Check{sliding, 10, 33, 3, 1650},
                                Check{sliding, 24, 64, 4, 640},  Check{sliding, 3, 13, 2, 1600},
                                Check{sliding, 12, 64, 0, 160},  Check{sliding, 12, 24, 2, 60},
                                Check{sliding, 12, 24, 6, 90},   Check{sliding, 12, 24, 12, 100},
                                Check{sliding, 6, 20, 10, 120},  Check{sliding, 12, 64, 8, 200},
                                Check{block, 12, 24, 5, 100},    Check{all, 12, 24, 3, 60},
                                Check{sliding, 4, 16, 0, 17},    Check{sliding, 6, 24, 1, 36},
                                Check{all, 4, 16, 0, 800},       Check{all, 12, 24, 1, 40},
                                Check{all, 10, 33, 3, 80}};
    constexpr int seeds = 8;
    const double samples = smoke ? 1e4 : 2e7;  // per check, over all seeds
    bool all_hold = true;
    for (const Check& check : checks) {
        constexpr std::array names{"block", "sliding", "all"};
        std::printf("%-8s n %2d  N_R %2d  G %2d  N %4ld ",
                    names[static_cast<std::size_t>(check.training)], check.order, check.cells,
                    check.guard, long(check.range));
        const auto bins = static_cast<index_t>(
            std::max(1.0, samples / (directions * seeds * static_cast<double>(check.range))));
        std::vector<std::array<double, checked_pfa.size()>> ratios;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            ratios.push_back(alarms(executor, cpu, check, bins, seed));
        for (std::size_t i = 0; i < checked_pfa.size(); ++i) {
            double mean = 0;
            double squares = 0;
            for (const auto& ratio : ratios) mean += ratio[i] / seeds;
            for (const auto& ratio : ratios) squares += (ratio[i] - mean) * (ratio[i] - mean);
            const double error = std::sqrt(squares / (seeds * (seeds - 1)));
            const bool holds = std::abs(mean - 1) <= 0.1 + 2 * error;
            all_hold = all_hold && holds;
            std::printf("  %g: %.3f +- %.3f%s", checked_pfa[i], mean, error,
                        holds ? "" : " NOT HELD");
        }
        std::puts("");
        std::fflush(stdout);
    }
    return all_hold;
}

bool check_on_fastest(core::Cpu& cpu) {
#if APERTURE_CUDA
    if (core::gpu_status().usable) {
        core::Gpu gpu;
        return check_rates(gpu, cpu);
    }
#endif
    return check_rates(cpu, cpu);
}

int run(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--smoke") != 0) {
            throw core::InvalidArgument(core::text("unknown argument ", argv[i]));
        }
        smoke = true;
    }
    core::Cpu cpu;
    const bool held = check_on_fastest(cpu);
    // A smoke run has too few cells for rates.
    return held || smoke ? 0 : 1;
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    try {
        return aperture::bench::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cfar_rates: error: %s\n", error.what());
        return 1;
    }
}
