// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/dense/batch_mapping.hpp"
#include "aperture/dense/batch_orthogonal.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/columns_launch.cuh"
#include "libdense/gpu/lu_in_block.cuh"
#include "libdense/gpu/qr_in_block.cuh"

namespace aperture::dense {
namespace detail {

/// The launch of a kernel that gives a block a matrix of m x n, beside `other_bytes` of shared
/// memory. Where the matrix does not fit there, the block works in scratch memory.
template <class E>
struct BlockLaunch {
    MatrixPlace place = MatrixPlace::shared;
    E* scratch = nullptr;
    core::LaunchConfig config;

    template <class Executor>
    BlockLaunch(Executor& executor, index_t problems, int m, int n, int other_bytes,
                std::size_t bytes_per_thread)
        : config(dim3(core::blocks_for(problems, 1)), dim3(32),
                 static_cast<std::size_t>(other_bytes)) {
        const std::size_t bytes = sizeof(E) * static_cast<std::size_t>(m) *
                                  static_cast<std::size_t>(panel_row_stride<E>(n));
        const auto shared = static_cast<std::size_t>(executor.shared_memory_per_block());
        const auto most = static_cast<unsigned>(block_solver_threads_of(block_slots(m)));
        while (config.block.x < most && 2 * config.block.x * bytes_per_thread <= bytes) {
            config.block.x *= 2;
        }
        if (config.shared + bytes <= shared) {
            config.shared += bytes;
            return;
        }
        const index_t blocks = std::min<index_t>(problems, 2 * index_t(executor.multiprocessors()));
        config.grid = dim3(core::blocks_for(blocks, 1));
        place = MatrixPlace::scratch;
        scratch = reinterpret_cast<E*>(executor.scratch(bytes * static_cast<std::size_t>(blocks)));
    }
};

inline const char* name_of(GeneralElimination elimination) {
    return elimination == GeneralElimination::lu           ? "GeneralElimination::lu"
           : elimination == GeneralElimination::pivoted_lu ? "GeneralElimination::pivoted_lu"
                                                           : "GeneralElimination::gauss_jordan";
}

/// Right-hand sides of the kernels that are compiled ahead.
inline constexpr int ahead_sides = 4;

template <class Executor, class E>
bool launch_solve_in_columns(Executor& executor, const LuArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    if (p.x.extent[1] > tuning::most_sides) return false;
    const int sides = tuning::compiled_sides(p.x.extent[1]);
    const int lanes = tuning::columns_lanes<E>(tuning::ColumnsWork::solve, n, n + sides);
    if (lanes == 0) return false;
    void (*compiled)(LuArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes =
            tuning::columns_lanes<E>(tuning::ColumnsWork::solve, order, order + ahead_sides);
        if constexpr (its_lanes > 0) {
            using enum GeneralElimination;
            if (sides != ahead_sides) return;
            compiled = p.elimination == lu ? solve_in_columns<E, order, ahead_sides, its_lanes, lu>
                       : p.elimination == pivoted_lu
                           ? solve_in_columns<E, order, ahead_sides, its_lanes, pivoted_lu>
                           : solve_in_columns<E, order, ahead_sides, its_lanes, gauss_jordan>;
        }
    });
    return launch_in_rows(
        executor, columns_file,
        core::text("solve_in_columns<", type_name<E>(), ", ", n, ", ", sides, ", ", lanes,
                   ", aperture::dense::", name_of(p.elimination), ">"),
        compiled, p.a.extent[0], lanes, rows_shared_bytes<E>(n + sides, n, lanes), p);
}

template <class Executor, class E>
bool launch_lu_in_columns(Executor& executor, const LuArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    const int lanes = tuning::columns_lanes<E>(tuning::ColumnsWork::lu, n, n);
    if (lanes == 0) return false;
    const bool exchange = p.elimination == GeneralElimination::pivoted_lu;
    const bool invert = !p.inverse.empty();
    void (*compiled)(LuArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::columns_lanes<E>(tuning::ColumnsWork::lu, order, order);
        if constexpr (its_lanes > 0) {
            compiled = invert     ? inverse_in_columns<E, order, its_lanes>
                       : exchange ? lu_in_columns<E, order, its_lanes, true>
                                  : lu_in_columns<E, order, its_lanes, false>;
        }
    });
    return launch_in_rows(
        executor, columns_file,
        invert ? core::text("inverse_in_columns<", type_name<E>(), ", ", n, ", ", lanes, ">")
               : core::text("lu_in_columns<", type_name<E>(), ", ", n, ", ", lanes, ", ",
                            exchange ? "true" : "false", ">"),
        compiled, p.a.extent[0], lanes, rows_shared_bytes<E>(n, n, lanes), p);
}

