// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "bench/batch_problem.hpp"

namespace aperture::bench {
namespace {

template <class T>
void add_order(int n, bool interleaved) {
    using On = BatchProblem<T>;
    const auto add = [&](Task task, void (*call)(On&)) {
        add_batch<T>(std::string(name_of(task)) + (interleaved ? "@interleaved" : ""), task, n,
                     Storage{.interleaved = interleaved}, call);
    };
    add(Task::gemm, [](On& on) {
        dense::gemm<T>(on.cpu, dense::Op::none, dense::Op::none, T(1), on.in_a(), on.in_b(), T(0),
                       on.out_c());
    });
    add(Task::cholesky,
        [](On& on) { dense::factor_cholesky<T>(on.cpu, on.in_a(), on.out_c(), on.info.view()); });
    add(Task::lu, [](On& on) {
        dense::factor_lu<T>(on.cpu, dense::Pivoting::none, on.in_a(), on.out_c(), on.pivots.view(),
                            on.info.view());
    });
    add(Task::pivoted_lu, [](On& on) {
        dense::factor_lu<T>(on.cpu, dense::Pivoting::partial, on.in_a(), on.out_c(),
                            on.pivots.view(), on.info.view());
    });
    add(Task::inverse,
        [](On& on) { dense::invert<T>(on.cpu, on.in_a(), on.out_c(), on.info.view()); });
    add(Task::qr, [](On& on) { dense::factor_qr<T>(on.cpu, on.in_a(), on.out_c(), on.y.view()); });
    if (interleaved) return;
    add(Task::dot, [](On& on) {
        dense::dot<T>(on.cpu, std::as_const(on.x).view(), std::as_const(on.y).view(),
                      on.results.view());
    });
    add(Task::gemv, [](On& on) {
        dense::gemv<T>(on.cpu, dense::Op::none, T(1), on.in_a(), std::as_const(on.x).view(), T(0),
                       on.y.view());
    });
    add(Task::solve, [](On& on) {
        dense::solve_lu<T>(on.cpu, dense::Pivoting::partial, on.in_a(), on.sides.view(),
                           on.info.view());
    });
    add(Task::solve_positive, [](On& on) {
        dense::solve<T>(on.cpu, dense::Factorisation::cholesky, on.in_a(), on.sides.view(),
                        on.info.view(), {});
    });
    add(Task::change_layout, [](On& on) {
        const core::View<T, 3, core::Host> to(on.c.data(), {on.problems, on.n, on.n},
                                              {1, on.problems * on.n, on.problems});
        dense::change_layout<T>(on.cpu, on.in_a(), to);
    });
}

}  // namespace

void register_batches() {
    for (const bool interleaved : {false, true}) {
        for (const int n : batch_orders()) {
            add_order<float>(n, interleaved);
            add_order<double>(n, interleaved);
            add_order<std::complex<float>>(n, interleaved);
            add_order<std::complex<double>>(n, interleaved);
        }
    }
}

}  // namespace aperture::bench
