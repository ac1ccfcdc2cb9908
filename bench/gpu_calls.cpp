// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_calls.hpp"

#include <complex>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "aperture/dense/batch_spectral.hpp"

namespace aperture::bench {
namespace {

template <class T>
GpuCall<T> factor_lu(dense::Pivoting pivoting) {
    return [pivoting](GpuBatch<T>& on) {
        dense::factor_lu<T>(on.gpu, pivoting, on.in_a(), on.out_c(), on.pivots.view(),
                            on.info.view());
    };
}

/// X overwrites right-hand sides.
template <class T, class Solve>
GpuMethod<T> solver(const Solve& solve) {
    return {solve, [](GpuBatch<T>& on) { on.restore_sides(); }};
}

}  // namespace

template <class T>
GpuMethod<T> library_method(Task task) {
    using On = GpuBatch<T>;
    switch (task) {
        case Task::dot:
            return {[](On& on) { dense::dot<T>(on.gpu, on.in_x(), on.in_y(), on.results.view()); }};
        case Task::gemv:
            return {[](On& on) {
                dense::gemv<T>(on.gpu, dense::Op::none, T(1), on.in_a(), on.in_x(), T(0),
                               on.y.view());
            }};
        case Task::gemm:
            return {[](On& on) {
                dense::gemm<T>(on.gpu, dense::Op::none, dense::Op::none, T(1), on.in_a(), on.in_b(),
                               T(0), on.out_c());
            }};
        case Task::rank_k:
            return {
                [](On& on) { dense::hermitian_rank_k<T>(on.gpu, 1, on.in_a(), 0, on.out_c()); }};
        case Task::cholesky:
            return {[](On& on) {
                dense::factor_cholesky<T>(on.gpu, on.in_a(), on.out_c(), on.info.view());
            }};
        case Task::lu:
            return {factor_lu<T>(dense::Pivoting::none)};
        case Task::pivoted_lu:
            return {factor_lu<T>(dense::Pivoting::partial)};
        case Task::solve:
            return solver<T>([](On& on) {
                dense::solve_lu<T>(on.gpu, dense::Pivoting::partial, on.in_a(), on.sides.view(),
                                   on.info.view());
            });
        case Task::solve_positive:
            return solver<T>([](On& on) {
                dense::solve<T>(on.gpu, dense::Factorisation::cholesky, on.in_a(), on.sides.view(),
                                on.info.view(), {});
            });
        case Task::solve_by_qr:
            return solver<T>([](On& on) {
                dense::least_squares<T>(on.gpu, on.in_a(), std::as_const(on.sides).view(),
                                        on.sides.view(), on.info.view());
            });
        case Task::gauss_jordan:
            return solver<T>([](On& on) {
                dense::solve_gauss_jordan<T>(on.gpu, on.in_a(), on.sides.view(), on.info.view());
            });
        case Task::inverse:
            return {
                [](On& on) { dense::invert<T>(on.gpu, on.in_a(), on.out_c(), on.info.view()); }};
        case Task::qr:
            return {
                [](On& on) { dense::factor_qr<T>(on.gpu, on.in_a(), on.out_c(), on.y.view()); }};
        case Task::substitute_lu:
            return solver<T>([](On& on) {
                dense::substitute_lu<T>(on.gpu, on.in_a(), std::as_const(on.pivots).view(),
                                        on.sides.view());
            });
        case Task::substitute_cholesky:
            return solver<T>(
                [](On& on) { dense::substitute_cholesky<T>(on.gpu, on.in_a(), on.sides.view()); });
        case Task::apply_q:
            return solver<T>([](On& on) {
                dense::apply_q<T>(on.gpu, true, on.in_a(), on.in_y(), on.sides.view());
            });
        case Task::form_q:
            return {[](On& on) { dense::form_q<T>(on.gpu, on.in_a(), on.in_y(), on.out_c()); }};
        case Task::eigen:
            return {[](On& on) {
                dense::eigen_hermitian<T>(on.gpu, on.in_a(), on.values.view(), on.out_c(),
                                          on.info.view());
            }};
        case Task::svd:
            return {[](On& on) {
                dense::svd<T>(on.gpu, on.in_a(), on.b.view(), on.values.view(), on.out_c(),
                              on.info.view());
            }};
        case Task::change_layout:
            break;
    }
    return {[](On& on) {
        const core::View<T, 3, core::Device> to(on.c.data(), {on.problems, on.n, on.n},
                                                {1, on.problems * on.n, on.problems});
        dense::change_layout<T>(on.gpu, on.in_a(), to);
    }};
}
template GpuMethod<float> library_method<float>(Task);
template GpuMethod<double> library_method<double>(Task);
template GpuMethod<std::complex<float>> library_method<std::complex<float>>(Task);
template GpuMethod<std::complex<double>> library_method<std::complex<double>>(Task);

}  // namespace aperture::bench
