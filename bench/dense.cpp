// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Batches of small problems: the library compared with Eigen as a competent engineer would use
// it (fixed orders, one problem per iteration of a parallel loop).
// GFLOP/s count the minimum work: 4 n^2 k for the rank-k update, 4/3 n^3 + 8 n^2 D for the solve
// with D right-hand sides (a quarter of it for real types).
#include <benchmark/benchmark.h>
#include <omp.h>

#include <Eigen/Dense>
#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "bench/batch_peers.hpp"
#include "bench/ceilings.hpp"
#include "bench/dense_gpu.hpp"
#include "bench/program.hpp"

namespace aperture::bench {
namespace {

using core::index_t;

template <class T, class Layout>
using Batch = core::Array<T, 3, core::Host, Layout>;
template <class T>
using Dynamic = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr int samples = 64;
constexpr int right_hand_sides = 16;

template <class T>
constexpr double flops_per_multiply_add = std::same_as<T, dense::Real<T>> ? 2.0 : 8.0;

/// About 64 MB of problems, so that they are read from memory.
template <class T>
index_t problems_of_order(int n) {
    if (smoke) return 37;
    const auto bytes = static_cast<index_t>(sizeof(T)) * n * (n + right_hand_sides);
    return std::max<index_t>((index_t{64} << 20) / bytes, 64);
}

template <class T, class Layout>
void fill(Batch<T, Layout>& batch, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (T& entry : batch) {
        entry = T(uniform(generator));
        if constexpr (!std::same_as<T, dense::Real<T>>) entry += T(0, uniform(generator));
    }
}

template <class T>
Batch<T, core::Concatenated> covariances(core::Cpu& cpu, index_t problems, int n) {
    using R = dense::Real<T>;
    const int depth = 2 * n + 16;
    // Only a few distinct problems, since the factors of a whole batch would not fit.
    const index_t different = std::min<index_t>(problems, 64);
    Batch<T, core::Concatenated> factor({different, n, depth});
    Batch<T, core::Concatenated> few({different, n, n});
    Batch<T, core::Concatenated> a({problems, n, n});
    fill(factor, 1);
    dense::hermitian_rank_k<T>(cpu, R(1) / R(depth), std::as_const(factor).view(), R(0),
                               few.view());
    for (index_t p = 0; p < problems; ++p) {
        std::copy_n(few.data() + p % different * n * n, n * n, a.data() + p * n * n);
    }
    return a;
}

template <class T, class Layout>
Dynamic<T> matrix(const Batch<T, Layout>& batch, index_t problem) {
    Dynamic<T> m(batch.extent()[1], batch.extent()[2]);
    for (index_t i = 0; i < m.rows(); ++i) {
        for (index_t j = 0; j < m.cols(); ++j) m(i, j) = batch(problem, i, j);
    }
    return m;
}

/// Relative difference from A A^H / samples.
template <class T>
double rank_k_error(const Dynamic<T>& a, const Dynamic<T>& c) {
    const Dynamic<T> exact = a * a.adjoint() / T(samples);
    return double((c - exact).norm() / exact.norm());
}

/// Maximum relative error over a sample of the problems, against `limit`; also fails on NaN.
template <class Error>
void verify(benchmark::State& state, index_t problems, double limit, const Error& error) {
    double worst = 0;
    for (index_t p = 0; p < problems; p += std::max<index_t>(problems / 37, 1)) {
        const double here = error(p);
        if (!(here <= worst)) worst = here;
        if (!(worst <= limit)) break;
    }
    state.counters["error"] = worst;
    if (!(worst <= limit)) {
        fail(state, "the result is wrong");
    }
}

template <class T>
void count(benchmark::State& state, int threads, double multiply_adds) {
    const double gflop = flops_per_multiply_add<T> * multiply_adds * 1e-9;
    const double peak = fma_peak_gflops<dense::Real<T>>(threads);
    using Counter = benchmark::Counter;
    state.counters["GFLOP/s"] = Counter(gflop * double(state.iterations()), Counter::kIsRate);
    state.counters["%peak"] =
        Counter(100 * gflop / peak * double(state.iterations()), Counter::kIsRate);
}

template <class T>
double solve_multiply_adds(index_t problems, int n) {
    return double(problems) * (double(n) * n * n / 6 + double(n) * n * right_hand_sides);
}

template <class T>
constexpr double tolerance = 3e4 * std::numeric_limits<dense::Real<T>>::epsilon();

template <class T, class Layout>
Batch<T, Layout> in_layout(core::Cpu& cpu, Batch<T, core::Concatenated>&& batch) {
    if constexpr (std::same_as<Layout, core::Concatenated>) {
        return std::move(batch);
    } else {
        Batch<T, Layout> other(batch.extent());
        dense::change_layout<T>(cpu, std::as_const(batch).view(), other.view());
        return other;
    }
}

template <class T, class Layout, dense::Factorisation factorisation>
void solve(benchmark::State& state) {
    core::Cpu cpu;
    const int n = static_cast<int>(state.range(0));
    const index_t problems = problems_of_order<T>(n);
    const auto a = in_layout<T, Layout>(cpu, covariances<T>(cpu, problems, n));
    Batch<T, Layout> b({problems, right_hand_sides, n});
    Batch<T, Layout> x(b.extent());
    fill(b, 2);
    std::copy(b.begin(), b.end(), x.begin());
    core::Array<int, 1> info({problems});
    const auto run = [&] {
        dense::solve<T>(cpu, factorisation, a.view(), x.view(), info.view(), {});
    };
    // Repeated solving in place would overflow, so the right-hand sides are restored each time.
    for (auto _ : state) {
        state.PauseTiming();
        std::copy(b.begin(), b.end(), x.begin());
        state.ResumeTiming();
        run();
    }
    count<T>(state, cpu.threads(), solve_multiply_adds<T>(problems, n));
    verify(state, problems, tolerance<T>, [&](index_t p) {
        const Dynamic<T> exact = matrix(b, p).transpose();
        const Dynamic<T> left = matrix(a, p) * matrix(x, p).transpose();
        return info(p) == 0 ? double((left - exact).norm() / exact.norm()) : NAN;
    });
}

template <class T, int n>
void eigen_solve(benchmark::State& state) {
    core::Cpu cpu;
    using Square = Eigen::Matrix<T, n, n, Eigen::RowMajor>;
    using Sides = Eigen::Matrix<T, n, right_hand_sides>;
    const index_t problems = problems_of_order<T>(n);
    const auto a = covariances<T>(cpu, problems, n);
    Batch<T, core::Concatenated> b({problems, right_hand_sides, n});
    Batch<T, core::Concatenated> x(b.extent());
    fill(b, 2);
    const int threads = cpu.threads();
    for (auto _ : state) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (index_t p = 0; p < problems; ++p) {
            const Eigen::LLT<Square> factor(Eigen::Map<const Square>(a.data() + p * n * n));
            const index_t first = p * n * right_hand_sides;
            Eigen::Map<Sides>(x.data() + first) =
                factor.solve(Eigen::Map<const Sides>(b.data() + first));
        }
    }
    count<T>(state, threads, solve_multiply_adds<T>(problems, n));
    verify(state, problems, tolerance<T>, [&](index_t p) {
        const Dynamic<T> exact = matrix(b, p).transpose();
        const Dynamic<T> left = matrix(a, p) * matrix(x, p).transpose();
        return double((left - exact).norm() / exact.norm());
    });
}

template <class T, class Layout>
void rank_k(benchmark::State& state) {
    using R = dense::Real<T>;
    core::Cpu cpu;
    const int n = static_cast<int>(state.range(0));
    const index_t problems = std::max<index_t>(problems_of_order<T>(n) / 4, 37);
    Batch<T, Layout> a({problems, n, samples});
    Batch<T, Layout> c({problems, n, n});
    fill(a, 3);
    for (auto _ : state) {
        dense::hermitian_rank_k<T>(cpu, R(1) / samples, std::as_const(a).view(), R(0), c.view());
    }
    count<T>(state, cpu.threads(), double(problems) * n * n * samples / 2);
    verify(state, problems, tolerance<T>,
           [&](index_t p) { return rank_k_error<T>(matrix(a, p), matrix(c, p)); });
}

template <class T, int n>
void eigen_rank_k(benchmark::State& state) {
    core::Cpu cpu;
    using Factor = Eigen::Matrix<T, n, samples, Eigen::RowMajor>;
    using Square = Eigen::Matrix<T, n, n, Eigen::RowMajor>;
    const index_t problems = std::max<index_t>(problems_of_order<T>(n) / 4, 37);
    Batch<T, core::Concatenated> a({problems, n, samples});
    Batch<T, core::Concatenated> c({problems, n, n});
    fill(a, 3);
    const int threads = cpu.threads();
    for (auto _ : state) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (index_t p = 0; p < problems; ++p) {
            const Eigen::Map<const Factor> factor(a.data() + p * n * samples);
            Eigen::Map<Square> square(c.data() + p * n * n);
            square.noalias() = factor * factor.adjoint() / T(samples);
        }
    }
    count<T>(state, threads, double(problems) * n * n * samples / 2);
    verify(state, problems, tolerance<T>,
           [&](index_t p) { return rank_k_error<T>(matrix(a, p), matrix(c, p)); });
}

