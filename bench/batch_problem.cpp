// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/batch_problem.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "aperture/dense/batch_spectral.hpp"

namespace aperture::bench {
namespace {

using dense::BatchOperation;

template <class T>
constexpr bool is_complex = !std::same_as<T, dense::Real<T>>;
template <class T>
using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;
template <class T>
using WideMatrix = Eigen::Matrix<Wide<T>, Eigen::Dynamic, Eigen::Dynamic>;

/// Bytes of the sectors of memory in which a matrix has entries of its lower triangle; mean of a
/// batch.
double triangle_bytes(index_t n, index_t entry_bytes) {
    constexpr index_t sector = 32;
    // After so many problems a matrix begins where a sector does again.
    constexpr index_t problems = sector;
    index_t sectors = 0, counted = 0;
    for (index_t row = 0; row < problems * n; ++row) {
        const index_t first = row * n * entry_bytes / sector;
        const index_t end = ((row * n + row % n + 1) * entry_bytes - 1) / sector + 1;
        sectors += end - std::max(first, counted);
        counted = end;
    }
    return double(sectors * sector) / double(problems);
}

dense::Work work_of(Task task, index_t n, const dense::ElementType& element) {
    const auto of = [&](BatchOperation operation) {
        return dense::work_of(operation, {n, n, operation == BatchOperation::gemm ? n : 1},
                              element);
    };
    const double matrix = double(n * n) * element.bytes;
    const double triangle = triangle_bytes(n, element.bytes);
    const double vector = double(n) * element.bytes;
    switch (task) {
        case Task::dot:
            return of(BatchOperation::dot);
        case Task::gemv:
            return of(BatchOperation::gemv);
        case Task::gemm:
            return of(BatchOperation::gemm);
        case Task::rank_k:
            return {0.5 * of(BatchOperation::gemm).flops, 2 * matrix};
        case Task::cholesky:  // Zeros above the diagonal are written, too.
            return {of(BatchOperation::cholesky).flops, triangle + matrix};
        case Task::lu:
        case Task::pivoted_lu:
            return of(BatchOperation::lu);
        case Task::solve:  // LU factors, and twice a triangle.
            return {of(BatchOperation::lu).flops + of(BatchOperation::gemv).flops,
                    of(BatchOperation::gauss_jordan).bytes};
        case Task::solve_positive:
            return {of(BatchOperation::solve).flops, triangle + 2 * vector};
        case Task::solve_by_qr:
            return {of(BatchOperation::qr).flops + 3 * of(BatchOperation::gemv).flops,
                    of(BatchOperation::gauss_jordan).bytes};
        case Task::gauss_jordan:
            return of(BatchOperation::gauss_jordan);
        case Task::inverse:
            return of(BatchOperation::invert);
        case Task::qr:
            return of(BatchOperation::qr);
        case Task::substitute_lu:
            return {of(BatchOperation::gemv).flops, matrix + 2 * vector + 4 * double(n)};
        case Task::substitute_cholesky:
            return {of(BatchOperation::gemv).flops, triangle + 2 * vector};
        case Task::apply_q:
            return {of(BatchOperation::gemv).flops, matrix + 3 * vector};
        case Task::form_q:
            return {of(BatchOperation::qr).flops, 2 * matrix + vector};
        case Task::svd:
            return {0, 3 * matrix};
        case Task::eigen:
        case Task::change_layout:
            break;
    }
    // How many operations eigenvalues take depends on the matrices.
    return {0, 2 * matrix};
}

bool substitutes(Task task) {
    return task == Task::substitute_lu || task == Task::substitute_cholesky;
}
bool has_reflectors(Task task) { return task == Task::apply_q || task == Task::form_q; }
bool reads_positive(Task task) {
    return task == Task::cholesky || task == Task::lu || task == Task::solve_positive ||
           task == Task::eigen || task == Task::gauss_jordan || substitutes(task);
}
bool has_sides(Task task) {
    return task == Task::solve || task == Task::solve_positive || task == Task::solve_by_qr ||
           task == Task::gauss_jordan || task == Task::apply_q || substitutes(task);
}

/// So many problems or, if `wanted` is 0, far more than the caches of a core, and at least 1000.
index_t problems_of(const dense::Work& work, index_t wanted) {
    if (smoke) return 37;
    if (wanted > 0) return wanted;
    const auto bytes = double(index_t{96} << 20);
    return std::clamp<index_t>(static_cast<index_t>(bytes / work.bytes), 1000, index_t{1} << 21) /
           (quick ? 4 : 1);
}

template <class T>
T random_number(std::mt19937& generator) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    T value = T(uniform(generator));
    if constexpr (is_complex<T>) value += T(0, uniform(generator));
    return value;
}

/// A few different matrices, one after another; the positive definite ones are diagonally dominant.
template <class T>
std::vector<T> random_matrices(index_t number, index_t n, bool positive, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<T> all(static_cast<std::size_t>(number * n * n));
    for (T& entry : all) entry = random_number<T>(generator);
    for (index_t p = 0; positive && p < number; ++p) {
        T* const matrix = all.data() + p * n * n;
        for (index_t i = 0; i < n; ++i) {
            matrix[i * n + i] = T(std::real(matrix[i * n + i]) + dense::Real<T>(2 * n));
            for (index_t j = 0; j < i; ++j) {
                if constexpr (is_complex<T>) {
                    matrix[j * n + i] = std::conj(matrix[i * n + j]);
                } else {
                    matrix[j * n + i] = matrix[i * n + j];
                }
            }
        }
    }
    return all;
}

/// Repeats `few` problems of so many entries each.
template <class T>
void repeat(const std::vector<T>& few, index_t entries, bool interleaved, index_t problems, T* to) {
    const auto different = static_cast<index_t>(few.size()) / std::max<index_t>(entries, 1);
    if (interleaved) {
        for (index_t e = 0; e < entries; ++e) {
            for (index_t p = 0; p < problems; ++p) {
                to[e * problems + p] = few[std::size_t(p % different * entries + e)];
            }
        }
    } else {
        for (index_t p = 0; p < problems; ++p) {
            std::copy_n(few.data() + p % different * entries, entries, to + p * entries);
        }
    }
}

template <class T>
WideMatrix<T> matrix(const core::View<const T, 3, core::Host>& batch, index_t p, bool by_columns) {
    WideMatrix<T> m(batch.extent[1], batch.extent[2]);
    for (index_t i = 0; i < m.rows(); ++i) {
        for (index_t j = 0; j < m.cols(); ++j) {
            m(i, j) = Wide<T>(by_columns ? batch(p, j, i) : batch(p, i, j));
        }
    }
    return m;
}

template <class T>
WideMatrix<T> column(const core::Array<T, 2>& batch, index_t p) {
    WideMatrix<T> v(batch.extent()[1], 1);
    for (index_t i = 0; i < v.rows(); ++i) v(i, 0) = Wide<T>(batch(p, i));
    return v;
}

/// The scales with which the columns below a diagonal are reflectors, I - tau v v^H.
template <class M>
M scales_of_reflectors(const M& a) {
    M tau(a.cols(), 1);
    for (index_t k = 0; k < a.cols(); ++k) {
        tau(k, 0) = 2 / (1 + a.col(k).tail(a.rows() - k - 1).squaredNorm());
    }
    return tau;
}

/// Q^H x, or Q x if not `adjoint`.
template <class M>
M reflected(const M& a, const M& tau, M x, bool adjoint) {
    for (index_t step = 0; step < a.cols(); ++step) {
        const index_t k = adjoint ? step : a.cols() - 1 - step;
        M v = M::Zero(a.rows(), 1);
        v(k, 0) = 1;
        v.bottomRows(a.rows() - k - 1) = a.col(k).tail(a.rows() - k - 1);
        x -= v * (tau(k, 0) * (v.adjoint() * x)).eval();
    }
    return x;
}

/// P a, by a row of pivots in one of the forms.
template <class M>
M permuted(const M& a, core::View<const int, 1, core::Host> pivots, Storage::Pivots form) {
    M result = a;
    for (index_t k = 0; k < a.rows(); ++k) {
        if (form == Storage::permutation) {
            result.row(pivots(k)) = a.row(k);
        } else {
            result.row(k).swap(result.row(pivots(k) - (form == Storage::exchanges ? 0 : 1)));
        }
    }
    return result;
}

}  // namespace

