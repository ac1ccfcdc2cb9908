// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Optical flow: solvers of the Horn-Schunck system compared with a plain OpenMP + SIMD sweep, their
// cost by image size, and whole estimations compared with OpenCV's; also on a GPU if there is one.
// Names end in the size, width x height, and the iterations. The bound of a sweep is 30 flops per
// pixel at the FMA peak of the same run, of other solvers 30 flops per pixel and work unit. Rates
// are those of the fastest iteration.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "aperture/core/timing.hpp"
#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/flow/words.hpp"
#include "bench/flow_peers.hpp"
#include "bench/flow_system.hpp"
#if APERTURE_CUDA
#include "bench/flow_off_chip.hpp"
#include "bench/gpu_ceilings.hpp"
#endif
#include "bench/plain_sweep.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using core::index_t;
using flow::Shape;
using flow::Solver;
using flow::SolverParameters;

constexpr double flops_per_pixel = 30;
constexpr double alpha = 4;

constexpr Shape rubber_whale{388, 584};
constexpr Shape vga{480, 640};
constexpr Shape full_hd{1080, 1920};

double pixels(Shape shape) {
    return static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
}

std::string size_text(Shape shape) { return core::text(shape.columns, 'x', shape.rows); }

Shape in_this_run(Shape shape) { return smoke ? Shape{41, 67} : shape; }

double bound_seconds(Shape shape, double work_units, double gflops) {
    return flops_per_pixel * pixels(shape) * work_units / (gflops * 1e9);
}

void report_work(benchmark::State& state, Solver solver, Shape shape, double work_units,
                 double seconds, double gflops) {
    state.counters["ns/pixel"] = seconds * 1e9 / pixels(shape);
    state.counters["work_units"] = work_units;
    // The others are limited by memory and by their reductions.
    if (solver == Solver::jacobi || solver == Solver::block2x2 || solver == Solver::redblack) {
        state.counters["%bound"] = 100 * bound_seconds(shape, work_units, gflops) / seconds;
    }
}

double residual(core::Cpu& cpu, const FlowSystem& system, const core::Array<float, 3>& flow) {
    const flow::ResidualNorms norms = flow::residual_norms(cpu, system.system(), flow);
    return norms.residual / norms.right;
}

core::Array<float, 3> zero_flow(Shape shape) {
    core::Array<float, 3> flow({2, shape.rows, shape.columns});
    std::fill(flow.begin(), flow.end(), 0.0F);
    return flow;
}

void verify_residual(benchmark::State& state, double found, double wanted) {
    state.counters["residual"] = found;
    if (!(found <= wanted)) {
        fail(state, core::text("relative residual ", found, ", expected ", wanted, " at most"));
    }
}

/// The system of a textured pair; the last one is cached, since several benchmarks share it.
const FlowSystem& system_of(core::Cpu& cpu, Shape shape) {
    static std::optional<FlowSystem> kept;
    if (!kept || kept->shape() != shape) {
        const FlowPair pair = textured_pair(cpu, shape);
        kept.emplace(cpu, pair.image0, pair.image1, alpha);
    }
    return *kept;
}

const FlowPair& pair_of(core::Cpu& cpu, Shape shape) {
    static FlowPair kept;
    const auto [rows, columns] = kept.image0.extent();
    if (Shape{rows, columns} != shape) kept = textured_pair(cpu, shape);
    return kept;
}

void plain(benchmark::State& state, const std::string& name, Shape shape, int iterations) {
    core::Cpu cpu;
    const FlowSystem& system = system_of(cpu, shape);
    PlainSweep sweep(system.system(), cpu.threads());
    core::Array<float, 3> flow = zero_flow(shape);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        sweep.run(iterations, flow);
        return watch.seconds();
    });
    report_work(state, Solver::block2x2, shape, iterations, best,
                fma_peak_gflops<float>(cpu.threads()));
    SolverParameters same;
    same.solver = Solver::block2x2;
    same.iterations = iterations;
    core::Array<float, 3> wanted = zero_flow(shape);
    flow::SystemSolver<core::Cpu>(cpu, shape, same).solve(system.system(), wanted);
    verify_residual(state, residual(cpu, system, flow),
                    1.05 * residual(cpu, system, wanted) + 1e-5);
}

