// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The factorisations of batches on a GPU or the SIMT executor: in registers where there is such a
// kernel, otherwise by blocks.

#include "aperture/dense/batch_mapping.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/blocks_launch.cuh"
#include "libdense/gpu/registers_launch.cuh"

namespace aperture::dense {
namespace detail {

/// Eliminates the matrices `arguments.a`.
template <class Executor, class E>
void eliminate(Executor& executor, const LuArguments<E>& arguments) {
    const auto n = static_cast<int>(arguments.a.extent[1]);
    if (arguments.a.extent[0] == 0) return;
    const Mapping mapping = ForcedMapping::current();
    const int by_columns = arguments.x.empty() ? tuning::largest_columns_order
                                               : tuning::largest_columns_order_of_solve<E>;
    const bool columns =
        mapping == Mapping::columns || (mapping == Mapping::automatic && n <= by_columns);
    if (columns && launch_elimination_in_columns(executor, arguments)) return;
    if (mapping != Mapping::block && launch_elimination_in_rows(executor, arguments)) return;
    launch_elimination_in_block(executor, arguments);
}

/// Solves with factors.
template <class Executor, class E>
void substitute(Executor& executor, const SubstituteArguments<E>& arguments) {
    if (arguments.x.empty()) return;
    if (ForcedMapping::current() == Mapping::block ||
        !launch_substitute_in_lanes(executor, arguments)) {
        launch_substitute_in_block(executor, arguments);
    }
}

/// Multiplies by Q, or forms it.
template <class Executor, class E>
void apply_q(Executor& executor, const ApplyQArguments<E>& arguments) {
    if (arguments.c.empty() || arguments.qr.extent[2] == 0) return;
    if (ForcedMapping::current() == Mapping::block ||
        !launch_apply_q_in_lanes(executor, arguments)) {
        launch_apply_q_in_block(executor, arguments);
    }
}

template <class E>
LuArguments<E> lu_arguments(KernelView<const E, 3> a, Pivoting pivoting) {
    LuArguments<E> arguments{};
    arguments.a = a;
    arguments.elimination =
        pivoting == Pivoting::partial ? GeneralElimination::pivoted_lu : GeneralElimination::lu;
    return arguments;
}

}  // namespace detail

// The functions of batch_factor.hpp and batch_orthogonal.hpp on a GPU or the SIMT executor.

template <class Executor, class T>
void launch_factor_cholesky(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                            MatrixBatch<T, typename Executor::Space> g,
                            core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_factor("factor_cholesky", a, "g", g, info);
    if (a.extent[0] == 0) return;
    CholeskyArguments<E> arguments{};
    arguments.a = core::kernel_view(a);
    arguments.g = core::kernel_view(g);
    arguments.info = core::kernel_view(info);
    if (ForcedMapping::current() == Mapping::block ||
        !detail::launch_cholesky_in_rows(executor, arguments)) {
        detail::launch_cholesky_in_block(executor, arguments);
    }
}

template <class Executor, class T>
void launch_substitute_cholesky(Executor& executor,
                                MatrixBatch<const T, typename Executor::Space> g,
                                MatrixBatch<T, typename Executor::Space> x) {
    using E = core::DeviceType<T>;
    expects_factored("substitute_cholesky", "g", g, x);
    detail::substitute(
        executor, SubstituteArguments<E>{core::kernel_view(g), {}, core::kernel_view(x), true});
}

template <class Executor, class T>
void launch_factor_lu(Executor& executor, Pivoting pivoting,
                      MatrixBatch<const T, typename Executor::Space> a,
                      MatrixBatch<T, typename Executor::Space> lu,
                      core::View<int, 2, typename Executor::Space> pivots,
                      core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_lu(a, lu, pivoting, pivots, info);
    LuArguments<E> arguments = detail::lu_arguments<E>(core::kernel_view(a), pivoting);
    arguments.lu = core::kernel_view(lu);
    arguments.pivots = core::kernel_view(pivots);
    arguments.info = core::kernel_view(info);
    detail::eliminate(executor, arguments);
}

template <class Executor, class T>
void launch_substitute_lu(Executor& executor, MatrixBatch<const T, typename Executor::Space> lu,
                          core::View<const int, 2, typename Executor::Space> pivots,
                          MatrixBatch<T, typename Executor::Space> x) {
    using E = core::DeviceType<T>;
    expects_factored("substitute_lu", "lu", lu, x, pivots);
    detail::substitute(executor,
                       SubstituteArguments<E>{core::kernel_view(lu), core::kernel_view(pivots),
                                              core::kernel_view(x), false});
}

template <class Executor, class T>
void launch_solve_lu(Executor& executor, Pivoting pivoting,
                     MatrixBatch<const T, typename Executor::Space> a,
                     MatrixBatch<T, typename Executor::Space> x,
                     core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_solvable("solve_lu", a, x, info);
    LuArguments<E> arguments = detail::lu_arguments<E>(core::kernel_view(a), pivoting);
    arguments.x = core::kernel_view(x);
    arguments.info = core::kernel_view(info);
    detail::eliminate(executor, arguments);
}

template <class Executor, class T>
void launch_solve_gauss_jordan(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                               MatrixBatch<T, typename Executor::Space> x,
                               core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_solvable("solve_gauss_jordan", a, x, info);
    LuArguments<E> arguments{};
    arguments.a = core::kernel_view(a);
    arguments.x = core::kernel_view(x);
    arguments.info = core::kernel_view(info);
    arguments.elimination = GeneralElimination::gauss_jordan;
    detail::eliminate(executor, arguments);
}

template <class Executor, class T>
void launch_invert(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                   MatrixBatch<T, typename Executor::Space> inverse,
                   core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_factor("invert", a, "inverse", inverse, info);
    LuArguments<E> arguments = detail::lu_arguments<E>(core::kernel_view(a), Pivoting::partial);
    arguments.inverse = core::kernel_view(inverse);
    arguments.info = core::kernel_view(info);
    detail::eliminate(executor, arguments);
}

template <class Executor, class T>
void launch_determinant(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                        core::View<T, 1, typename Executor::Space> result) {
    using E = core::DeviceType<T>;
    expects_determinant(a, result);
    LuArguments<E> arguments = detail::lu_arguments<E>(core::kernel_view(a), Pivoting::partial);
    arguments.determinant = core::kernel_view(result);
    detail::eliminate(executor, arguments);
}

template <class Executor, class T>
void launch_factor_qr(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                      MatrixBatch<T, typename Executor::Space> qr,
                      VectorBatch<T, typename Executor::Space> tau) {
    using E = core::DeviceType<T>;
    expects_factor_qr(a, qr, tau);
    if (a.empty()) return;
    QrArguments<E> arguments{};
    arguments.a = core::kernel_view(a);
    arguments.qr = core::kernel_view(qr);
    arguments.tau = core::kernel_view(tau);
    if (ForcedMapping::current() != Mapping::block &&
        detail::launch_qr_in_columns(executor, arguments)) {
        return;
    }
    detail::launch_qr_in_block(executor, arguments);
}

template <class Executor, class T>
void launch_least_squares(Executor& executor, MatrixBatch<const T, typename Executor::Space> a,
                          MatrixBatch<const T, typename Executor::Space> b,
                          MatrixBatch<T, typename Executor::Space> x,
                          core::View<int, 1, typename Executor::Space> info) {
    using E = core::DeviceType<T>;
    expects_least_squares(a, b, x, info);
    if (a.extent[0] == 0) return;
    QrArguments<E> arguments{};
    arguments.a = core::kernel_view(a);
    arguments.b = core::kernel_view(b);
    arguments.x = core::kernel_view(x);
    arguments.info = core::kernel_view(info);
    if (ForcedMapping::current() != Mapping::block &&
        detail::launch_least_squares_in_columns(executor, arguments)) {
        return;
    }
    detail::launch_qr_in_block(executor, arguments);
}

template <class Executor, class T>
void launch_apply_q(Executor& executor, bool adjoint,
                    MatrixBatch<const T, typename Executor::Space> qr,
                    VectorBatch<const T, typename Executor::Space> tau,
                    MatrixBatch<T, typename Executor::Space> c) {
    using E = core::DeviceType<T>;
    expects_applicable(qr, tau, c);
    detail::apply_q(executor, ApplyQArguments<E>{core::kernel_view(qr), core::kernel_view(tau),
                                                 core::kernel_view(c), adjoint, false});
}

template <class Executor, class T>
void launch_form_q(Executor& executor, MatrixBatch<const T, typename Executor::Space> qr,
                   VectorBatch<const T, typename Executor::Space> tau,
                   MatrixBatch<T, typename Executor::Space> q) {
    using E = core::DeviceType<T>;
    expects_formable(qr, tau, q);
    detail::apply_q(executor, ApplyQArguments<E>{core::kernel_view(qr), core::kernel_view(tau),
                                                 core::kernel_view(q), false, true});
}

}  // namespace aperture::dense
