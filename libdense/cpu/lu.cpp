// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_factor.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_elimination.hpp"
#include "libdense/cpu/lane_lu.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

template <Scalar T>
void solve_by_elimination(core::Cpu& cpu, const MatrixBatch<const T, core::Host>& a,
                          const MatrixBatch<T, core::Host>& x,
                          core::View<int, 1, core::Host> info) {
    const int n = static_cast<int>(a.extent[1]);
    const lanes::RightHandSides<T> sides(x);
    lanes::for_each_pack<T>(
        cpu, a.extent[0], lanes::matrix_elements(n, n) + sides.elements(),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> matrix = scratch.like(a);
            lanes::Ahead ahead = lanes::next_matrices<T>(
                a, first, lanes::transfer_steps<T>(a) + lanes::column_steps(n, sides.count()));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, matrix, &ahead);
            lanes::with_elimination<T>(n, [&](auto& elimination) {
                const lanes::Info<T> of_lanes = elimination.eliminate(matrix, ahead);
                const bool failed = lanes::report<T>(of_lanes, first, problems, info);
                sides.for_each_part(first, problems, scratch, [&](int rows, const auto& part) {
                    elimination.solve(rows, part, ahead);
                    if (failed) lanes::clear_failed<T>(of_lanes, rows, n, part);
                });
            });
        });
}

}  // namespace

template <Scalar T>
void factor_lu(core::Cpu& cpu, Pivoting pivoting, MatrixBatch<const T, core::Host> a,
               MatrixBatch<T, core::Host> lu, core::View<int, 2, core::Host> pivots,
               core::View<int, 1, core::Host> info) {
    expects_lu(a, lu, pivoting, pivots, info);
    const int n = static_cast<int>(a.extent[1]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0], 2 * lanes::matrix_elements(n, n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factors = scratch.like(a);
            lanes::PivotRows<T> rows;
            lanes::Ahead ahead =
                lanes::next_packs<T>(a, lu, first, lanes::factor_steps(pivoting, n));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, factors, &ahead);
            lanes::report<T>(lanes::factor_lu(pivoting, n, factors, rows.data(), ahead), first,
                             problems, info);
            lanes::store_as(n, n, factors, order_of(a), lu, first, problems, scratch, &ahead);
            if (pivots.empty()) return;
            for (int l = 0; l < problems; ++l) {
                for (int k = 0; k < n; ++k) {
                    pivots(first + l, k) =
                        pivoting == Pivoting::partial ? rows[k * lanes::width<T> + l] : k;
                }
            }
        });
}

template <Scalar T>
void substitute_lu(core::Cpu& cpu, MatrixBatch<const T, core::Host> lu,
                   core::View<const int, 2, core::Host> pivots, MatrixBatch<T, core::Host> x) {
    expects_factored("substitute_lu", "lu", lu, x, pivots);
    const int n = static_cast<int>(lu.extent[1]);
    const Pivoting pivoting = pivots.empty() ? Pivoting::none : Pivoting::partial;
    const lanes::RightHandSides<T> sides(x);
    lanes::for_each_pack<T>(
        cpu, lu.extent[0], lanes::matrix_elements(n, n) + sides.elements(),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factors = scratch.like(lu);
            lanes::load_lanes<T>(lu, first, problems, lanes::Part::all, factors);
            lanes::RowScales<T> scales;
            lanes::invert_diagonal(n, factors, scales);
            lanes::PivotRows<T> rows;
            for (int l = 0; l < lanes::width<T>; ++l) {
                const index_t problem = first + std::min(l, problems - 1);
                for (int k = 0; k < n && !pivots.empty(); ++k) {
                    // A wrong row must not lead out of the matrix.
                    rows[k * lanes::width<T> + l] = std::clamp(pivots(problem, k), 0, n - 1);
                }
            }
            lanes::Ahead nothing;
            sides.for_each_part(first, problems, scratch, [&](int some, const auto& part) {
                lanes::solve_lu(pivoting, n, some, factors, scales, rows.data(), part, nothing);
            });
        });
}