template <class Executor, class E>
bool launch_elimination_in_columns(Executor& executor, const LuArguments<E>& p) {
    return p.x.empty() ? launch_lu_in_columns(executor, p) : launch_solve_in_columns(executor, p);
}

/// Without Gauss-Jordan elimination, which would cost a row as much as a factorisation.
template <class Executor, class E>
bool launch_elimination_in_rows(Executor& executor, const LuArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    const bool solve = !p.x.empty();
    const bool invert = !p.inverse.empty();
    const int sides = solve ? tuning::compiled_sides(p.x.extent[1]) : 0;
    const bool exchange = p.elimination == GeneralElimination::pivoted_lu;
    const int lanes = tuning::rows_lanes<E>(n, n + sides, invert || !exchange);
    if (lanes == 0 || p.elimination == GeneralElimination::gauss_jordan ||
        p.x.extent[1] > tuning::most_sides) {
        return false;
    }
    void (*compiled)(LuArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::rows_lanes<E>(order, order, false);
        constexpr int wide = tuning::rows_lanes<E>(order, order, true);
        constexpr int of_solve = tuning::rows_lanes<E>(order, order + ahead_sides, false);
        constexpr int of_wide = tuning::rows_lanes<E>(order, order + ahead_sides, true);
        if constexpr (its_lanes > 0) {
            if (invert) {
                compiled = inverse_in_rows<E, order, wide>;
            } else if (!solve) {
                compiled = exchange ? lu_in_rows<E, order, its_lanes, true>
                                    : lu_in_rows<E, order, wide, false>;
            } else if (sides == ahead_sides) {
                compiled = exchange ? solve_in_rows<E, order, ahead_sides, of_solve, true>
                                    : solve_in_rows<E, order, ahead_sides, of_wide, false>;
            }
        }
    });
    const std::string its = core::text(type_name<E>(), ", ", n);
    const std::string last = core::text(", ", lanes, ", ", exchange ? "true" : "false", ">");
    return launch_in_rows(executor, rows_file,
                          invert  ? core::text("inverse_in_rows<", its, ", ", lanes, ">")
                          : solve ? core::text("solve_in_rows<", its, ", ", sides, last)
                                  : core::text("lu_in_rows<", its, last),
                          compiled, p.a.extent[0], lanes,
                          rows_shared_bytes<E>(n, rows_width(n + sides), lanes), p);
}

/// Eliminates the matrices `arguments.a`.
template <class Executor, class E>
void eliminate(Executor& executor, const LuArguments<E>& arguments) {
    const auto n = static_cast<int>(arguments.a.extent[1]);
    const index_t problems = arguments.a.extent[0];
    if (problems == 0) return;
    const Mapping mapping = ForcedMapping::current();
    const int by_columns = arguments.x.empty() ? tuning::largest_columns_order
                                               : tuning::largest_columns_order_of_solve;
    const bool columns =
        mapping == Mapping::columns || (mapping == Mapping::automatic && n <= by_columns);
    if (columns && launch_elimination_in_columns(executor, arguments)) return;
    if (mapping != Mapping::block && (launch_elimination_in_rows(executor, arguments) ||
                                      launch_elimination_in_columns(executor, arguments))) {
        return;
    }
    const bool jordan =
        !arguments.inverse.empty() || arguments.elimination == GeneralElimination::gauss_jordan;
    const BlockLaunch<E> launch(
        executor, problems, n, n, elimination_bytes<E>(jordan, n),
        jordan ? tuning::right_looking_bytes : tuning::lu_bytes_per_thread<E>);
    const auto kernel_of = [&]<bool its_jordan>() {
        using enum MatrixPlace;
        return launch.place == scratch ? lu_in_block<E, 4, scratch, its_jordan>
               : n <= 64               ? lu_in_block<E, 2, shared, its_jordan>
                                       : lu_in_block<E, 4, shared, its_jordan>;
    };
    core::launch(
        executor,
        jordan ? kernel_of.template operator()<true>() : kernel_of.template operator()<false>(),
        launch.config, arguments, launch.scratch);
}

template <class E>
LuArguments<E> lu_arguments(KernelView<const E, 3> a, Pivoting pivoting) {
    LuArguments<E> arguments{};
    arguments.a = a;
    arguments.elimination =
        pivoting == Pivoting::partial ? GeneralElimination::pivoted_lu : GeneralElimination::lu;
    return arguments;
}

