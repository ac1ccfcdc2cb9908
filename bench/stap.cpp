// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Block-trained STAP on the sizes of the PERFECT suite, from Doppler cube to output: the library's
// fused and staged pipelines compared with Eigen as a competent engineer would use it (fixed
// orders, one problem per iteration of a parallel loop), and on a GPU if there is one. GFLOP/s
// count the minimum work of the stages (stap/parameters.hpp), whatever was executed; rates are
// those of the fastest iteration.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "aperture/stap/attempts.hpp"
#include "aperture/stap/pipeline.hpp"
#include "aperture/stap/simulation.hpp"
#include "aperture/stap/steering.hpp"
#include "bench/ceilings.hpp"
#if APERTURE_CUDA
#include "bench/gpu_ceilings.hpp"
#endif
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using core::index_t;
using stap::cfloat;
using Complex = std::complex<double>;
using Matrix = Eigen::MatrixXcd;

/// The pipeline and its input. Precision::automatic repeats no covariance of white noise, but most
/// of those of the PERFECT suite's cubes.
struct Way {
    stap::Implementation implementation = stap::Implementation::fused;
    stap::Precision precision = stap::Precision::fp32;
    bool noise = false;
};

core::Array<cfloat, 3> white_noise(core::Extents<3> extent) {
    core::Array<cfloat, 3> cube(extent);
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (cfloat& sample : cube) sample = {normal(random), normal(random)};
    return cube;
}

/// A size's Doppler cube and steering vectors, with memory for results.
struct Scene {
    stap::Problem problem;
    core::Array<cfloat, 3> cube;
    core::Array<cfloat, 2> steering;
    core::Array<cfloat, 3> output;
    core::Array<int, 2> info;
    core::Array<float, 2> pivot_ratio;
    core::Array<int, 2> attempt;
    core::Array<cfloat, 4> covariance, weights;

    Scene(core::Cpu& cpu, const std::string& name, Way way) {
        const stap::PerfectSize size = stap::perfect_size(name);
        stap::Parameters parameters;
        parameters.doppler_bins = smoke ? 8 : size.doppler_bins;
        parameters.training_block = size.training_block;
        parameters.temporal_taps = size.temporal_taps;
        parameters.implementation = way.implementation;
        parameters.precision = way.precision;
        stap::CubeShape shape = size.shape;
        if (smoke) {
            shape.pulses = 4;
            shape.range_cells = 2 * size.training_block;
        }
        const auto pulses_problem = stap::make_problem(shape, parameters, size.steering_vectors);
        const auto pulses = static_cast<int>(shape.pulses);
        cube = core::Array<cfloat, 3>({shape.channels, parameters.doppler_bins, shape.range_cells});
        stap::DopplerFilter<core::Cpu>(cpu, pulses_problem)
            .run(stap::perfect_cube(shape).view(), cube);
        if (way.noise) cube = white_noise(cube.extent());
        const auto response = stap::temporal_response(parameters.taper, pulses,
                                                      parameters.doppler_bins, size.temporal_taps);
        steering = stap::steering_vectors(static_cast<int>(shape.channels), 0.5,
                                          stap::default_azimuths(size.steering_vectors), response);
        shape.pulses = parameters.doppler_bins;
        shape.domain = stap::Domain::doppler;
        problem = stap::make_problem(shape, parameters, size.steering_vectors);
        const core::Extents<2> sets{problem.doppler_bins, problem.training_sets};
        output = core::Array<cfloat, 3>({size.steering_vectors, sets[0], shape.range_cells});
        info = core::Array<int, 2>(sets);
        pivot_ratio = core::Array<float, 2>(sets);
        attempt = core::Array<int, 2>(sets);
        std::fill(attempt.begin(), attempt.end(), stap::first_attempt);
    }