std::vector<int> batch_orders() {
    return smoke ? std::vector<int>{4, 9} : std::vector<int>{4, 8, 12, 16, 24, 32, 48, 64, 128};
}

const char* name_of(Task task) {
    switch (task) {
        case Task::dot:
            return "dot";
        case Task::gemv:
            return "gemv";
        case Task::gemm:
            return "gemm";
        case Task::cholesky:
            return "cholesky";
        case Task::lu:
            return "lu";
        case Task::pivoted_lu:
            return "pivoted_lu";
        case Task::solve:
            return "solve";
        case Task::solve_positive:
            return "solve_positive";
        case Task::solve_by_qr:
            return "solve_by_qr";
        case Task::gauss_jordan:
            return "gauss_jordan";
        case Task::inverse:
            return "inverse";
        case Task::qr:
            return "qr";
        case Task::rank_k:
            return "rank_k";
        case Task::substitute_lu:
            return "substitute_lu";
        case Task::substitute_cholesky:
            return "substitute_cholesky";
        case Task::apply_q:
            return "apply_q";
        case Task::form_q:
            return "form_q";
        case Task::eigen:
            return "eigen";
        case Task::svd:
            return "svd";
        case Task::change_layout:
            break;
    }
    return "change_layout";
}

bool has_function(Task task, int n) {
    return (task != Task::eigen && task != Task::svd) || n <= dense::max_spectral_order;
}

