// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// QR of tall matrices with the sizes of Anderson 2014, table 3.1, compared with LAPACK's sgeqrf.
#include "aperture/dense/tall_qr.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "bench/ceilings.hpp"
#include "bench/column_qr.hpp"
#include "bench/panel_trees.hpp"
#include "bench/program.hpp"
#include "bench/tall_problem.hpp"
#include "bench/tall_qr_gpu.hpp"

#if APERTURE_LAPACK
// NOLINTNEXTLINE(readability-identifier-naming): LAPACK's.
extern "C" void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau,
                        float* work, const int* lwork, int* info);
#endif

namespace aperture::bench {
namespace {

using core::Array;

void report(benchmark::State& state, const Size& size, double seconds) {
    const double gflops = gflop_of(size) / seconds;
    state.counters["GFLOP/s"] = gflops;
    state.counters["%peak"] = 100 * gflops / fma_peak_gflops<float>(core::Cpu().threads());
}

template <dense::QrMethod method>
struct LibraryQr : dense::TallQr<float, core::Cpu> {
    LibraryQr(core::Cpu& cpu, index_t rows, index_t columns)
        : dense::TallQr<float, core::Cpu>(cpu, method, rows, columns) {}
};

template <class Qr>
void run_ours(benchmark::State& state, Size size, const std::string& name, bool row_major) {
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
    Qr qr(cpu, size.rows, size.columns);
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

template <class Qr>
void add_ours(const std::string& method, Size size, bool row_major = false) {
    add_measured(method + "/" + name_of(size),
                 [size, row_major](benchmark::State& state, const std::string& name) {
                     run_ours<Qr>(state, size, name, row_major);
                 });
}

void register_all() {
    for (const Size& size : tall_sizes()) {
        add_ours<LibraryQr<dense::QrMethod::tsqr>>("tsqr", size);
        add_ours<LibraryQr<dense::QrMethod::tsqr>>("tsqr_by_rows", size, true);
        add_ours<LibraryQr<dense::QrMethod::cholesky2>>("cholesky2", size);
        add_ours<PanelTrees<float>>("caqr", size);
        add_ours<ColumnQr<float>>("blas2", size);
#if APERTURE_LAPACK
        add_measured("lapack/" + name_of(size),
                     [size](benchmark::State& state, const std::string& name) {
                         run_lapack(state, size, name);
                     });
#endif
    }
    register_gpu();
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::bench::run_program(argc, argv, aperture::bench::register_all);
}
