// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Correlations of four planes with themselves: the library compared with plain loops and an FFTW
// program by a competent engineer. GFLOP/s count the definition's multiplications and additions.
#include <benchmark/benchmark.h>
#include <fftw3.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <string>
#include <vector>

#include "aperture/core/timing.hpp"
#include "aperture/corr/correlator.hpp"
#include "aperture/corr/method_choice.hpp"
#include "bench/corr_gpu.hpp"
#include "bench/corr_planes.hpp"
#include "bench/corr_problem.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using corr::index_t;
using corr::Method;
using corr::Problem;

template <class Run>
void report(benchmark::State& state, const std::string& name, const Problem& problem,
            double tolerance, const Run& run) {
    const Planes planes = random_planes(problem);
    Sums sums = sums_of(problem);
    const double seconds = measure(state, name, [&] {
        const core::Stopwatch watch;
        run(planes, sums);
        return watch.seconds();
    });
    if (problem.method == Method::direct) {
        const double gflops =
            1e-9 * corr::direct_flops(problem.planes, problem.image, problem.lags) / seconds;
        state.counters["GFLOP/s"] = gflops;
        state.counters["%peak"] = 100 * gflops / fma_peak_gflops<float>(omp_get_max_threads());
    }
    if (!verifies(planes, problem, sums, tolerance)) fail(state, "wrong sums");
}

void ours(benchmark::State& state, const std::string& name, const Problem& problem) {
    core::Cpu cpu;
    corr::Correlator<core::Cpu> correlator(cpu, problem);
    report(state, name, problem, problem.method == Method::direct ? 2e-7 : 5e-7,
           [&](const Planes& planes, Sums& sums) { correlator.run(planes, planes, sums); });
}

/// The definition; the inner loop over the pixels of a row vectorises.
void plain(benchmark::State& state, const std::string& name, const Problem& problem) {
    const index_t rows = problem.image.rows;
    const index_t columns = problem.image.columns;
    report(state, name, problem, 1e-4, [&](const Planes& planes, Sums& sums) {
#pragma omp parallel for schedule(dynamic)
        for (index_t dy = 0; dy < problem.lags.rows; ++dy) {
            for (index_t dx = 0; dx < problem.lags.columns; ++dx) {
                double all = 0;
                for (index_t p = 0; p < problem.planes; ++p) {
                    for (index_t y = 0; y + dy < rows; ++y) {
                        const float* a = &planes(p, y + dy, dx);
                        const float* b = &planes(p, y, 0);
                        float sum = 0;
#pragma omp simd reduction(+ : sum)
                        for (index_t x = 0; x < columns - dx; ++x) sum += a[x] * b[x];
                        all += static_cast<double>(sum);
                    }
                }
                sums(0, dy, dx) = all;
            }
        }
    });
}

