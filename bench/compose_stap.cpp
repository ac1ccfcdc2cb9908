// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/compose_stap.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "aperture/compose_operations/stap.hpp"
#include "aperture/core/resident.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using core::index_t;
using stap::cfloat;

template <int rank>
core::Array<cfloat, rank> noise(core::Extents<rank> extents, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    core::Array<cfloat, rank> numbers(extents);
    for (cfloat& number : numbers) number = {normal(generator), normal(generator)};
    return numbers;
}

stap::Problem problem_of(const std::string& size, stap::Implementation implementation) {
    const stap::PerfectSize of = stap::perfect_size(size);
    stap::Parameters parameters;
    parameters.training_block = of.training_block;
    parameters.temporal_taps = of.temporal_taps;
    parameters.loading = {0.01, false};
    parameters.implementation = implementation;
    parameters.precision = stap::Precision::fp32;
    const index_t bins = smoke ? 4 : of.doppler_bins;
    const index_t cells = smoke ? 2 * of.training_block : of.shape.range_cells;
    return stap::make_problem({of.shape.channels, bins, cells, stap::Domain::doppler}, parameters,
                              of.steering_vectors);
}

std::string program_text(const stap::Problem& p, StapForm form) {
    const index_t n = p.order, d = p.steering_vectors, block = p.parameters.training_block;
    const index_t problems = p.doppler_bins * p.training_sets;
    const std::string attributes =
        core::text("block = ", block, ", taps = ", p.parameters.temporal_taps);
    const std::string head = core::text(
        "program stap { input cube: array c64[", p.shape.channels, ", ", p.doppler_bins, ", ",
        p.shape.range_cells, "]; input steering: array c64[", d, ", ", n,
        "]; local covariance: batch c64[", problems, ", ", n, ", ", n,
        "]; local weights: batch c64[", problems, ", ", d, ", ", n, "]; local result: array c64[",
        d, ", ", p.doppler_bins, ", ", p.shape.range_cells, "];");
    if (form == StapForm::one_pass) {
        return head + core::text("result = adapt_cube<", attributes,
                                 ", loading = 0.01>(cube, steering); return result; }");
    }
    if (form == StapForm::stages) {
        return head + core::text("covariance = estimate_covariance<", attributes,
                                 ", loading = 0.01>(cube);"
                                 "weights = solve_weights(covariance, steering);"
                                 "result = apply_weights<",
                                 attributes, ">(cube, steering, weights); return result; }");
    }
    return head + core::text("local snapshots: batch c64[", problems, ", ", n, ", ", block,
                             "]; local gamma: array f32[", problems, ", ", d,
                             "]; snapshots = extract_snapshots<", attributes,
                             ">(cube);"
                             "covariance = outer_products<loading = 0.01>(snapshots);"
                             "weights = solve_weights(covariance, steering);"
                             "gamma = gamma_weights(weights, steering);"
                             "result = inner_products<bins = ",
                             p.doppler_bins, ", cells = ", p.shape.range_cells,
                             ">(snapshots, weights, gamma); return result; }");
}

double snr_db(const core::Array<cfloat, 3>& wanted, const core::Array<cfloat, 3>& found) {
    double signal = 0, error = 0;
    for (index_t i = 0; i < wanted.size(); ++i) {
        const std::complex<double> a(wanted.data()[i]), b(found.data()[i]);
        signal += std::norm(a);
        error += std::norm(a - b);
    }
    return 10 * std::log10(signal / std::max(error, 1e-30 * signal));
}

/// The library's pipeline, or the program if there is a text, on an executor.
template <class Executor>
class Run {
  public:
    using Space = typename Executor::Space;

    explicit Run(const stap::Problem& problem)
        : problem_(problem),
          steering_(noise<2>({problem.steering_vectors, problem.order}, 2)),
          cube_(core::to_executor(executor_, noise<3>({problem.shape.channels, problem.doppler_bins,
                                                       problem.shape.range_cells},
                                                      1))),
          steering_there_(
              core::to_executor(executor_, noise<2>({problem.steering_vectors, problem.order}, 2))),
          output_({problem.steering_vectors, problem.doppler_bins, problem.shape.range_cells}) {}