    stap::Results<core::Host> results() {
        stap::Results<core::Host> wanted;
        wanted.output = output;
        wanted.info = info;
        wanted.pivot_ratio = pivot_ratio;
        wanted.attempt = attempt;
        wanted.covariance = covariance;
        wanted.weights = weights;
        return wanted;
    }
    void want_everything() {
        const index_t n = problem.order;
        const index_t sets = problem.training_sets;
        covariance = core::Array<cfloat, 4>({problem.doppler_bins, sets, n, n});
        weights = core::Array<cfloat, 4>({problem.doppler_bins, sets, problem.steering_vectors, n});
    }
};

double snr_db(const Matrix& wanted, const Matrix& found) {
    const double error = (wanted - found).squaredNorm();
    if (std::isnan(error)) return -300;
    return error == 0 ? 300 : 10 * std::log10(wanted.squaredNorm() / error);
}

/// Snapshots of training set b in Doppler bin k, [n][N_R], for blocks that divide the range cells.
Matrix snapshots(const Scene& scene, index_t k, index_t b) {
    const stap::Problem& p = scene.problem;
    const index_t taps = p.parameters.temporal_taps;
    const index_t cells = p.parameters.training_block;
    Matrix s(p.order, cells);
    for (index_t i = 0; i < p.order; ++i) {
        const index_t bin = (k - (taps - 1) / 2 + i % taps + p.doppler_bins) % p.doppler_bins;
        for (index_t r = 0; r < cells; ++r) {
            s(i, r) = Complex(scene.cube(i / taps, bin, b * cells + r));
        }
    }
    return s;
}

/// Margins of one problem above its limits in dB: for each stage on its own input, and for the
/// whole chain on the cube.
struct Margins {
    double chain = 300;
    double covariance = 300;
    double weights = 300;
    double weighting = 300;

    double least() const { return std::min({chain, covariance, weights, weighting}); }
    void lower_to(const Margins& other) {
        chain = std::min(chain, other.chain);
        covariance = std::min(covariance, other.covariance);
        weights = std::min(weights, other.weights);
        weighting = std::min(weighting, other.weighting);
    }
};

Margins margins_db(Scene& scene, index_t k, index_t b) {
    const stap::Problem& p = scene.problem;
    const index_t cells = p.parameters.training_block;
    const index_t vectors = p.steering_vectors;
    const Matrix s = snapshots(scene, k, b);
    const Matrix r = s * s.adjoint() / double(cells);
    Matrix v(p.order, vectors), y(vectors, cells);
    for (index_t d = 0; d < vectors; ++d) {
        for (index_t i = 0; i < p.order; ++i) v(i, d) = Complex(scene.steering(d, i));
        for (index_t c = 0; c < cells; ++c) y(d, c) = Complex(scene.output(d, k, b * cells + c));
    }
    const auto weighted = [&](const Matrix& w) {
        Matrix out = w.adjoint() * s;
        for (index_t d = 0; d < vectors; ++d) out.row(d) /= std::abs(w.col(d).dot(v.col(d)));
        return out;
    };
    // If the weights cancel strong parts of the snapshots, the output is small against them. Its
    // error is therefore relative to ||w|| ||S||.
    const auto output_db = [&](const Matrix& weights) {
        double scale = 0;
        for (index_t d = 0; d < vectors; ++d) {
            scale += weights.col(d).squaredNorm() / std::norm(weights.col(d).dot(v.col(d)));
        }
        const double error = (weighted(weights) - y).squaredNorm();
        if (std::isnan(error)) return -300.0;
        return error == 0 ? 300 : 10 * std::log10(scale * s.squaredNorm() / error);
    };
    Margins margins;
    margins.chain = output_db(Eigen::LLT<Matrix>(r).solve(v)) - 75;
    if (scene.covariance.size() > 0) {
        Matrix found_r(p.order, p.order), found_w(p.order, vectors);
        for (index_t i = 0; i < p.order; ++i) {
            for (index_t j = 0; j < p.order; ++j) {
                found_r(i, j) = Complex(scene.covariance(k, b, i, j));
            }
            for (index_t d = 0; d < vectors; ++d) {
                found_w(i, d) = Complex(scene.weights(k, b, d, i));
            }
        }
        margins.covariance = snr_db(r, found_r) - 130;
        const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<Matrix>(found_r).eigenvalues();
        const double condition = values(p.order - 1) / values(0);
        margins.weights = snr_db(Eigen::LLT<Matrix>(found_r).solve(v), found_w) -
                          std::min(110.0, 150 - 20 * std::log10(condition));
        margins.weighting = output_db(found_w) - 125;
    }
    return margins;
}