/// FFTW's padded 2-D real transforms: one plane per thread, the planes' spectra added, and one
/// inverse transform, on all threads if FFTW's OpenMP library exists.
void fftw(benchmark::State& state, const std::string& name, const Problem& problem) {
    const auto good = [](index_t least) {
        for (;; ++least) {
            index_t rest = least;
            for (const index_t prime : {2, 3, 5, 7}) {
                while (rest % prime == 0) rest /= prime;
            }
            if (rest == 1) return static_cast<int>(least);
        }
    };
    const int rows = good(problem.image.rows + problem.lags.rows - 1);
    const int columns = good(problem.image.columns + problem.lags.columns - 1);
    const index_t frequencies = columns / 2 + 1;
    core::Array<float, 3> padded({problem.planes, rows, columns});
    core::Array<std::complex<float>, 3> spectra({problem.planes, rows, frequencies});
    std::fill(padded.begin(), padded.end(), 0.0F);
    const auto as_fftw = [&](index_t p) {
        return reinterpret_cast<fftwf_complex*>(&spectra(p, 0, 0));
    };
    fftwf_plan forward =
        fftwf_plan_dft_r2c_2d(rows, columns, &padded(0, 0, 0), as_fftw(0), FFTW_MEASURE);
#if APERTURE_FFTW_OMP
    fftwf_init_threads();
    fftwf_plan_with_nthreads(omp_get_max_threads());
#endif
    fftwf_plan backward =
        fftwf_plan_dft_c2r_2d(rows, columns, as_fftw(0), &padded(0, 0, 0), FFTW_MEASURE);
    std::fill(padded.begin(), padded.end(), 0.0F);
    report(state, name, problem, 5e-7, [&](const Planes& planes, Sums& sums) {
#pragma omp parallel for schedule(dynamic)
        for (index_t p = 0; p < problem.planes; ++p) {
            // The inverse transform writes its result to the first plane.
            if (p == 0) std::fill_n(&padded(0, 0, 0), index_t{rows} * columns, 0.0F);
            for (index_t y = 0; y < problem.image.rows; ++y) {
                std::copy_n(&planes(p, y, 0), problem.image.columns, &padded(p, y, 0));
            }
            fftwf_execute_dft_r2c(forward, &padded(p, 0, 0), as_fftw(p));
        }
#pragma omp parallel for
        for (index_t i = 0; i < rows * frequencies; ++i) {
            float power = 0;
            for (index_t p = 0; p < problem.planes; ++p) {
                power += std::norm((&spectra(p, 0, 0))[i]);
            }
            spectra.data()[i] = power;
        }
        fftwf_execute_dft_c2r(backward, as_fftw(0), &padded(0, 0, 0));
        const double scale = 1.0 / (static_cast<double>(rows) * columns);
        for (index_t i = 0; i < problem.lags.rows; ++i) {
            for (index_t j = 0; j < problem.lags.columns; ++j) {
                sums(0, i, j) = scale * static_cast<double>(padded(0, i, j));
            }
        }
    });
    fftwf_destroy_plan(forward);
    fftwf_destroy_plan(backward);
}

std::string name_of(const char* kind, const Problem& problem) {
    return core::text(kind, '/', problem.image.rows, 'x', problem.image.columns, '/',
                      problem.lags.rows, 'x', problem.lags.columns);
}

/// The problems for which the choice of the method is checked.
std::vector<Problem> grid;

void register_all() {
    const auto add = [](const char* kind, Problem problem, Method method, auto* run) {
        problem.method = method;
        add_measured(name_of(kind, problem), [=](benchmark::State& state, const std::string& name) {
            run(state, name, problem);
        });
    };
    const Problem job = main_problem();
    add("plain", job, Method::direct, plain);
    add("direct", job, Method::direct, ours);
    add("fftw", job, Method::fft, fftw);
    add("fft", job, Method::fft, ours);
    register_planes();
    register_gpu();
    if (smoke) return;
    for (const index_t extent : {64, 250, 500, 1000, 2000}) {
        for (const index_t lags : {1, 4, 8, 16, 32, 64, 128}) {
            if (lags > extent) continue;
            grid.push_back(square_problem(extent, lags));
            add("grid-direct", grid.back(), Method::direct, ours);
            add("grid-fft", grid.back(), Method::fft, ours);
        }
    }
}

/// Prints how much slower the chosen method is than the faster one.
void judge_choices() {
    const core::Cpu cpu;
    for (const Problem& problem : grid) {
        const auto direct = best_ms.find(name_of("grid-direct", problem));
        const auto fft = best_ms.find(name_of("grid-fft", problem));
        if (direct == best_ms.end() || fft == best_ms.end()) continue;
        const double ms = direct->second;
        const corr::MethodChoice choice = corr::choose_method(problem, cpu.threads());
        const double chosen = choice.method == Method::direct ? ms : fft->second;
        std::fprintf(
            stderr,
            "%-18s direct %9.3f ms (%9.3f), fft %9.3f ms (%9.3f): %s, %.2f times the better\n",
            name_of("", problem).c_str(), ms, choice.direct_ms, fft->second, choice.fft_ms,
            choice.method == Method::direct ? "direct" : "fft", chosen / std::min(ms, fft->second));
    }
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    using namespace aperture::bench;
    const int status = run_program(argc, argv, register_all);
    judge_choices();
    compare_gpu_methods();
    return status;
}