    double seconds_of_program(const std::string& text, int calls) {
        if (!program_) {
            compose::Registry registry;
            compose::add_stap(registry);
            program_.emplace(
                executor_, compose::plan(compose::parse(text), registry, compose::Fusion::thesis));
        }
        const auto argument = [](auto& numbers) {
            const auto extent = numbers.extent();
            std::vector<index_t> extents;
            for (index_t d = 0; d < index_t(sizeof(extent) / sizeof(index_t)); ++d) {
                extents.push_back(extent[d]);
            }
            return compose::argument(numbers.data(), extents);
        };
        const compose::Arguments arguments{{"cube", argument(cube_)},
                                           {"steering", argument(steering_there_)}};
        const std::vector results{argument(output_)};
        return seconds(calls, [&] { program_->run(executor_, arguments, results); });
    }
    double seconds_of_pipeline(int calls) {
        if (!pipeline_) {
            pipeline_.emplace(executor_, problem_, steering_);
            info_ = core::Array<int, 2, Space>({problem_.doppler_bins, problem_.training_sets});
            pivot_ratio_ = core::Array<float, 2, Space>(info_.extent());
        }
        stap::Results<Space> results;
        results.output = output_;
        results.info = info_;
        results.pivot_ratio = pivot_ratio_;
        return seconds(calls,
                       [&] { pipeline_->run(std::as_const(cube_).view(), results, nullptr); });
    }
    core::Array<cfloat, 3> output() {
        core::Array<cfloat, 3> host(output_.extent());
        if constexpr (core::is_gpu<Executor>) {
            core::copy(executor_, std::as_const(output_).view(), host.view());
            executor_.synchronize();
        } else {
            std::copy(output_.begin(), output_.end(), host.begin());
        }
        return host;
    }

  private:
    template <class Call>
    double seconds(int calls, const Call& call) {
        synchronize();
        const core::Stopwatch watch;
        for (int i = 0; i < calls; ++i) call();
        synchronize();
        return watch.seconds() / calls;
    }
    void synchronize() {
        if constexpr (core::is_gpu<Executor>) executor_.synchronize();
    }

    Executor executor_;
    stap::Problem problem_;
    core::Array<cfloat, 2> steering_;
    core::Array<cfloat, 3, Space> cube_;
    core::Array<cfloat, 2, Space> steering_there_;
    core::Array<cfloat, 3, Space> output_;
    std::optional<compose::Executable<Executor>> program_;
    std::optional<stap::Pipeline<Executor>> pipeline_;
    core::Array<int, 2, Space> info_;
    core::Array<float, 2, Space> pivot_ratio_;
};

template <class Executor>
constexpr int calls_in_a_measurement = core::is_gpu<Executor> ? 16 : 1;

template <class Executor>
void pipeline(benchmark::State& state, const std::string& name, const std::string& size,
              stap::Implementation implementation) {
    Run<Executor> run(problem_of(size, implementation));
    measure(state, name, [&] { return run.seconds_of_pipeline(calls_in_a_measurement<Executor>); });
}

template <class Executor>
void composed(benchmark::State& state, const std::string& name, const std::string& size,
              StapForm form) {
    const stap::Problem problem = problem_of(size, stap::Implementation::staged);
    const std::string text = program_text(problem, form);
    Run<Executor> run(problem);
    const double best = measure(state, name, [&] {
        return run.seconds_of_program(text, calls_in_a_measurement<Executor>);
    });
    const auto staged =
        best_ms.find(core::text(core::is_gpu<Executor> ? "gpu/" : "", "stap/staged/", size));
    if (staged != best_ms.end()) state.counters["of_staged"] = staged->second / (best * 1e3);
    Run<Executor> library(problem);
    library.seconds_of_pipeline(1);
    const double db = snr_db(library.output(), run.output());
    state.counters["snr_db"] = db;
    if (!(db > 80)) fail(state, core::text("the output agrees to ", db, " dB only"));
}

template <class Executor>
void register_on(const std::string& prefix) {
    for (const std::string size : {"small", "medium", "large"}) {
        const std::pair<const char*, stap::Implementation> implementations[] = {
            {"staged", stap::Implementation::staged}, {"fused", stap::Implementation::fused}};
        for (const auto& one : implementations) {
            add_measured(core::text(prefix, "stap/", one.first, "/", size),
                         [=](benchmark::State& state, const std::string& name) {
                             pipeline<Executor>(state, name, size, one.second);
                         });
        }
        const std::pair<const char*, StapForm> forms[] = {
            {"composed-one-pass", StapForm::one_pass},
            {"composed", StapForm::stages},
            {"composed-snapshots", StapForm::snapshots}};
        for (const auto& one : forms) {
            add_measured(core::text(prefix, "stap/", one.first, "/", size),
                         [=](benchmark::State& state, const std::string& name) {
                             composed<Executor>(state, name, size, one.second);
                         });
        }
    }
}

}  // namespace

std::string stap_program(const std::string& size, StapForm form) {
    return program_text(problem_of(size, stap::Implementation::staged), form);
}

void register_composed_stap() {
    register_on<core::Cpu>("");
#if APERTURE_CUDA
    if (core::gpu_status().usable) register_on<core::Gpu>("gpu/");
#endif
}

}  // namespace aperture::bench
