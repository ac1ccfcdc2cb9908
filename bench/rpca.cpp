// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Robust PCA of matrices of the size of Anderson 2014, section 3.6: the library's single pass per
// iteration compared with the same iterations by BLAS and LAPACK.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "aperture/rpca/robust_pca.hpp"
#include "bench/camera.hpp"
#include "bench/ceilings.hpp"
#include "bench/masks.hpp"
#include "bench/program.hpp"
#include "bench/rpca_gpu.hpp"
#include "bench/rpca_problem.hpp"

#if APERTURE_LAPACK
// NOLINTBEGIN(readability-identifier-naming): LAPACK's.
extern "C" {
void ssyrk_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* beta, float* c, const int* ldc);
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
void ssyevd_(const char* jobz, const char* uplo, const int* n, float* a, const int* lda, float* w,
             float* work, const int* lwork, int* iwork, const int* liwork, int* info);
}
// NOLINTEND(readability-identifier-naming)
#endif

namespace aperture::bench {
namespace {

using core::Array;

void run_ours(benchmark::State& state, rpca::Solver solver, rpca::Svd svd, Size size,
              const std::string& name) {
    core::Cpu cpu;
    const Array<float, 2> m = video(size);
    Array<float, 2> low_rank(m.extent());
    Array<float, 2> sparse(m.extent());
    rpca::Parameters parameters;
    parameters.solver = solver;
    parameters.svd = svd;
    parameters.tolerance = 1e-9;
    parameters.max_iterations = iterations;
    rpca::RobustPca<float, core::Cpu> pca(cpu, size.frames, size.values, parameters);
    rpca::Outcome outcome;
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        outcome = pca.run(m.view(), low_rank, sparse);
        return watch.seconds();
    });
    state.counters["iterations/s"] = outcome.iterations / best;
    state.counters["rank"] = outcome.rank;
    state.counters["residual"] = outcome.residual;
    if (!(residual_of(m, low_rank, sparse) <= worst_residual || solver == rpca::Solver::admm)) {
        fail(state, "L + S is not M");
    }
}

/// Runs to a residual of 1e-5, as the program does.
void run_to_tolerance(benchmark::State& state, rpca::Solver solver, Size size,
                      const std::string& name) {
    core::Cpu cpu;
    const Array<float, 2> m = video(size);
    Array<float, 2> low_rank(m.extent());
    Array<float, 2> sparse(m.extent());
    rpca::Parameters parameters;
    parameters.solver = solver;
    rpca::RobustPca<float, core::Cpu> pca(cpu, size.frames, size.values, parameters);
    rpca::Outcome outcome;
    measure(state, name, [&] {
        const core::Stopwatch watch;
        outcome = pca.run(m.view(), low_rank, sparse);
        return watch.seconds();
    });
    state.counters["iterations"] = outcome.iterations;
    state.counters["rank"] = outcome.rank;
    if (!outcome.converged) fail(state, "did not converge");
    if (!(residual_of(m, low_rank, sparse) <= 2e-5)) fail(state, "L + S is not M");
}

/// Follows all frames one by one.
void run_online(benchmark::State& state, Size size, const std::string& name) {
    core::Cpu cpu;
    const Array<float, 2> m = video(size);
    Array<float, 2> backgrounds(m.extent());
    rpca::OnlinePca pca(cpu, size.values, {});
    const double best = measure(state, name, [&] {
        pca.begin({m.data(), {size.values}});
        const core::Stopwatch watch;
        for (index_t f = 0; f < size.frames; ++f) {
            pca.next({&m(f, 0), {size.values}}, {&backgrounds(f, 0), {size.values}});
            pca.learn({});
        }
        return watch.seconds();
    });
    state.counters["frames/s"] = static_cast<double>(size.frames) / best;
}

#if APERTURE_LAPACK
/// IALM with M, S, Y and L in memory, Gram matrix by ssyrk, its eigenvectors by ssyevd, L by sgemm.
class BlasPca {
  public:
    explicit BlasPca(const Size& size)
        : m_(static_cast<int>(size.values)),
          n_(static_cast<int>(size.frames)),
          gram_(square()),
          vectors_(square()),
          scaled_(square()),
          p_(square()),
          values_(static_cast<std::size_t>(n_)),
          work_(static_cast<std::size_t>(1 + 6 * n_ + 2 * n_ * n_)),
          integers_(static_cast<std::size_t>(3 + 5 * n_)),
          w_(static_cast<std::size_t>(m_) * static_cast<std::size_t>(n_)),
          l_(w_.size()),
          s_(w_.size()),
          y_(w_.size()) {}