template <class T>
BatchProblem<T>::BatchProblem(const BatchCase& which)
    : task(which.task),
      n(which.n),
      storage(which.storage),
      work(work_of(task, n, dense::element_type<T>)),
      problems(problems_of(work, which.problems)) {
    const core::Extents<3> matrices{problems, n, n};
    const index_t different = std::min<index_t>(problems, 61);
    const auto fill = [&](core::Array<T, 3>& array, unsigned seed) {
        array = core::Array<T, 3>(matrices);
        repeat<T>(random_matrices<T>(different, n, reads_positive(task), seed), index_t{n} * n,
                  storage.interleaved, problems, array.data());
    };
    const auto fill_vectors = [&](core::Array<T, 2>& array, unsigned seed) {
        array = core::Array<T, 2>({problems, n});
        std::mt19937 generator(seed);
        std::vector<T> few(static_cast<std::size_t>(different * n));
        for (T& entry : few) entry = random_number<T>(generator);
        repeat(few, n, false, problems, array.data());
    };
    info = core::Array<int, 1>({problems});
    if (task == Task::dot) {
        results = core::Array<T, 1>({problems});
    } else {
        fill(a, 1);
    }
    if (task == Task::dot || task == Task::gemv || has_sides(task)) fill_vectors(x, 2);
    if (task == Task::dot || task == Task::gemv || task == Task::qr) fill_vectors(y, 3);
    if (task == Task::gemm || task == Task::svd) fill(b, 4);
    if (task == Task::eigen || task == Task::svd) {
        values = core::Array<dense::Real<T>, 2>({problems, n});
    }
    if (has_sides(task)) sides = core::Array<T, 3>({problems, 1, n});
    if (task != Task::dot && task != Task::gemv && !has_sides(task)) fill(c, 5);
    pivots = core::Array<int, 2>({problems, n});
    if (substitutes(task)) set_up_substitution();
    if (has_reflectors(task)) set_up_reflectors();
}

// Factors whose solutions neither grow nor vanish, and no exchanges.
template <class T>
void BatchProblem<T>::set_up_substitution() {
    const auto scale = dense::Real<T>(1) / dense::Real<T>(2 * n);
    for (T& entry : a) entry *= scale;
    const int first = storage.pivots == Storage::exchanges_from_one ? 1 : 0;
    for (index_t p = 0; p < problems; ++p) {
        for (int k = 0; k < n; ++k) pivots(p, k) = first + k;
    }
}

template <class T>
void BatchProblem<T>::set_up_reflectors() {
    y = core::Array<T, 2>({problems, n});
    for (index_t p = 0; p < problems; ++p) {
        const WideMatrix<T> tau = scales_of_reflectors(matrix<T>(in_a(), p, storage.by_columns));
        for (index_t k = 0; k < n; ++k) y(p, k) = static_cast<T>(tau(k, 0));
    }
}

template <class T>
void BatchProblem<T>::restore() {
    if (has_sides(task)) std::copy(x.begin(), x.end(), sides.begin());
}

