// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The launch of factorisations and solutions of general matrices, of Cholesky's and of QR, and of
// what applies factors, in the registers of a few lanes. These return false where no such kernel is
// available.

#include <string>

#include "libdense/gpu/columns_launch.cuh"

namespace aperture::dense::detail {

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
        compiled, p.a.extent[0], lanes,
        rows_shared_bytes<E>(n, n, lanes) + rows_shared_bytes<E>(sides, n, lanes), p);
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

template <class Executor, class E>
bool launch_elimination_in_rows(Executor& executor, const LuArguments<E>& p) {
    using enum GeneralElimination;
    using enum tuning::RowsWork;
    const auto n = static_cast<int>(p.a.extent[1]);
    const bool solves = !p.x.empty();
    const bool inverts = !p.inverse.empty();
    const bool exchange = p.elimination == pivoted_lu;
    const int sides = solves ? tuning::compiled_sides(p.x.extent[1]) : 0;
    const int lanes = tuning::rows_lanes<E>(inverts    ? inverse
                                            : solves   ? solution
                                            : exchange ? pivoted_factors
                                                       : factors,
                                            n, n + sides);
    if (lanes == 0 || p.x.extent[1] > tuning::most_sides) return false;
    void (*compiled)(LuArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int of_lu = tuning::rows_lanes<E>(factors, order, order);
        constexpr int of_pivoted = tuning::rows_lanes<E>(pivoted_factors, order, order);
        constexpr int of_inverse = tuning::rows_lanes<E>(inverse, order, order);
        constexpr int of_solution = tuning::rows_lanes<E>(solution, order, order + ahead_sides);
        if constexpr (of_inverse > 0) {
            if (inverts) compiled = inverse_in_rows<E, order, of_inverse>;
        }
        if constexpr (of_solution > 0) {
            if (sides == ahead_sides) {
                compiled =
                    p.elimination == lu ? solve_in_rows<E, order, ahead_sides, of_solution, lu>
                    : exchange ? solve_in_rows<E, order, ahead_sides, of_solution, pivoted_lu>
                               : solve_in_rows<E, order, ahead_sides, of_solution, gauss_jordan>;
            }
        }
        if constexpr (of_lu > 0 && of_pivoted > 0) {
            if (!inverts && !solves) {
                compiled = exchange ? lu_in_rows<E, order, of_pivoted, true>
                                    : lu_in_rows<E, order, of_lu, false>;
            }
        }
    });
    const std::string its = core::text(type_name<E>(), ", ", n, ", ");
    return launch_in_rows(
        executor, rows_file,
        inverts  ? core::text("inverse_in_rows<", its, lanes, ">")
        : solves ? core::text("solve_in_rows<", its, sides, ", ", lanes,
                              ", aperture::dense::", name_of(p.elimination), ">")
                 : core::text("lu_in_rows<", its, lanes, ", ", exchange ? "true" : "false", ">"),
        compiled, p.a.extent[0], lanes,
        rows_shared_bytes<E>(n, rows_width(n + sides), lanes) +
            rows_shared_bytes<E>(sides, n, lanes),
        p);
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
        p.a.extent[0], lanes, qr_shared_bytes<E>(m, n, lanes), p);
}

template <class Executor, class E>
bool launch_least_squares_in_columns(Executor& executor, const QrArguments<E>& p) {
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    if (p.x.extent[1] > tuning::most_sides) return false;
    const int sides = tuning::compiled_sides(p.x.extent[1]);
    const int lanes = tuning::least_squares_lanes<E>(m, n, sides);
    if (lanes == 0) return false;
    void (*compiled)(QrArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::least_squares_lanes<E>(order, order, ahead_sides);
        if constexpr (its_lanes > 0) {
            if (m == n && sides == ahead_sides) {
                compiled = least_squares_in_columns<E, order, order, ahead_sides, its_lanes>;
            }
        }
    });
    return launch_in_rows(executor, qr_file,
                          core::text("least_squares_in_columns<", type_name<E>(), ", ", m, ", ", n,
                                     ", ", sides, ", ", lanes, ">"),
                          compiled, p.a.extent[0], lanes,
                          least_squares_shared_bytes<E>(m, n, sides, lanes), p);
}

template <class Executor, class E>
bool launch_substitute_in_lanes(Executor& executor, const SubstituteArguments<E>& p) {
    const auto n = static_cast<int>(p.factor.extent[1]);
    const int lanes = tuning::apply_lanes<E>(n, n);
    if (lanes == 0) return false;
    // More of them are further passes.
    int sides = p.x.extent[1] <= 1 ? 1 : ahead_sides;
    void (*compiled)(SubstituteArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int its_lanes = tuning::apply_lanes<E>(order, order);
        if constexpr (its_lanes > 0) {
            compiled = p.cholesky ? substitute_in_lanes<E, order, ahead_sides, its_lanes, true>
                                  : substitute_in_lanes<E, order, ahead_sides, its_lanes, false>;
            sides = ahead_sides;
        }
    });
    return launch_in_rows(executor, apply_file,
                          core::text("substitute_in_lanes<", type_name<E>(), ", ", n, ", ", sides,
                                     ", ", lanes, ", ", p.cholesky ? "true" : "false", ">"),
                          compiled, p.factor.extent[0], lanes,
                          substitute_shared_bytes<E>(n, sides, lanes), p);
}

template <class Executor, class E>
bool launch_apply_q_in_lanes(Executor& executor, const ApplyQArguments<E>& p) {
    const auto m = static_cast<int>(p.qr.extent[1]);
    const auto n = static_cast<int>(p.qr.extent[2]);
    const int lanes = p.form ? tuning::form_q_lanes<E>(m, n) : tuning::apply_lanes<E>(m, n);
    if (lanes == 0) return false;
    int sides = p.form ? 0 : p.c.extent[1] <= 1 ? 1 : ahead_sides;
    void (*compiled)(ApplyQArguments<E>) = nullptr;
    if_compiled(typename CompiledOrders<Executor>::type{}, n, [&](auto order) {
        constexpr int to_apply = tuning::apply_lanes<E>(order, order);
        constexpr int to_form = tuning::form_q_lanes<E>(order, order);
        if (m != n) return;
        if constexpr (to_apply > 0) {
            if (!p.form) {
                compiled = p.adjoint
                               ? apply_q_in_lanes<E, order, order, ahead_sides, to_apply, true>
                               : apply_q_in_lanes<E, order, order, ahead_sides, to_apply, false>;
                sides = ahead_sides;
            }
        }
        if constexpr (to_form > 0) {
            if (p.form) compiled = form_q_in_lanes<E, order, order, to_form>;
        }
    });
    const std::string its = core::text(type_name<E>(), ", ", m, ", ", n, ", ");
    return launch_in_rows(executor, apply_file,
                          p.form ? core::text("form_q_in_lanes<", its, lanes, ">")
                                 : core::text("apply_q_in_lanes<", its, sides, ", ", lanes, ", ",
                                              p.adjoint ? "true" : "false", ">"),
                          compiled, p.qr.extent[0], lanes,
                          apply_q_shared_bytes<E>(m, n, sides, lanes), p);
}

}  // namespace aperture::dense::detail