void verify(benchmark::State& state, Scene& scene) {
    const stap::Problem& p = scene.problem;
    Margins least;
    const index_t problems = p.doppler_bins * p.training_sets;
    for (index_t i = 0; i < problems; i += std::max<index_t>(problems / 1021, 1)) {
        const index_t k = i / p.training_sets;
        const index_t b = i % p.training_sets;
        if (scene.info(k, b) != 0) return fail(state, "a covariance failed");
        least.lower_to(margins_db(scene, k, b));
    }
    state.counters["chain_dB"] = 75 + least.chain;
    state.counters["weights_margin_dB"] = least.weights;
    // The baseline's explicit inverse perturbs its weights more than a Cholesky factor does.
    if (p.parameters.implementation == stap::Implementation::cublas) {
        least.weights = std::max(least.weights, 0.0);
    }
    state.counters["margin_dB"] = least.least();
    const auto first = std::count(scene.attempt.begin(), scene.attempt.end(), stap::first_attempt);
    state.counters["repeated_%"] = 100 - 100 * double(first) / double(scene.attempt.size());
    if (least.least() >= 0) return;
    fail(state, core::text("accuracy below its bound, margins in dB: chain ", least.chain,
                           ", covariance ", least.covariance, ", weights ", least.weights,
                           ", weighting ", least.weighting));
}

/// Reports the fastest run of `body` against a bound.
template <class Body>
void measure_stap(benchmark::State& state, const std::string& name, const stap::Problem& problem,
                  double bound_seconds, const Body& body) {
    const double best = measure(state, name, body);
    state.counters["GFLOP/s"] = stap::adaptive_work(problem).gflop / best;
    state.counters["%bound"] = 100 * bound_seconds / best;
}

/// Time of the minimum work at the FMA peak of this run, in seconds.
double arithmetic_bound(const stap::Problem& problem, int threads) {
    return stap::adaptive_work(problem).gflop / fma_peak_gflops<float>(threads);
}

void pipeline(benchmark::State& state, const std::string& name, const std::string& size, Way way) {
    core::Cpu cpu;
    Scene scene(cpu, size, way);
    stap::Pipeline<core::Cpu> stap(cpu, scene.problem, scene.steering);
    measure_stap(state, name, scene.problem, arithmetic_bound(scene.problem, cpu.threads()), [&] {
        const core::Stopwatch watch;
        stap.run(scene.cube, scene.results(), nullptr);
        return watch.seconds();
    });
    scene.want_everything();
    stap.run(scene.cube, scene.results(), nullptr);
    verify(state, scene);
}

