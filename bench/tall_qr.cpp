// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// QR of tall matrices on the sizes of Anderson 2014, table 3.1, beside LAPACK's sgeqrf. GFLOP/s
// count 2 m n^2 - 2/3 n^3, for R and Q as reflectors.
#include "aperture/dense/tall_qr.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "bench/ceilings.hpp"
#include "bench/program.hpp"

#if APERTURE_LAPACK
extern "C" void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau,
                        float* work, const int* lwork, int* info);
#endif

namespace aperture::bench {
namespace {

using core::Array;
using core::index_t;

struct Size {
    index_t rows;
    index_t columns;
};

std::string name_of(const Size& size) {
    return std::to_string(size.rows) + "x" + std::to_string(size.columns);
}

/// [column][row], as LAPACK has it.
Array<float, 2> random_columns(const Size& size) {
    Array<float, 2> a({size.columns, size.rows});
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : a) value = uniform(generator);
    return a;
}

double gflop_of(const Size& size) {
    const auto m = static_cast<double>(size.rows);
    const auto n = static_cast<double>(size.columns);
    return (2 * m * n * n - 2 * n * n * n / 3) * 1e-9;
}

void report(benchmark::State& state, const Size& size, double seconds) {
    const double gflops = gflop_of(size) / seconds;
    state.counters["gflops"] = gflops;
    state.counters["percent_of_peak"] =
        100 * gflops / fma_peak_gflops<float>(core::Cpu().threads());
}

/// R^T R = A^T A on a few columns, in fp64.
bool is_r_of(const Array<float, 2>& a, core::View<const float, 2, core::Host> r) {
    const index_t n = a.extent()[0];
    for (index_t i = 0; i < n; i += std::max<index_t>(n / 5, 1)) {
        double expected = 0;
        double length = 0;
        double value = 0;
        for (index_t k = 0; k < a.extent()[1]; ++k) {
            expected += double(a(i, k)) * a(n - 1, k);
            length += double(a(i, k)) * a(i, k);
        }
        for (index_t k = 0; k < n; ++k) value += double(r(k, i)) * r(k, n - 1);
        if (!(std::abs(value - expected) <= 1e-5 * length)) return false;
    }
    return true;
}

void run_ours(benchmark::State& state, dense::QrMethod method, Size size, const std::string& name,
              bool row_major) {
    core::Cpu cpu;
    const Array<float, 2> columns = random_columns(size);
    core::View<const float, 2, core::Host> a(columns.data(), {size.rows, size.columns},
                                             {1, size.rows});
    Array<float, 2> by_rows;
    if (row_major) {
        by_rows = Array<float, 2>({size.rows, size.columns});
        for (index_t i = 0; i < size.rows; ++i) {
            for (index_t j = 0; j < size.columns; ++j) by_rows(i, j) = a(i, j);
        }
        a = std::as_const(by_rows).view();
    }
    dense::TallQr<float, core::Cpu> qr(cpu, method, size.rows, size.columns);
    Array<float, 2> r({size.columns, size.columns});
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        qr.factor(a, r);
        return watch.seconds();
    });
    report(state, size, best);
    if (!is_r_of(columns, std::as_const(r).view())) fail(state, "R is wrong");
}

#if APERTURE_LAPACK
void run_lapack(benchmark::State& state, Size size, const std::string& name) {
    const Array<float, 2> a = random_columns(size);
    Array<float, 2> factors({size.columns, size.rows});
    Array<float, 1> tau({size.columns});
    const auto m = static_cast<int>(size.rows);
    const auto n = static_cast<int>(size.columns);
    int info = 0;
    int query = -1;
    float wanted = 0;
    sgeqrf_(&m, &n, factors.data(), &m, tau.data(), &wanted, &query, &info);
    const int words = static_cast<int>(wanted);
    Array<float, 1> work({words});
    const double best = measure(state, name, [&] {
        std::copy(a.begin(), a.end(), factors.begin());
        const core::Stopwatch watch;
        sgeqrf_(&m, &n, factors.data(), &m, tau.data(), work.data(), &words, &info);
        return watch.seconds();
    });
    report(state, size, best);
    Array<float, 2> r({size.columns, size.columns});
    for (index_t i = 0; i < size.columns; ++i) {
        for (index_t j = 0; j < size.columns; ++j) r(i, j) = j < i ? 0 : factors(j, i);
    }
    if (!is_r_of(a, std::as_const(r).view())) fail(state, "R is wrong");
}
#endif

void register_all() {
    const std::vector<Size> sizes =
        smoke ? std::vector<Size>{{1000, 24}}
              : std::vector<Size>{{1000, 192},   {5000, 192},   {10000, 192},   {50000, 192},
                                  {100000, 192}, {500000, 192}, {1000000, 192}, {100000, 100},
                                  {110592, 100}, {20000, 500}};
    for (const Size& size : sizes) {
        const std::string of_size = name_of(size);
        add_measured("tsqr/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_ours(state, dense::QrMethod::tsqr, size, name, false);
        });
        add_measured("tsqr_by_rows/" + of_size,
                     [size](benchmark::State& state, const std::string& name) {
                         run_ours(state, dense::QrMethod::tsqr, size, name, true);
                     });
        add_measured("caqr/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_ours(state, dense::QrMethod::caqr, size, name, false);
        });
        add_measured("blas2/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_ours(state, dense::QrMethod::blas2, size, name, false);
        });
        add_measured("cholesky2/" + of_size,
                     [size](benchmark::State& state, const std::string& name) {
                         run_ours(state, dense::QrMethod::cholesky2, size, name, false);
                     });
#if APERTURE_LAPACK
        add_measured("lapack/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_lapack(state, size, name);
        });
#endif
    }
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::bench::run_program(argc, argv, aperture::bench::register_all);
}