template <class T>
void layout_change(benchmark::State& state) {
    core::Cpu cpu;
    const int n = static_cast<int>(state.range(0));
    const index_t problems = problems_of_order<T>(n);
    Batch<T, core::Concatenated> from({problems, n, n});
    Batch<T, core::Interleaved> to({problems, n, n});
    fill(from, 4);
    for (auto _ : state) {
        dense::change_layout<T>(cpu, std::as_const(from).view(), to.view());
    }
    const double gigabytes = 2e-9 * double(from.size()) * sizeof(T);
    using Counter = benchmark::Counter;
    state.counters["GB/s"] = Counter(gigabytes * double(state.iterations()), Counter::kIsRate);
    state.counters["%copy"] =
        Counter(100 * gigabytes / copy_bandwidth_gbs(cpu.threads()) * double(state.iterations()),
                Counter::kIsRate);
    verify(state, problems, 0,
           [&](index_t p) { return double((matrix(from, p) - matrix(to, p)).norm()); });
}

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;
constexpr auto cholesky = dense::Factorisation::cholesky;
constexpr auto gauss_jordan = dense::Factorisation::gauss_jordan;

template <class Function>
benchmark::internal::Benchmark* add(const char* name, Function function) {
    auto* registered = benchmark::RegisterBenchmark(name, function);
    registered->UseRealTime()->Unit(benchmark::kMillisecond);
    if (smoke) registered->Iterations(1);
    return registered;
}