/// Maximum residual relative to the start after this work; generous, for any size.
double expected_residual(const SolverParameters& p) {
    switch (p.solver) {
        case Solver::multigrid:
            return 0.05;
        case Solver::jacobi:
            return 0.9;
        default:
            return 0.3;
    }
}

void solver(benchmark::State& state, const std::string& name, Shape shape,
            const SolverParameters& parameters) {
    core::Cpu cpu;
    const FlowSystem& system = system_of(cpu, shape);
    flow::SystemSolver<core::Cpu> solver(cpu, shape, parameters);
    core::Array<float, 3> flow = zero_flow(shape);
    flow::SolveResult result;
    const double best = measure(state, name, [&] {
        std::fill(flow.begin(), flow.end(), 0.0F);
        const core::Stopwatch watch;
        result = solver.solve(system.system(), flow);
        return watch.seconds();
    });
    report_work(state, parameters.solver, shape, result.work_units, best,
                fma_peak_gflops<float>(cpu.threads()));
    verify_residual(state, residual(cpu, system, flow), expected_residual(parameters));
}

void verify_flow(benchmark::State& state, core::Cpu& cpu, const core::Array<float, 3>& flow,
                 const FlowPair& pair, std::optional<double> limit) {
    const flow::Accuracy accuracy = flow::compare(cpu, flow, pair.truth);
    state.counters["epe"] = accuracy.epe;
    state.counters["aae"] = accuracy.aae;
    // On the tiny image of a smoke run most content leaves the image.
    if (limit && !smoke && !(accuracy.epe <= *limit)) {
        fail(state, core::text("end-point error of ", accuracy.epe, " pixels"));
    }
}

void estimator(benchmark::State& state, const std::string& name, Shape shape, flow::Preset preset,
               flow::Method method) {
    core::Cpu cpu;
    const FlowPair& pair = pair_of(cpu, shape);
    flow::Estimator<core::Cpu> estimator(cpu, shape, flow::preset(preset, method));
    core::Array<float, 3> flow = zero_flow(shape);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        estimator.run(pair.image0, pair.image1, flow, false, nullptr);
        return watch.seconds();
    });
    state.counters["ns/pixel"] = best * 1e9 / pixels(shape);
    state.counters["pairs/s"] = 1 / best;
    verify_flow(state, cpu, flow, pair, 0.5);
}

/// Third-party code, so no accuracy is required.
void peer(benchmark::State& state, const std::string& name, Shape shape, const FlowPeer& peer) {
    core::Cpu cpu;
    const FlowPair& pair = pair_of(cpu, shape);
    core::Array<float, 3> flow;
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        flow = peer.estimate(pair.image0, pair.image1);
        return watch.seconds();
    });
    state.counters["pairs/s"] = 1 / best;
    verify_flow(state, cpu, flow, pair, std::nullopt);
}

#if APERTURE_CUDA
template <class GpuSolver>
void gpu_solver(benchmark::State& state, const std::string& name, Shape shape,
                const SolverParameters& parameters) {
    core::Cpu cpu;
    core::Gpu gpu;
    const FlowSystem& system = system_of(cpu, shape);
    core::Array<float, 3, core::Device> terms(system.terms().extent());
    core::copy(gpu, system.terms().view(), terms.view());
    const auto on_device = system.over(std::as_const(terms).view());
    const core::Array<float, 3> zero = zero_flow(shape);
    const int calls = smoke ? 1 : calls_in_a_row;
    std::vector<core::Array<float, 3, core::Device>> flows;
    for (int i = 0; i < calls; ++i) flows.emplace_back(zero.extent());
    GpuSolver solver(gpu, shape, parameters);
    core::Timeline timeline;
    flow::SolveResult result;
    const double best = measure(state, name, [&] {
        for (auto& flow : flows) core::copy(gpu, zero.view(), flow.view());
        gpu.synchronize();
        return seconds_on(gpu, timeline, calls,
                          [&](std::size_t i) { result = solver.solve(on_device, flows[i]); });
    });
    report_work(state, parameters.solver, shape, result.work_units, best,
                gpu_peak_gflops(gpu, GpuUnit::fp32));
    core::Array<float, 3> found = zero_flow(shape);
    core::copy(gpu, std::as_const(flows.front()).view(), found.view());
    gpu.synchronize();
    core::Array<float, 3> wanted = zero_flow(shape);
    flow::SystemSolver<core::Cpu>(cpu, shape, parameters).solve(system.system(), wanted);
    // A basis near its limit amplifies rounding errors differently on a GPU.
    verify_residual(state, residual(cpu, system, found), 2 * residual(cpu, system, wanted) + 1e-5);
}

