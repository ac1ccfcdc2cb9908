// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_orthogonal.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_lu.hpp"
#include "libdense/cpu/lane_qr.hpp"
#include "libdense/cpu/lane_reflectors.hpp"
#include "libdense/cpu/right_hand_sides.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

/// Scales a matrix whose squares would overflow or vanish; returns the factor that R then lacks.
template <Scalar T>
core::Pack<Real<T>> make_safe(int m, int n, const lanes::Matrix<T>& a) {
    const core::Pack<Real<T>> scale = lanes::safe_scale(m, n, a);
    if (lanes::any(scale != Real<T>{1})) lanes::scale_matrix(m, n, scale, a);
    return scale;
}

/// Steps in which a factorisation, and solutions if there are sides, fetch memory ahead.
template <Scalar T>
index_t steps_ahead(int m, int n, index_t sides = 0) {
    if (lanes::is_reflected<T>(m)) return lanes::column_steps(n, sides);
    return lanes::qr_steps<T>(n) + (sides > 0 ? lanes::substitution_steps<T>(n, sides) : 0);
}

/// Loads a factor from `factor_qr` and its reflectors' factors.
template <Scalar T>
struct LoadedQr {
    int m, n;
    lanes::Matrix<T> qr, tau;

    static std::ptrdiff_t elements(const MatrixBatch<const T, core::Host>& qr) {
        return lanes::matrix_elements(qr.extent[1], qr.extent[2]) +
               lanes::matrix_elements(1, qr.extent[2]);
    }
    LoadedQr(const MatrixBatch<const T, core::Host>& batch,
             const VectorBatch<const T, core::Host>& factors, index_t first, int problems,
             lanes::Scratch<T>& scratch)
        : m(static_cast<int>(batch.extent[1])),
          n(static_cast<int>(batch.extent[2])),
          qr(scratch.like(batch)),
          tau(scratch.matrix(1, n)) {
        lanes::load_lanes<T>(batch, first, problems, lanes::Part::all, qr);
        lanes::load_lanes<T>(as_rows(factors), first, problems, lanes::Part::all, tau);
    }
};

}  // namespace

template <Scalar T>
void factor_qr(core::Cpu& cpu, MatrixBatch<const T, core::Host> a, MatrixBatch<T, core::Host> qr,
               VectorBatch<T, core::Host> tau) {
    expects_factor_qr(a, qr, tau);
    const int m = static_cast<int>(a.extent[1]);
    const int n = static_cast<int>(a.extent[2]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0], 2 * lanes::matrix_elements(m, n) + lanes::matrix_elements(1, n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factors = scratch.like(a);
            const lanes::Matrix<T> of_reflectors = scratch.matrix(1, n);
            lanes::Ahead ahead = lanes::next_packs<T>(a, qr, first, steps_ahead<T>(m, n));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, factors, &ahead);
            const core::Pack<Real<T>> scale = make_safe(m, n, factors);
            const bool done = lanes::with_reflectors<T>(m, n, [&](auto& reflectors) {
                reflectors.factor(factors, ahead);
                reflectors.store(factors, of_reflectors);
            });
            if (!done) lanes::factor_qr(m, n, factors, of_reflectors, ahead);
            if (lanes::any(scale != Real<T>{1})) {
                const core::Pack<Real<T>> back = Real<T>{1} / scale;
                for (int i = 0; i < n; ++i) {
                    lanes::scale_matrix(1, n - i, back, factors.from(i, i));
                }
            }
            lanes::store_as(m, n, factors, order_of(a), qr, first, problems, scratch, &ahead);
            lanes::store_lanes<T>(of_reflectors, as_rows(tau), first, problems);
        });
}

template <Scalar T>
void apply_q(core::Cpu& cpu, bool adjoint, MatrixBatch<const T, core::Host> qr,
             VectorBatch<const T, core::Host> tau, MatrixBatch<T, core::Host> c) {
    expects_applicable(qr, tau, c);
    const lanes::RightHandSides<T> vectors(c);
    lanes::for_each_pack<T>(cpu, qr.extent[0], LoadedQr<T>::elements(qr) + vectors.elements(),
                            [&](index_t first, int problems, lanes::Scratch<T> scratch) {
                                const LoadedQr<T> factors(qr, tau, first, problems, scratch);
                                vectors.for_each_part(
                                    first, problems, scratch, [&](int rows, const auto& part) {
                                        lanes::apply_q(adjoint, factors.m, factors.n, rows,
                                                       factors.qr, factors.tau, part.transposed());
                                    });
                            });
}

template <Scalar T>
void form_q(core::Cpu& cpu, MatrixBatch<const T, core::Host> qr,
            VectorBatch<const T, core::Host> tau, MatrixBatch<T, core::Host> q) {
    expects_formable(qr, tau, q);
    lanes::for_each_pack<T>(
        cpu, qr.extent[0],
        LoadedQr<T>::elements(qr) + lanes::matrix_elements(qr.extent[1], qr.extent[2]),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const LoadedQr<T> factors(qr, tau, first, problems, scratch);
            const lanes::Matrix<T> result = scratch.like(q);
            lanes::form_q(factors.m, factors.n, factors.qr, factors.tau, result);
            lanes::store_lanes<T>(result, q, first, problems);
        });
}

template <Scalar T>
void least_squares(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                   MatrixBatch<const T, core::Host> b, MatrixBatch<T, core::Host> x,
                   core::View<int, 1, core::Host> info) {
    expects_least_squares(a, b, x, info);
    const int m = static_cast<int>(a.extent[1]);
    const int n = static_cast<int>(a.extent[2]);
    const int sides = static_cast<int>(b.extent[1]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0],
        lanes::matrix_elements(m, n) + lanes::matrix_elements(1, n) +
            lanes::matrix_elements(sides, m) + lanes::matrix_elements(sides, n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> factors = scratch.like(a);
            const lanes::Matrix<T> tau = scratch.matrix(1, n);
            const lanes::Matrix<T> rows = scratch.like(b);
            lanes::Ahead ahead = lanes::next_matrices<T>(
                a, first, lanes::transfer_steps<T>(a) + steps_ahead<T>(m, n, sides));
            lanes::load_lanes<T>(a, first, problems, lanes::Part::all, factors, &ahead);
            lanes::load_lanes<T>(b, first, problems, lanes::Part::all, rows);
            const core::Pack<Real<T>> scale = make_safe(m, n, factors);
            lanes::Info<T> of_lanes;
            const bool done = lanes::with_reflectors<T>(m, n, [&](auto& reflectors) {
                reflectors.factor(factors, ahead);
                of_lanes = reflectors.prepare_solutions();
                reflectors.solve(sides, rows, ahead);
            });
            if (!done) {
                lanes::factor_qr(m, n, factors, tau, ahead);
                lanes::apply_q(true, m, n, sides, factors, tau, rows.transposed());
                of_lanes = lanes::invert_r_diagonal(n, factors);
                lanes::substitute_upper(n, sides, factors, rows, ahead);
            }
            lanes::scale_matrix(sides, n, scale, rows);
            if (lanes::report<T>(of_lanes, first, problems, info)) {
                lanes::clear_failed<T>(of_lanes, sides, n, rows);
            }
            lanes::store_as(sides, n, rows, order_of(b), x, first, problems, scratch);
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_QR, core::Cpu)

}  // namespace aperture::dense