void register_all() {
    const std::vector<std::int64_t> orders{4, 8, 12, 18, 24, 32, 64, 128};
    const auto each_order = [&](benchmark::internal::Benchmark* registered) {
        for (std::int64_t n : orders) registered->Arg(n);
    };
    using core::Concatenated, core::Interleaved;
    each_order(add("solve/cholesky/c64", solve<Complex64, Concatenated, cholesky>));
    each_order(add("solve/cholesky/c64/interleaved", solve<Complex64, Interleaved, cholesky>));
    each_order(add("solve/gauss_jordan/c64", solve<Complex64, Concatenated, gauss_jordan>));
    each_order(add("solve/cholesky/c128", solve<Complex128, Concatenated, cholesky>));
    each_order(add("solve/cholesky/f32", solve<float, Concatenated, cholesky>));
    add("solve/eigen/c64/12", eigen_solve<Complex64, 12>);
    add("solve/eigen/c64/18", eigen_solve<Complex64, 18>);
    add("solve/eigen/c64/24", eigen_solve<Complex64, 24>);
    each_order(add("rank_k/c64", rank_k<Complex64, Concatenated>));
    each_order(add("rank_k/c64/interleaved", rank_k<Complex64, Interleaved>));
    add("rank_k/eigen/c64/18", eigen_rank_k<Complex64, 18>);
    add("rank_k/eigen/c64/24", eigen_rank_k<Complex64, 24>);
    each_order(add("change_layout/c64", layout_change<Complex64>));
    register_batches();
    register_dense_gpu();
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::bench::run_program(argc, argv, aperture::bench::register_all);
}