template <class T>
double BatchProblem<T>::error(index_t p) const {
    using M = WideMatrix<T>;
    if (task == Task::dot) {
        const M left = column(x, p), right = column(y, p);
        const auto exact = (left.adjoint() * right)(0, 0);
        return std::abs(Wide<T>(results(p)) - exact) / (left.norm() * right.norm());
    }
    const M of_a = matrix<T>(in_a(), p, storage.by_columns);
    const double norm = of_a.norm();
    if (task == Task::gemv) {
        return (column(y, p) - of_a * column(x, p)).norm() / (norm * column(x, p).norm());
    }
    if (has_sides(task)) {
        M solution(n, 1);
        for (index_t i = 0; i < n; ++i) solution(i, 0) = Wide<T>(sides(p, 0, i));
        M product = of_a;
        if (task == Task::apply_q) {
            const M expected = reflected(of_a, column(y, p), column(x, p), true);
            return (solution - expected).norm() / expected.norm();
        }
        if (task == Task::substitute_lu) {
            product = of_a.template triangularView<Eigen::UnitLower>() *
                      M(of_a.template triangularView<Eigen::Upper>());
        } else if (task == Task::substitute_cholesky) {
            const M factor = of_a.template triangularView<Eigen::Lower>();
            product = factor * factor.adjoint();
        }
        return (product * solution - column(x, p)).norm() / (product.norm() * solution.norm());
    }
    const M of_c = matrix<T>(laid_out<const T>(c), p, storage.by_columns);
    const M upper = of_c.template triangularView<Eigen::Upper>();
    const auto diagonal = [&] { return column(values, p).col(0).template cast<Wide<T>>().eval(); };
    switch (task) {
        case Task::gemm: {
            const M of_b = matrix<T>(in_b(), p, storage.by_columns);
            return (of_c - of_a * of_b).norm() / (norm * of_b.norm());
        }
        case Task::rank_k:
            return (of_c - of_a * of_a.adjoint()).norm() / (norm * norm);
        case Task::form_q:
            return (of_c - reflected(of_a, column(y, p), M(M::Identity(n, n)), false)).norm();
        case Task::cholesky: {
            const M factor = of_c.template triangularView<Eigen::Lower>();
            return (factor * factor.adjoint() - of_a).norm() / norm;
        }
        case Task::lu:
        case Task::pivoted_lu: {
            const M lower = of_c.template triangularView<Eigen::UnitLower>();
            const M rows = permuted(of_a, pivots.view()[p], storage.pivots);
            return (lower * upper - rows).norm() / norm;
        }
        case Task::inverse:
            return (of_a * of_c - M::Identity(n, n)).norm() / (norm * of_c.norm());
        case Task::eigen:
            return (of_a * of_c - of_c * diagonal().asDiagonal()).norm() / norm;
        case Task::svd: {
            const M left = matrix<T>(in_b(), p, storage.by_columns);
            return (of_a - left * diagonal().asDiagonal() * of_c.adjoint()).norm() / norm;
        }
        case Task::qr:
            return (upper.adjoint() * upper - of_a.adjoint() * of_a).norm() / (norm * norm);
        default:
            return (of_a - matrix<T>(core::View<const T, 3, core::Host>(
                                         c.data(), {problems, n, n}, {1, problems * n, problems}),
                                     p, false))
                .norm();
    }
}

template <class T>
void add_batch(const std::string& name, const BatchCase& which, const BatchCall<T>& call) {
    const auto run = [=](benchmark::State& state, const std::string& full) {
        BatchProblem<T> on(which);
        on.restore();
        call(on);
        const double limit =
            30.0 * which.n * double(std::numeric_limits<dense::Real<T>>::epsilon());
        double worst = 0;
        for (index_t p = 0; p < on.problems; p += std::max<index_t>(on.problems / 37, 1)) {
            const double here = on.error(p);
            if (!(here <= worst)) worst = here;
            if (!(worst <= limit)) break;
        }
        state.counters["error"] = worst;
        if (!(worst <= limit)) {
            fail(state, "the result is wrong");
            return;
        }
        const double seconds = measure(state, full, [&] {
            on.restore();
            const core::Stopwatch watch;
            call(on);
            return watch.seconds();
        });
        const int threads = on.cpu.threads();
        const double gigabytes = 1e-9 * on.work.bytes * double(on.problems);
        const double gflop = 1e-9 * on.work.flops * double(on.problems);
        const double copy = gigabytes / copy_bandwidth_gbs(threads);
        const double peak = gflop / fma_peak_gflops<dense::Real<T>>(threads);
        state.counters["problems"] = double(on.problems);
        state.counters["GB/s"] = gigabytes / seconds;
        state.counters["GFLOP/s"] = gflop / seconds;
        state.counters["%copy"] = 100 * copy / seconds;
        state.counters["%peak"] = 100 * peak / seconds;
        state.counters["%bound"] = 100 * std::max(copy, peak) / seconds;
    };
    add_measured(name + "/" + type_name<T>() + "/" + std::to_string(which.n), run,
                 quick ? 0.01 : 0.05);
}

#define APERTURE_BATCH_PROBLEM(T)   \
    template class BatchProblem<T>; \
    template void add_batch<T>(const std::string&, const BatchCase&, const BatchCall<T>&);
APERTURE_BATCH_PROBLEM(float)
APERTURE_BATCH_PROBLEM(double)
APERTURE_BATCH_PROBLEM(std::complex<float>)
APERTURE_BATCH_PROBLEM(std::complex<double>)

}  // namespace aperture::bench