    void run(const float* m) {
        const auto size = static_cast<index_t>(w_.size());
        float largest = 0;
#pragma omp parallel for simd reduction(max : largest)
        for (index_t i = 0; i < size; ++i) {
            w_[std::size_t(i)] = m[i];
            largest = std::max(largest, std::abs(m[i]));
        }
        find_eigenvectors();
        const float norm = std::sqrt(values_.back());
        const float lambda = 1 / std::sqrt(static_cast<float>(m_));
        const float dual = std::max(norm, largest / lambda);
        float mu = 1.25F / norm;
#pragma omp parallel for simd
        for (index_t i = 0; i < size; ++i) {
            y_[std::size_t(i)] = m[i] / dual;
            l_[std::size_t(i)] = 0;
        }
        for (int iteration = 0; iteration < iterations; ++iteration) {
            const float threshold = lambda / mu;
            const float scale = 1 / mu;
#pragma omp parallel for simd
            for (index_t i = 0; i < size; ++i) {
                const float u = m[i] - l_[std::size_t(i)] + y_[std::size_t(i)] * scale;
                const float s = std::max(u - threshold, 0.0F) + std::min(u + threshold, 0.0F);
                s_[std::size_t(i)] = s;
                w_[std::size_t(i)] = m[i] - s + y_[std::size_t(i)] * scale;
            }
            find_eigenvectors();
            threshold_values(1 / mu);
            multiply("N", "N", m_, w_.data(), p_.data(), l_.data());
#pragma omp parallel for simd
            for (index_t i = 0; i < size; ++i) {
                y_[std::size_t(i)] += mu * (m[i] - l_[std::size_t(i)] - s_[std::size_t(i)]);
            }
            mu *= 1.5F;
        }
    }
    double value(index_t i) const {
        return double(l_[std::size_t(i)]) + double(s_[std::size_t(i)]);
    }

  private:
    std::vector<float> square() const {
        return std::vector<float>(std::size_t(n_) * std::size_t(n_));
    }

    void find_eigenvectors() {
        const float one = 1;
        const float zero = 0;
        ssyrk_("U", "T", &n_, &m_, &one, w_.data(), &m_, &zero, gram_.data(), &n_);
        vectors_ = gram_;
        const int words = static_cast<int>(work_.size());
        const int integers = static_cast<int>(integers_.size());
        int info = 0;
        ssyevd_("V", "U", &n_, vectors_.data(), &n_, values_.data(), work_.data(), &words,
                integers_.data(), &integers, &info);
    }
    void threshold_values(float threshold) {
        for (int k = 0; k < n_; ++k) {
            const float sigma = std::sqrt(std::max(values_[std::size_t(k)], 0.0F));
            const float kept = sigma > threshold ? 1 - threshold / sigma : 0;
            for (int i = 0; i < n_; ++i) {
                scaled_[std::size_t(index_t{k} * n_ + i)] =
                    kept * vectors_[std::size_t(index_t{k} * n_ + i)];
            }
        }
        multiply("N", "T", n_, scaled_.data(), vectors_.data(), p_.data());
    }
    void multiply(const char* turn_a, const char* turn_b, int rows, const float* a, const float* b,
                  float* c) const {
        const float one = 1;
        const float zero = 0;
        sgemm_(turn_a, turn_b, &rows, &n_, &n_, &one, a, &rows, b, &n_, &zero, c, &rows);
    }

    int m_;
    int n_;
    std::vector<float> gram_, vectors_, scaled_, p_, values_, work_;
    std::vector<int> integers_;
    std::vector<float> w_, l_, s_, y_;
};

void run_blas(benchmark::State& state, Size size, const std::string& name) {
    const Array<float, 2> m = video(size);
    BlasPca pca(size);
    const double best = measure(state, name, [&] {
        const core::Stopwatch watch;
        pca.run(m.data());
        return watch.seconds();
    });
    state.counters["iterations/s"] = iterations / best;
    double square = 0;
    double error = 0;
    for (index_t i = 0; i < m.size(); ++i) {
        square += double(m.data()[i]) * m.data()[i];
        error += std::pow(m.data()[i] - pca.value(i), 2);
    }
    state.counters["residual"] = std::sqrt(error / square);
    if (!(std::sqrt(error / square) <= 10 * worst_residual)) fail(state, "L + S is not M");
}
#endif

void register_all() {
    const std::vector<Size> sizes =
        smoke ? std::vector<Size>{{900, 12}}
              : std::vector<Size>{{110592, 100}, {76800, 100}, {110592, 50}, {110592, 200}};
    for (const Size& size : sizes) {
        const std::string of_size = name_of(size);
        add_measured("ialm/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_ours(state, rpca::Solver::ialm, rpca::Svd::gram, size, name);
        });
        add_measured("admm/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_ours(state, rpca::Solver::admm, rpca::Svd::gram, size, name);
        });
        for (const auto& [solver, of_solver] :
             {std::pair{rpca::Solver::ialm, "ialm"}, {rpca::Solver::accaltproj, "accaltproj"}}) {
            add_measured(std::string("to_1e-5/") + of_solver + "/" + of_size,
                         [size, chosen = solver](benchmark::State& state, const std::string& name) {
                             run_to_tolerance(state, chosen, size, name);
                         });
        }
        add_measured("online/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_online(state, size, name);
        });
        for (const auto& [svd, of_svd] :
             {std::pair{rpca::Svd::tsqr, "tsqr"}, {rpca::Svd::cholqr2, "cholqr2"}}) {
            add_measured(std::string("ialm_by_") + of_svd + "/" + of_size,
                         [size, chosen = svd](benchmark::State& state, const std::string& name) {
                             run_ours(state, rpca::Solver::ialm, chosen, size, name);
                         });
        }
#if APERTURE_LAPACK
        add_measured("blas/" + of_size, [size](benchmark::State& state, const std::string& name) {
            run_blas(state, size, name);
        });
#endif
    }
    add_masks("", [] { return core::Cpu(); });
    add_camera("", [] { return core::Cpu(); });
    register_gpu();
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::bench::run_program(argc, argv, aperture::bench::register_all);
}