void gpu_estimator(benchmark::State& state, const std::string& name, Shape shape,
                   const flow::Parameters& parameters) {
    core::Cpu cpu;
    core::Gpu gpu;
    const FlowPair& pair = pair_of(cpu, shape);
    core::Array<float, 2, core::Device> image0(pair.image0.extent());
    core::Array<float, 2, core::Device> image1(pair.image1.extent());
    core::copy(gpu, pair.image0.view(), image0.view());
    core::copy(gpu, pair.image1.view(), image1.view());
    core::Array<float, 3, core::Device> flow(pair.truth.extent());
    flow::Estimator<core::Gpu> estimator(gpu, shape, parameters);
    core::Timeline timeline;
    const double best = measure(state, name, [&] {
        return seconds_on(gpu, timeline, smoke ? 1 : calls_in_a_row, [&](std::size_t) {
            estimator.run(std::as_const(image0).view(), std::as_const(image1).view(), flow.view(),
                          false, nullptr);
        });
    });
    state.counters["pairs/s"] = 1 / best;
    core::Array<float, 3> found = zero_flow(shape);
    core::copy(gpu, std::as_const(flow).view(), found.view());
    gpu.synchronize();
    verify_flow(state, cpu, found, pair, 0.5);
}
#endif

template <class Function, class... Arguments>
void add(const std::string& name, Function function, Shape shape, Arguments... arguments) {
    const auto run = [=](benchmark::State& state, const std::string& of) {
        function(state, of, in_this_run(shape), arguments...);
    };
    // On a GPU each time is the mean of several calls.
    add_measured(name, run, name.starts_with("gpu/") ? 0.02 : 0);
}

SolverParameters parameters_of(Solver which, int iterations) {
    SolverParameters p;
    p.solver = which;
    p.iterations = iterations;
    return p;
}

void register_solvers() {
    const auto name = [](const std::string& what, Shape shape, int iterations) {
        return core::text(what, '/', size_text(shape), 'x', iterations);
    };
    add(name("plain", rubber_whale, 400), plain, rubber_whale, 400);
    add(name("block2x2", rubber_whale, 400), solver, rubber_whale,
        parameters_of(Solver::block2x2, 400));
    for (const auto& choice : flow::solver_choices) {
        const bool multigrid = choice.value == Solver::multigrid;
        for (index_t extent = 256; extent <= (multigrid ? 4096 : 2048); extent *= 2) {
            const Shape shape{extent, extent};
            const int iterations = multigrid ? 1 : 100;
            add(name("solver/" + std::string(choice.name), shape, iterations), solver, shape,
                parameters_of(choice.value, iterations));
        }
    }
}

void register_estimators() {
    for (index_t extent = 256; extent <= 4096; extent *= 2) {
        const Shape shape{extent, extent};
        add("estimator/fast/" + size_text(shape), estimator, shape, flow::Preset::fast,
            flow::Method::horn_schunck);
    }
    for (const Shape shape : {rubber_whale, vga, full_hd}) {
        for (const auto& method : flow::method_choices) {
            for (const auto& preset : flow::preset_choices) {
                add(core::text("preset/", method.name, '-', preset.name, '/', size_text(shape)),
                    estimator, shape, preset.value, method.value);
            }
        }
        for (const FlowPeer& other : flow_peers(core::Cpu().threads())) {
            add("peer/" + other.name + '/' + size_text(shape), peer, shape, other);
        }
    }
}

