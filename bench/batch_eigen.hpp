// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <type_traits>
#include <utility>

#include "bench/batch_loop.hpp"

/// Eigen on batches. It takes minutes to compile: every type has its own source.
namespace aperture::bench {

/// `order` is known when this is compiled, or Eigen::Dynamic.
template <class T, int order>
struct EigenBatch {
    using On = BatchProblem<T>;
    using Square = Eigen::Matrix<T, order, order>;
    using Vector = Eigen::Matrix<T, order, 1>;

    template <class M, class U>
    static auto square(U* first, const On& on, index_t p) {
        return Eigen::Map<M>(first + p * on.n * on.n, on.n, on.n);
    }
    static auto a(const On& on, index_t p) { return square<const Square>(on.a.data(), on, p); }
    static auto b(const On& on, index_t p) { return square<const Square>(on.b.data(), on, p); }
    static auto c(On& on, index_t p) { return square<Square>(on.c.data(), on, p); }
    template <class Array>
    static auto vector(Array& array, const On& on, index_t p) {
        using V = std::conditional_t<std::is_const_v<Array>, const Vector, Vector>;
        return Eigen::Map<V>(array.data() + p * on.n, on.n);
    }

    static void dot(On& on) {
        for_each_problem(on, [&](index_t p) {
            on.results(p) =
                vector(std::as_const(on.x), on, p).dot(vector(std::as_const(on.y), on, p));
        });
    }
    static void gemv(On& on) {
        for_each_problem(on, [&](index_t p) {
            vector(on.y, on, p).noalias() = a(on, p) * vector(std::as_const(on.x), on, p);
        });
    }
    static void gemm(On& on) {
        for_each_problem(on, [&](index_t p) { c(on, p).noalias() = a(on, p) * b(on, p); });
    }
    static void cholesky(On& on) {
        for_each_problem(
            on, [&] { return Eigen::LLT<Square>(on.n); },
            [&](index_t p, auto& factors) { c(on, p) = factors.compute(a(on, p)).matrixL(); });
    }
    static void pivoted_lu(On& on) {
        for_each_problem(
            on, [&] { return Eigen::PartialPivLU<Square>(on.n); },
            [&](index_t p, auto& factors) {
                c(on, p) = factors.compute(a(on, p)).matrixLU();
                const auto& rows = factors.permutationP().indices();
                std::copy_n(rows.data(), on.n, on.pivots.data() + p * on.n);
            });
    }
    static void solve(On& on) {
        for_each_problem(
            on, [&] { return Eigen::PartialPivLU<Square>(on.n); },
            [&](index_t p, auto& factors) {
                vector(on.sides, on, p) =
                    factors.compute(a(on, p)).solve(vector(std::as_const(on.x), on, p));
            });
    }
    static void solve_positive(On& on) {
        for_each_problem(
            on, [&] { return Eigen::LLT<Square>(on.n); },
            [&](index_t p, auto& factors) {
                auto x = vector(on.sides, on, p);
                factors.compute(a(on, p)).solveInPlace(x);
            });
    }
    static void inverse(On& on) {
        for_each_problem(on, [&](index_t p) { c(on, p) = a(on, p).inverse(); });
    }
    static void qr(On& on) {
        for_each_problem(
            on, [&] { return Eigen::HouseholderQR<Square>(on.n, on.n); },
            [&](index_t p, auto& factors) {
                c(on, p) = factors.compute(a(on, p)).matrixQR();
                vector(on.y, on, p) = factors.hCoeffs();
            });
    }

    static BatchCall<T> call(Task task) {
        switch (task) {
            case Task::dot:
                return dot;
            case Task::gemv:
                return gemv;
            case Task::gemm:
                return gemm;
            case Task::cholesky:
                return cholesky;
            case Task::pivoted_lu:
                return pivoted_lu;
            case Task::solve:
                return solve;
            case Task::solve_positive:
                return solve_positive;
            case Task::inverse:
                return inverse;
            case Task::qr:
                return qr;
            default:
                return nullptr;
        }
    }
};

template <class T>
BatchCall<T> eigen_call(Task task) {
    return EigenBatch<T, Eigen::Dynamic>::call(task);
}

template <class T>
BatchCall<T> eigen_fixed_call(Task task, int n) {
    switch (n) {
        case 4:
            return EigenBatch<T, 4>::call(task);
#if APERTURE_BENCH_EIGEN
        case 8:
            return EigenBatch<T, 8>::call(task);
#endif
        default:
            return nullptr;
    }
}

}  // namespace aperture::bench