/// Lanes for each of so many triangles: more where they leave schedulers without a warp. The bits
/// of a result do not depend on them.
template <class E, class Executor>
int triangle_lanes(const Executor& executor, int n, index_t problems) {
    const int lanes = tuning::triangle_lanes<E>(n);
    const index_t schedulers = index_t{4} * executor.multiprocessors();
    const bool few = problems * lanes <= schedulers * core::warp_size;
    return few && lanes > 1 ? tuning::most_row_lanes(n) : lanes;
}

template <class Executor, class E>
bool launch_cholesky_in_rows(Executor& executor, const CholeskyArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    int lanes = triangle_lanes<E>(executor, n, p.a.extent[0]);
    if (lanes == 0) return false;
    void (*compiled)(CholeskyArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::triangle_lanes<E>(order);
        if constexpr (its_lanes > 0) {
            compiled = cholesky_in_rows<E, order, its_lanes>;
            lanes = its_lanes;
        }
    });
    return launch_in_rows(
        executor, cholesky_file,
        core::text("cholesky_in_rows<", type_name<E>(), ", ", n, ", ", lanes, ">"), compiled,
        p.a.extent[0], lanes, rows_shared_bytes<E>(n, n, lanes), p);
}

template <class Executor, class E>
bool launch_qr_in_columns(Executor& executor, const QrArguments<E>& p) {
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    const int lanes = tuning::columns_lanes<E>(tuning::ColumnsWork::qr, m, n);
    if (lanes == 0) return false;
    void (*compiled)(QrArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::columns_lanes<E>(tuning::ColumnsWork::qr, order, order);
        if constexpr (its_lanes > 0) {
            if (m == n) compiled = qr_in_columns<E, order, order, its_lanes>;
        }
    });
    return launch_in_rows(
        executor, qr_file,
        core::text("qr_in_columns<", type_name<E>(), ", ", m, ", ", n, ", ", lanes, ">"), compiled,
        p.a.extent[0], lanes, rows_shared_bytes<E>(m + published_rows<E>(m, n, lanes), n, lanes),
        p);
}

template <class Executor, class E>
void launch_cholesky_in_block(Executor& executor, const CholeskyArguments<E>& p) {
    const auto n = static_cast<int>(p.a.extent[1]);
    const BlockLaunch<E> launch(executor, p.a.extent[0], n, n, cholesky_bytes,
                                tuning::cholesky_bytes_per_thread<E>);
    using enum MatrixPlace;
    core::launch(executor,
                 launch.place == scratch ? cholesky_in_block<E, 4, scratch>
                 : n <= 64               ? cholesky_in_block<E, 2, shared>
                                         : cholesky_in_block<E, 4, shared>,
                 launch.config, p, launch.scratch);
}

template <class Executor, class E>
void launch_qr_in_block(Executor& executor, const QrArguments<E>& p) {
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    const BlockLaunch<E> launch(executor, p.a.extent[0], m, n, qr_vector_bytes<E>(m, n),
                                tuning::right_looking_bytes);
    using enum MatrixPlace;
    core::launch(executor,
                 launch.place == scratch ? qr_in_block<E, 8, scratch>
                 : m <= 64               ? qr_in_block<E, 2, shared>
                 : m <= 128              ? qr_in_block<E, 4, shared>
                                         : qr_in_block<E, 8, shared>,
                 launch.config, p, launch.scratch);
}

template <class Executor, class E>
void substitute(Executor& executor, const SubstituteArguments<E>& arguments) {
    const auto n = static_cast<int>(arguments.factor.extent[1]);
    const index_t problems = arguments.factor.extent[0];
    const index_t sides = arguments.x.extent[1];
    if (problems == 0 || sides == 0) return;
    const auto threads =
        static_cast<unsigned>(std::min<index_t>(sides * core::warp_size, block_solver_threads));
    core::launch(executor, substitute_in_block<E>,
                 core::LaunchConfig{dim3(core::blocks_for(problems, 1)), dim3(threads),
                                    static_cast<std::size_t>(index_bytes(n))},
                 arguments);
}

template <class Executor, class E>
void apply_q(Executor& executor, const ApplyQArguments<E>& arguments) {
    if (arguments.c.empty()) return;
    const auto threads = static_cast<unsigned>(
        std::min<index_t>(arguments.c.extent[1] * core::warp_size, block_solver_threads));
    core::launch(
        executor, apply_q_in_block<E>,
        core::LaunchConfig{dim3(core::blocks_for(arguments.c.extent[0], 1)), dim3(threads)},
        arguments);
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
                                                 core::kernel_view(transposed(q)), false, true});
}

}  // namespace aperture::dense
