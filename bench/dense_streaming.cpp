// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Batches in host memory larger than what they may have of the GPU's: Cholesky factors of up to
// 600,000 complex fp32 matrices of order 48 (22 GB with their factors) in 2 GB of device memory.
// "bus_ms" is the time that the bus alone takes for the same bytes, both directions at once,
// "kernel_ms" that of the factorisation of operands in device memory; "%slower" compares the
// slower of both with the time measured. Interleaved matrices are turned to concatenated ones, and
// their factors back, on the GPU, which is not in "kernel_ms".
//     --benchmark_filter=/75000    fits in 3 GB of host memory
#include <algorithm>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/dense/batch.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_streaming.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;
using core::index_t;
using C = std::complex<float>;

constexpr index_t n = 48;
constexpr std::size_t device_bytes = std::size_t{2} << 30;
/// Of all problems; the others are copies of them.
constexpr index_t different = 61;

Array<C, 3> different_problems() {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Array<C, 3> a({different, n, n});
    for (index_t p = 0; p < different; ++p) {
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < i; ++j) {
                a(p, i, j) = {uniform(generator), uniform(generator)};
                a(p, j, i) = std::conj(a(p, i, j));
            }
            a(p, i, i) = 2 * float(n) + uniform(generator);
        }
    }
    return a;
}

void factor(core::Gpu& gpu, core::View<const C, 3, Device> a, core::View<C, 3, Device> g,
            core::View<int, 1, Device> info) {
    dense::factor_cholesky(gpu, a, g, info);
}

/// The same of interleaved matrices: kernels of this order read whole matrices.
void factor_interleaved(core::Gpu& gpu, core::View<const C, 3, Device> a,
                        core::View<C, 3, Device> g, core::View<int, 1, Device> info,
                        core::View<C, 3, Device> between) {
    dense::change_layout(gpu, a, between);
    factor(gpu, between, between, info);
    dense::change_layout(gpu, core::View<const C, 3, Device>(between), g);
}

/// The factors of the different problems, by one call.
Array<C, 3> factors(core::Gpu& gpu, const Array<C, 3>& problems) {
    Array<C, 3, Device> a(problems.extent()), g(problems.extent());
    Array<int, 1, Device> info({different});
    Array<C, 3> result(problems.extent());
    core::copy(gpu, problems.view(), a.view());
    factor(gpu, a.view(), g.view(), info.view());
    core::copy(gpu, core::View<const C, 3, Device>(g.view()), result.view());
    gpu.synchronize();
    return result;
}

/// Seconds for so many bytes to the GPU and back, at once.
double bus_seconds(double bytes) {
    const index_t at_once = smoke ? 1 << 20 : 256 << 20;
    constexpr int copies = 8;
    core::Gpu in, out;
    Array<std::byte, 1> from({at_once}, core::Pages::locked), to({at_once}, core::Pages::locked);
    Array<std::byte, 1, Device> read({at_once}), written({at_once});
    double best = 1e30;
    for (int run = 0; run < 5; ++run) {
        const core::Stopwatch watch;
        for (int i = 0; i < copies; ++i) {
            core::copy(in, core::View<const std::byte, 1>(from.view()), read.view());
            core::copy(out, core::View<const std::byte, 1, Device>(written.view()), to.view());
        }
        in.synchronize();
        out.synchronize();
        best = std::min(best, watch.seconds());
    }
    return best * bytes / (double(copies) * double(at_once));
}

/// Seconds for the factors of so many problems in device memory.
double kernel_seconds(core::Gpu& gpu, const Array<C, 3>& some, index_t problems) {
    const index_t resident = std::min<index_t>(problems, 50000);
    Array<C, 3, Device> a({resident, n, n}), g({resident, n, n});
    Array<int, 1, Device> info({resident});
    for (index_t first = 0; first < resident; first += different) {
        const index_t last = std::min(first + different, resident);
        core::copy(gpu, some.view().slice(0, 0, last - first), a.view().slice(0, first, last));
    }
    core::Timeline timeline;
    double best = 1e30;
    for (int run = 0; run < 5; ++run) {
        best = std::min(best, seconds_on(gpu, timeline, 1, [&](std::size_t) {
                            factor(gpu, a.view(), g.view(), info.view());
                        }));
    }
    return best * double(problems) / double(resident);
}

struct Case {
    index_t problems;
    core::Pages pages;
    bool is_interleaved;

    core::View<C, 3> batch(Array<C, 1>& memory) const {
        core::View<C, 3> view(memory.data(), {problems, n, n});
        if (is_interleaved) view.stride = {1, problems * n, problems};
        return view;
    }
};

void run(benchmark::State& state, const std::string& name, const Case& its) {
    core::Gpu gpu;
    const index_t problems = its.problems;
    const Array<C, 3> some = different_problems();
    const Array<C, 3> right = factors(gpu, some);
    Array<C, 1> a({problems * n * n}, its.pages), g(a.extent(), its.pages);
    Array<int, 1> info({problems}, its.pages);
    const core::View<C, 3> matrices = its.batch(a), results = its.batch(g);
#pragma omp parallel for
    for (index_t p = 0; p < problems; ++p) {
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < n; ++j) {
                matrices(p, i, j) = some(p % different, i, j);
                results(p, i, j) = 0;
            }
        }
    }
    const double seconds = measure(state, name, [&] {
        const core::Stopwatch watch;
        if (its.is_interleaved) {
            dense::for_each_piece(gpu, device_bytes, factor_interleaved, dense::input(matrices),
                                  dense::output(results), dense::output(info.view()),
                                  dense::temporary<C>(matrices.extent));
        } else {
            dense::for_each_piece(gpu, device_bytes, factor, dense::input(matrices),
                                  dense::output(results), dense::output(info.view()));
        }
        return watch.seconds();
    });
    index_t wrong_problems = 0;
#pragma omp parallel for reduction(+ : wrong_problems)
    for (index_t p = 0; p < problems; ++p) {
        bool is_right = info(p) == 0;
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < n; ++j) {
                is_right = is_right && results(p, i, j) == right(p % different, i, j);
            }
        }
        wrong_problems += is_right ? 0 : 1;
    }
    if (wrong_problems > 0) {
        fail(state, std::to_string(wrong_problems) + " factors are not those of one call");
        return;
    }
    const double bytes = double(problems) * n * n * sizeof(C);
    const double bus = bus_seconds(bytes);
    const double kernel = kernel_seconds(gpu, some, problems);
    state.counters["GB/s"] = 1e-9 * bytes / seconds;
    state.counters["bus_GB/s"] = 1e-9 * bytes / bus;
    state.counters["kernel_GB/s"] = 1e-9 * bytes / kernel;
    state.counters["bus_ms"] = 1e3 * bus;
    state.counters["kernel_ms"] = 1e3 * kernel;
    state.counters["%slower"] = 100 * std::max(bus, kernel) / seconds;
}

void register_all() {
    if (!core::gpu_status().usable) return;
    const auto add = [](const std::string& kind, const Case& its) {
        add_measured(
            "streaming/" + kind + "/" + std::to_string(its.problems),
            [its](benchmark::State& state, const std::string& name) { run(state, name, its); });
    };
    const index_t some = smoke ? 200 : 75000;
    for (const index_t problems : {some, 8 * some}) {
        add("locked", {problems, core::Pages::locked, false});
        add("pageable", {problems, core::Pages::pageable, false});
    }
    add("locked_interleaved", {some, core::Pages::locked, true});
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::bench::run_program(argc, argv, aperture::bench::register_all);
}