template <Scalar T>
void solve_lu(core::Cpu& cpu, Pivoting pivoting, MatrixBatch<const T, core::Host> a,
              MatrixBatch<T, core::Host> x, core::View<int, 1, core::Host> info) {
    expects_solvable("solve_lu", a, x, info);
    const int n = static_cast<int>(a.extent[1]);
    if (pivoting == Pivoting::partial && lanes::is_in_registers(n)) {
        return solve_by_elimination(cpu, a, x, info);
    }
    const lanes::RightHandSides<T> sides(x);
    lanes::for_each_pack<T>(
        cpu, a.extent[0], lanes::matrix_elements(n, n) + sides.elements(),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factors = scratch.like(a);
            lanes::PivotRows<T> rows;
            lanes::Ahead ahead = lanes::next_matrices<T>(
                a, first,
                lanes::transfer_steps<T>(a) + lanes::factor_steps(pivoting, n) +
                    2 * lanes::substitution_steps<T>(n, sides.count()));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, factors, &ahead);
            const lanes::Info<T> of_lanes =
                lanes::factor_lu(pivoting, n, factors, rows.data(), ahead);
            const bool failed = lanes::report<T>(of_lanes, first, problems, info);
            lanes::RowScales<T> scales;
            lanes::invert_diagonal(n, factors, scales);
            sides.for_each_part(first, problems, scratch, [&](int some, const auto& part) {
                lanes::solve_lu(pivoting, n, some, factors, scales, rows.data(), part, ahead);
                if (failed) lanes::clear_failed<T>(of_lanes, some, n, part);
            });
        });
}

template <Scalar T>
void solve_gauss_jordan(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                        MatrixBatch<T, core::Host> x, core::View<int, 1, core::Host> info) {
    expects_solvable("solve_gauss_jordan", a, x, info);
    // Clearing below the pivots and substituting takes two thirds of the operations.
    solve_lu(cpu, Pivoting::none, a, x, info);
}

template <Scalar T>
void invert(core::Cpu& cpu, MatrixBatch<const T, core::Host> a, MatrixBatch<T, core::Host> inverse,
            core::View<int, 1, core::Host> info) {
    expects_factor("invert", a, "inverse", inverse, info);
    const int n = static_cast<int>(a.extent[1]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0], 2 * lanes::matrix_elements(n, n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> matrix = scratch.like(a);
            lanes::Ahead ahead =
                lanes::next_packs<T>(a, inverse, first, lanes::inverse_steps<T>(n));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, matrix, &ahead);
            const lanes::Matrix<T> result = scratch.like(inverse);
            const lanes::Info<T> of_lanes = lanes::invert(n, matrix, result.transposed(), ahead);
            if (lanes::report<T>(of_lanes, first, problems, info)) {
                lanes::clear_failed<T>(of_lanes, n, n, result);
            }
            lanes::store_lanes<T>(result, inverse, first, problems, &ahead);
        });
}

template <Scalar T>
void determinant(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                 core::View<T, 1, core::Host> result) {
    expects_determinant(a, result);
    const int n = static_cast<int>(a.extent[1]);
    const MatrixBatch<T, core::Host> results{
        result.data, {result.extent[0], 1, 1}, {result.stride[0], 1, 1}};
    lanes::for_each_pack<T>(cpu, a.extent[0], lanes::matrix_elements(n, n) + 1,
                            [&](index_t first, int problems, lanes::Scratch<T> scratch) {
                                const lanes::Matrix<T> factors = scratch.like(a);
                                const lanes::Matrix<T> value = scratch.like(results);
                                lanes::PivotRows<T> rows;
                                lanes::load_lanes<T>(a, first, problems, lanes::Part::all, factors);
                                lanes::Ahead nothing;
                                lanes::factor_lu(Pivoting::partial, n, factors, rows.data(),
                                                 nothing);
                                value.store(0, 0, lanes::determinant(n, factors, rows.data()));
                                lanes::store_lanes<T>(value, results, first, problems);
                            });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_LU, core::Cpu)

}  // namespace aperture::dense