template <int channels, int cells>
void eigen_problem(Scene& scene, index_t k, index_t b) {
    constexpr int taps = 3;
    constexpr int n = channels * taps;
    constexpr int vectors = 16;
    using Snapshots = Eigen::Matrix<cfloat, n, cells, Eigen::RowMajor>;
    using Square = Eigen::Matrix<cfloat, n, n>;
    using Sides = Eigen::Matrix<cfloat, n, vectors>;
    using Output = Eigen::Matrix<cfloat, vectors, cells, Eigen::RowMajor>;
    const index_t bins = scene.problem.doppler_bins;
    Snapshots s;
    for (int i = 0; i < n; ++i) {
        const index_t bin = (k - 1 + i % taps + bins) % bins;
        std::copy_n(&scene.cube(i / taps, bin, b * cells), cells, s.row(i).data());
    }
    Square r = Square::Zero();
    r.template selfadjointView<Eigen::Lower>().rankUpdate(s, 1.0f / cells);
    const Eigen::LLT<Square> factor(r);
    const Eigen::Map<const Sides> v(scene.steering.data());
    Sides w = factor.solve(v);
    for (int d = 0; d < vectors; ++d) {
        const float gain = std::abs(w.col(d).dot(v.col(d)));
        w.col(d) *= gain > 0 ? 1 / gain : 1.0f;
    }
    Output y;
    y.noalias() = w.adjoint() * s;
    for (int d = 0; d < vectors; ++d) {
        std::copy_n(y.row(d).data(), cells, &scene.output(d, k, b * cells));
    }
    scene.info(k, b) = factor.info() == Eigen::Success ? 0 : 1;
}

template <int channels, int cells>
void eigen(benchmark::State& state, const std::string& name, const std::string& size) {
    core::Cpu cpu;
    Scene scene(cpu, size, Way{});
    const int threads = cpu.threads();
    const index_t sets = scene.problem.training_sets;
    const index_t problems = scene.problem.doppler_bins * sets;
    measure_stap(state, name, scene.problem, arithmetic_bound(scene.problem, threads), [&] {
        const core::Stopwatch watch;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (index_t p = 0; p < problems; ++p) {
            eigen_problem<channels, cells>(scene, p / sets, p % sets);
        }
        return watch.seconds();
    });
    verify(state, scene);
}

#if APERTURE_CUDA
/// Enough copies of cube and output to exceed three times the L2 cache; runs cycle through them.
struct DeviceScene {
    std::vector<core::Array<cfloat, 3, core::Device>> cubes, outputs;
    core::Array<int, 2, core::Device> info;
    core::Array<float, 2, core::Device> pivot_ratio;
    core::Array<int, 2, core::Device> attempt;
    core::Array<cfloat, 4, core::Device> covariance, weights;

    DeviceScene(core::Gpu& gpu, Scene& scene)
        : info(scene.info.extent()),
          pivot_ratio(scene.info.extent()),
          attempt(scene.info.extent()),
          covariance(scene.covariance.extent()),
          weights(scene.weights.extent()) {
        constexpr std::size_t cached = std::size_t{3} * (std::size_t{60} << 20);
        const auto samples = static_cast<std::size_t>(scene.cube.size() + scene.output.size());
        const std::size_t copies = smoke ? 1 : 1 + cached / (samples * sizeof(cfloat));
        for (std::size_t i = 0; i < copies; ++i) {
            cubes.emplace_back(scene.cube.extent());
            outputs.emplace_back(scene.output.extent());
            core::copy(gpu, std::as_const(scene.cube).view(), cubes.back().view());
        }
    }

    stap::Results<core::Device> results(std::size_t turn, bool everything) {
        stap::Results<core::Device> wanted;
        wanted.output = outputs[turn % outputs.size()];
        wanted.info = info;
        wanted.pivot_ratio = pivot_ratio;
        wanted.attempt = attempt;
        if (everything) {
            wanted.covariance = covariance;
            wanted.weights = weights;
        }
        return wanted;
    }
};