#if APERTURE_CUDA
void register_gpu() {
    const auto name_of = [](const std::string& name, Shape shape, const SolverParameters& p) {
        return core::text("gpu/", name, '/', size_text(shape), 'x', p.iterations);
    };
    const core::Gpu gpu;
    const auto add_solver = [&](const std::string& name, Shape shape, const SolverParameters& p) {
        if (flow::solver_on(gpu, shape, p) != p.solver) return;
        add(name_of(name, shape, p), gpu_solver<flow::SystemSolver<core::Gpu>>, shape, p);
    };
    const auto add_off_chip = [&](Solver which, Shape shape, int iterations) {
        const SolverParameters p = parameters_of(which, iterations);
        const auto what = core::choice_name(flow::solver_choices, which);
        add(name_of("off-chip/" + std::string(what), shape, p), gpu_solver<OffChipSolver>, shape,
            p);
    };
    add_off_chip(Solver::block2x2, rubber_whale, 400);
    add_off_chip(Solver::cg, rubber_whale, 100);
    for (const Solver which : {Solver::block2x2, Solver::jacobi, Solver::redblack, Solver::cacg}) {
        add_off_chip(which, vga, 100);
    }
    add_off_chip(Solver::cacg, full_hd, 100);
    for (const auto& implementation : flow::implementation_choices) {
        const std::string prefix = std::string(implementation.name) + '/';
        const auto as_chosen = [&](SolverParameters p) {
            p.implementation = implementation.value;
            return p;
        };
        const auto sweeps = [&](int n) { return as_chosen(parameters_of(Solver::block2x2, n)); };
        add_solver(prefix + "block2x2", rubber_whale, sweeps(400));
        add_solver(prefix + "block2x2", vga, sweeps(100));
        add_solver(prefix + "block2x2", full_hd, sweeps(100));
        add_solver(prefix + "cg", rubber_whale, as_chosen(parameters_of(Solver::cg, 100)));
        for (const auto& choice : flow::solver_choices) {
            if (choice.value == Solver::block2x2) continue;
            const int iterations = choice.value == Solver::multigrid ? 1 : 100;
            for (const Shape shape : {vga, full_hd}) {
                add_solver(prefix + std::string(choice.name), shape,
                           as_chosen(parameters_of(choice.value, iterations)));
            }
        }
        for (const auto& preset : flow::preset_choices) {
            flow::Parameters parameters = flow::preset(preset.value, flow::Method::horn_schunck);
            parameters.solver = as_chosen(parameters.solver);
            for (const Shape shape : {vga, full_hd}) {
                add(core::text("gpu/", prefix, "estimator/", preset.name, '/', size_text(shape)),
                    gpu_estimator, shape, parameters);
            }
        }
    }
    for (const Shape shape : {vga, rubber_whale}) {
        for (const auto& basis : flow::basis_choices) {
            for (const int s : {1, 2, 3, 4, 5, 6, 8}) {
                // Longer monomial bases are linearly dependent in floats.
                if (basis.value == flow::Basis::monomial && s > 4) continue;
                SolverParameters p = parameters_of(Solver::cacg, 100);
                p.basis = basis.value;
                p.s_step = s;
                add_solver(core::text("cacg-", basis.name, "-s", s), shape, p);
            }
        }
    }
}
#endif

/// Prints the speedup of `kind` over `peer` at the same size.
void print_ratios(const std::string& kind, const std::string& peer) {
    for (const auto& [name, ms] : best_ms) {
        const auto other = best_ms.find(peer + name.substr(name.rfind('/')));
        if (!name.starts_with(kind) || other == best_ms.end()) continue;
        std::fprintf(stderr, "%-36s %9.3f ms, %7.2f times %s (%.3f ms)\n", name.c_str(), ms,
                     other->second / ms, other->first.c_str(), other->second);
    }
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture;
    const int status = bench::run_program(argc, argv, [] {
        const std::string missing = bench::missing_flow_peers();
        if (!missing.empty()) benchmark::AddCustomContext("left out", missing);
        bench::register_solvers();
        bench::register_estimators();
#if APERTURE_CUDA
        if (core::gpu_status().usable) bench::register_gpu();
#endif
    });
    bench::print_ratios("block2x2", "plain");
    bench::print_ratios("gpu/fused/block2x2", "gpu/staged/block2x2");
    for (const std::string what : {"block2x2", "cg", "jacobi", "redblack"}) {
        bench::print_ratios("gpu/fused/" + what, "gpu/off-chip/" + what);
    }
    for (const std::string what : {"gpu/cacg", "gpu/off-chip/cacg"}) {
        bench::print_ratios(what, "gpu/fused/cg");
    }
    for (const auto* peer : {"peer/DIS-medium", "peer/DeepFlow"}) {
        bench::print_ratios("preset/", peer);
    }
    return status;
}
