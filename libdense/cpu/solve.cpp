// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_factor.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_kernels.hpp"
#include "libdense/cpu/right_hand_sides.hpp"

// Cholesky factors, and what uses them.

namespace aperture::dense {
namespace {

using core::index_t;

/// Writes info and pivot ratio; returns whether any of the problems failed.
template <Scalar T>
bool report(const lanes::Pivots<T>& pivots, int n, index_t first, int problems,
            core::View<int, 1, core::Host> info, core::View<Real<T>, 1, core::Host> pivot_ratio) {
    if (!pivot_ratio.empty()) {
        const core::Pack<Real<T>> ratio = pivots.ratio();
        for (int l = 0; l < problems; ++l) pivot_ratio(first + l) = n == 0 ? Real<T>{1} : ratio[l];
    }
    return lanes::report<T>(pivots.info, first, problems, info);
}

/// Replaces the reciprocals on the diagonal by the entries, and clears what is above.
template <Scalar T>
void complete_factor(int n, const lanes::Matrix<T>& g) {
    for (int i = 0; i < n; ++i) {
        g.store(i, i, lanes::real_element<T>(Real<T>{1} / g.load(i, i).re));
        for (int j = i + 1; j < n; ++j) g.store(i, j, lanes::Element<T>{});
    }
}

}  // namespace

template <Scalar T>
void solve(core::Cpu& cpu, Factorisation factorisation, MatrixBatch<const T, core::Host> a,
           MatrixBatch<T, core::Host> x, core::View<int, 1, core::Host> info,
           core::View<Real<T>, 1, core::Host> pivot_ratio) {
    expects_solvable(a, x, info, pivot_ratio);
    const int n = static_cast<int>(a.extent[1]);
    const lanes::RightHandSides<T> sides(x);
    const bool eliminate = factorisation == Factorisation::gauss_jordan;
    const std::ptrdiff_t elements =
        (eliminate ? 2 : 1) * lanes::matrix_elements(n, n) + sides.elements();
    lanes::for_each_pack<T>(
        cpu, a.extent[0], elements, [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> g = scratch.like(a);
            lanes::Ahead ahead = lanes::next_matrices<T>(
                a, first,
                lanes::transfer_steps<T>(a, lanes::Part::lower) + lanes::cholesky_steps<T>(n) +
                    2 * lanes::substitution_steps<T>(n, sides.count()));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::lower, g, &ahead);
            const lanes::Pivots<T> pivots = lanes::factor(n, g, ahead);
            const bool failed = report(pivots, n, first, problems, info, pivot_ratio);
            lanes::Matrix<T> h;
            if (eliminate) {
                h = scratch.matrix(n, n);
                lanes::eliminate_above(n, g, h);
            }
            sides.for_each_part(first, problems, scratch, [&](int rows, const auto& part) {
                if (eliminate) {
                    lanes::solve_eliminated(n, rows, g, h, part, part);
                } else {
                    lanes::solve(n, rows, g, part, part, ahead);
                }
                if (failed) lanes::clear_failed<T>(pivots.info, rows, n, part);
            });
        });
}

template <Scalar T>
void factor_cholesky(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                     MatrixBatch<T, core::Host> g, core::View<int, 1, core::Host> info) {
    expects_factor("factor_cholesky", a, "g", g, info);
    const int n = static_cast<int>(a.extent[1]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0], 2 * lanes::matrix_elements(n, n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factor = scratch.like(a);
            lanes::Ahead ahead = lanes::next_packs<T>(a, g, first, lanes::cholesky_steps<T>(n));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::lower, factor, &ahead);
            lanes::report<T>(lanes::factor(n, factor, ahead).info, first, problems, info);
            complete_factor(n, factor);
            lanes::store_as(n, n, factor, order_of(a), g, first, problems, scratch, &ahead);
        });
}

template <Scalar T>
void substitute_cholesky(core::Cpu& cpu, MatrixBatch<const T, core::Host> g,
                         MatrixBatch<T, core::Host> x) {
    expects_factored("substitute_cholesky", "g", g, x);
    const int n = static_cast<int>(g.extent[1]);
    const lanes::RightHandSides<T> sides(x);
    lanes::for_each_pack<T>(
        cpu, g.extent[0], lanes::matrix_elements(n, n) + sides.elements(),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factor = scratch.like(g);
            lanes::load_lanes<T>(g, first, problems, lanes::Part::lower, factor);
            for (int i = 0; i < n; ++i) {
                factor.store(i, i, lanes::real_element<T>(Real<T>{1} / factor.load(i, i).re));
            }
            lanes::Ahead nothing;
            sides.for_each_part(first, problems, scratch, [&](int rows, const auto& part) {
                lanes::solve(n, rows, factor, part, part, nothing);
            });
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_SOLVE, core::Cpu)
APERTURE_FOR_ALL_SCALARS(APERTURE_CHOLESKY, core::Cpu)

}  // namespace aperture::dense
