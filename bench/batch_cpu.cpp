// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <utility>

#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "aperture/dense/batch_spectral.hpp"
#include "bench/batch_problem.hpp"

namespace aperture::bench {
namespace {

template <class T>
void factor_lu(BatchProblem<T>& on, dense::Pivoting pivoting) {
    dense::factor_lu<T>(on.cpu, pivoting, on.in_a(), on.out_c(), on.pivots.view(), on.info.view());
}

}  // namespace

template <class T>
BatchCall<T> library_call(Task task) {
    using On = BatchProblem<T>;
    switch (task) {
        case Task::dot:
            return [](On& on) {
                dense::dot<T>(on.cpu, std::as_const(on.x).view(), std::as_const(on.y).view(),
                              on.results.view());
            };
        case Task::gemv:
            return [](On& on) {
                dense::gemv<T>(on.cpu, dense::Op::none, T(1), on.in_a(), std::as_const(on.x).view(),
                               T(0), on.y.view());
            };
        case Task::gemm:
            return [](On& on) {
                dense::gemm<T>(on.cpu, dense::Op::none, dense::Op::none, T(1), on.in_a(), on.in_b(),
                               T(0), on.out_c());
            };
        case Task::rank_k:
            return [](On& on) { dense::hermitian_rank_k<T>(on.cpu, 1, on.in_a(), 0, on.out_c()); };
        case Task::cholesky:
            return [](On& on) {
                dense::factor_cholesky<T>(on.cpu, on.in_a(), on.out_c(), on.info.view());
            };
        case Task::lu:
            return [](On& on) { factor_lu(on, dense::Pivoting::none); };
        case Task::pivoted_lu:
            return [](On& on) { factor_lu(on, dense::Pivoting::partial); };
        case Task::solve:
            return [](On& on) {
                dense::solve_lu<T>(on.cpu, dense::Pivoting::partial, on.in_a(), on.sides.view(),
                                   on.info.view());
            };
        case Task::solve_positive:
            return [](On& on) {
                dense::solve<T>(on.cpu, dense::Factorisation::cholesky, on.in_a(), on.sides.view(),
                                on.info.view(), {});
            };
        case Task::solve_by_qr:
            return [](On& on) {
                dense::least_squares<T>(on.cpu, on.in_a(), std::as_const(on.sides).view(),
                                        on.sides.view(), on.info.view());
            };
        case Task::gauss_jordan:
            return [](On& on) {
                dense::solve_gauss_jordan<T>(on.cpu, on.in_a(), on.sides.view(), on.info.view());
            };
        case Task::inverse:
            return [](On& on) { dense::invert<T>(on.cpu, on.in_a(), on.out_c(), on.info.view()); };
        case Task::qr:
            return [](On& on) { dense::factor_qr<T>(on.cpu, on.in_a(), on.out_c(), on.y.view()); };
        case Task::substitute_lu:
            return [](On& on) {
                dense::substitute_lu<T>(on.cpu, on.in_a(), std::as_const(on.pivots).view(),
                                        on.sides.view());
            };
        case Task::substitute_cholesky:
            return
                [](On& on) { dense::substitute_cholesky<T>(on.cpu, on.in_a(), on.sides.view()); };
        case Task::apply_q:
            return [](On& on) {
                dense::apply_q<T>(on.cpu, true, on.in_a(), std::as_const(on.y).view(),
                                  on.sides.view());
            };
        case Task::form_q:
            return [](On& on) {
                dense::form_q<T>(on.cpu, on.in_a(), std::as_const(on.y).view(), on.out_c());
            };
        case Task::eigen:
            return [](On& on) {
                dense::eigen_hermitian<T>(on.cpu, on.in_a(), on.values.view(), on.out_c(),
                                          on.info.view());
            };
        case Task::svd:
            return [](On& on) {
                dense::svd<T>(on.cpu, on.in_a(), on.b.view(), on.values.view(), on.out_c(),
                              on.info.view());
            };
        case Task::change_layout:
            break;
    }
    return [](On& on) {
        const core::View<T, 3, core::Host> to(on.c.data(), {on.problems, on.n, on.n},
                                              {1, on.problems * on.n, on.problems});
        dense::change_layout<T>(on.cpu, on.in_a(), to);
    };
}
template BatchCall<float> library_call<float>(Task);
template BatchCall<double> library_call<double>(Task);
template BatchCall<std::complex<float>> library_call<std::complex<float>>(Task);
template BatchCall<std::complex<double>> library_call<std::complex<double>>(Task);

}  // namespace aperture::bench