void gpu_pipeline(benchmark::State& state, const std::string& name, const std::string& size,
                  Way way) {
    core::Cpu cpu;
    core::Gpu gpu;
    Scene scene(cpu, size, way);
    scene.want_everything();
    DeviceScene device(gpu, scene);
    stap::Pipeline<core::Gpu> stap(gpu, scene.problem, scene.steering);
    core::Timeline timeline;
    const stap::Work work = stap::adaptive_work(scene.problem);
    // The slower of streaming and fp32 arithmetic outside the matrix units on this device.
    const double bound = std::max(work.mb * 1e-3 / gpu_copy_gbs(gpu),
                                  work.gflop / gpu_peak_gflops(gpu, GpuUnit::fp32));
    // Events around a single call would also count the several microseconds between launches, so
    // the calls follow one another.
    const int calls = smoke ? 1 : 16;
    std::size_t turn = 0;
    measure_stap(state, name, scene.problem, bound, [&] {
        timeline.begin_run();
        {
            const auto scope = core::Timeline::stage(&timeline, gpu, "calls", 0, 0);
            for (int i = 0; i < calls; ++i) {
                ++turn;
                stap.run(device.cubes[turn % device.cubes.size()], device.results(turn, false),
                         nullptr);
            }
        }
        return timeline.stages().front().ms * 1e-3 / calls;
    });
    stap.run(device.cubes[0], device.results(0, true), nullptr);
    core::copy(gpu, std::as_const(device.outputs[0]).view(), scene.output.view());
    core::copy(gpu, std::as_const(device.info).view(), scene.info.view());
    if (scene.problem.parameters.precision == stap::Precision::automatic)
        core::copy(gpu, std::as_const(device.attempt).view(), scene.attempt.view());
    core::copy(gpu, std::as_const(device.covariance).view(), scene.covariance.view());
    core::copy(gpu, std::as_const(device.weights).view(), scene.weights.view());
    gpu.synchronize();
    verify(state, scene);
}
#endif

template <class Function, class... Arguments>
void add(const std::string& name, Function function, Arguments... arguments) {
    const auto run = [=](benchmark::State& state, const std::string& of) {
        function(state, of, std::string(arguments)...);
    };
    // On a GPU each time is the mean of several calls.
    add_measured(name, run, name.starts_with("gpu/") ? 0.02 : 0);
}

void register_all() {
    const auto add_pipeline = [](const std::string& size, const std::string& how, auto function,
                                 Way way) {
        add(
            how + "/" + size,
            [=](benchmark::State& state, const std::string& name, const std::string& which) {
                function(state, name, which, way);
            },
            size);
    };
    add("eigen/small", eigen<4, 32>, "small");
    add("eigen/medium", eigen<6, 64>, "medium");
    add("eigen/large", eigen<8, 64>, "large");
    using stap::Implementation;
    using stap::Precision;
    const Way automatic{Implementation::fused, Precision::automatic, true};
    const Way repeating{Implementation::fused, Precision::automatic};
    const Way mixed{Implementation::fused, Precision::mixed};
    for (const std::string size : {"small", "medium", "large"}) {
        add_pipeline(size, "staged", pipeline, {Implementation::staged});
        add_pipeline(size, "fused", pipeline, {});
        add_pipeline(size, "automatic", pipeline, automatic);
        add_pipeline(size, "repeating", pipeline, repeating);
        add_pipeline(size, "mixed", pipeline, mixed);
#if APERTURE_CUDA
        if (!core::gpu_status().usable) continue;
        add_pipeline(size, "gpu/cublas", gpu_pipeline, {Implementation::cublas});
        add_pipeline(size, "gpu/staged", gpu_pipeline, {Implementation::staged});
        add_pipeline(size, "gpu/fused", gpu_pipeline, {});
        add_pipeline(size, "gpu/automatic", gpu_pipeline, automatic);
        add_pipeline(size, "gpu/repeating", gpu_pipeline, repeating);
        add_pipeline(size, "gpu/mixed", gpu_pipeline, mixed);
#endif
    }
}

void print_ratios() {
    for (const auto& [name, ms] : best_ms) {
        const auto peer = best_ms.find("eigen" + name.substr(name.rfind('/')));
        if (peer == best_ms.end() || peer->first == name) continue;
        std::fprintf(stderr, "%-18s %9.3f ms, %6.2f times the Eigen + OpenMP peer (%.3f ms)\n",
                     name.c_str(), ms, peer->second / ms, peer->second);
    }
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture;
    const int status = bench::run_program(argc, argv, [] { bench::register_all(); });
    bench::print_ratios();
    return status;
}
