// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_jacobi.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

/// A row of n real numbers.
template <Scalar T>
lanes::Matrix<Real<T>> real_row(int n, lanes::Scratch<T>& scratch) {
    return {scratch.matrix(1, n).data, 0, 1};
}

template <Scalar T>
lanes::Info<T> info_of(lanes::Mask<Real<T>> failed) {
    return failed ? lanes::Info<T>{} + 1 : lanes::Info<T>{};
}

/// Stores the values, which lack a factor.
template <Scalar T>
void store_values(int n, const lanes::Matrix<Real<T>>& values, core::Pack<Real<T>> factor,
                  const lanes::Info<T>& info, const VectorBatch<Real<T>, core::Host>& batch,
                  index_t first, int problems) {
    lanes::scale_matrix<Real<T>>(1, n, factor, values);
    lanes::finish<Real<T>>(info, 1, n, values);
    lanes::store_as<Real<T>>(1, n, values, Order::columns, as_rows(batch), first, problems,
                             lanes::Scratch<Real<T>>(values.at(0, n)));
}

/// Replaces columns that are as good as zero, the last ones of U, by ones that complete the others
/// to an orthonormal basis: those of the Q of U = QR.
template <Scalar T>
void complete_columns(int m, int n, const lanes::Matrix<Real<T>>& values, const lanes::Matrix<T>& u,
                      lanes::Scratch<T> scratch) {
    const lanes::Matrix<T> qr = scratch.matrix(m, n, Order::rows);
    const lanes::Matrix<T> q = scratch.matrix(m, n, Order::rows);
    const lanes::Matrix<T> tau = scratch.matrix(1, n);
    lanes::copy(m, n, u, qr);
    lanes::Ahead nothing;
    lanes::factor_qr(m, n, qr, tau, nothing);
    lanes::form_q(m, n, qr, tau, q);
    for (int j = 0; j < n; ++j) {
        const auto good = values.load(0, j).re > lanes::least_length<Real<T>>;
        for (int i = 0; i < m; ++i) u.store(i, j, select(good, u.load(i, j), q.load(i, j)));
    }
}

/// Brings the columns of A V to length one, and sorts them by their lengths, the values.
template <Scalar T>
void split_lengths(int m, int n, const lanes::Matrix<T>& u, const lanes::Matrix<Real<T>>& values,
                   const lanes::Matrix<T>& v, lanes::Scratch<T> scratch) {
    using R = Real<T>;
    const auto length_of = [&](int j) {
        core::Pack<R> sum{};
        for (int i = 0; i < m; ++i) sum += lanes::square(u.load(i, j));
        return lanes::square_root<R>(sum);
    };
    for (int j = 0; j < n; ++j) values.store(0, j, {length_of(j)});
    lanes::sort_columns(false, n, values, m, u, n, v);
    lanes::Mask<R> incomplete{};
    for (int j = 0; j < n; ++j) {
        const core::Pack<R> length = values.load(0, j).re;
        const lanes::Mask<R> good = length > lanes::least_length<R>;
        incomplete |= ~good;
        const core::Pack<R> factor =
            good ? R{1} / (good ? length : core::broadcast(R{1})) : core::Pack<R>{};
        lanes::scale_matrix(m, 1, factor, u.from(0, j));
    }
    if (lanes::any(incomplete)) complete_columns(m, n, values, u, scratch);
}

}  // namespace

template <Scalar T>
void eigen_hermitian(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                     VectorBatch<Real<T>, core::Host> values, MatrixBatch<T, core::Host> vectors,
                     core::View<int, 1, core::Host> info) {
    expects_eigen(a, values, vectors, info);
    const int n = static_cast<int>(a.extent[1]);
    const bool wants_vectors = !vectors.empty();
    lanes::for_each_pack<T>(
        cpu, a.extent[0], 3 * lanes::matrix_elements(n, n) + lanes::matrix_elements(1, 2 * n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> matrix = scratch.like(a);
            const lanes::Matrix<T> v = scratch.matrix(n, n, Order::rows);
            const lanes::Matrix<Real<T>> eigenvalues = real_row<T>(2 * n, scratch);
            lanes::load_lanes<T>(a, first, problems, lanes::Part::lower, matrix);
            for (int i = 0; i < n; ++i) {
                matrix.store(i, i, lanes::real_element<T>(matrix.load(i, i).re));
            }
            lanes::Mask<Real<T>> failed;
            const core::Pack<Real<T>> factor = lanes::normalise(
                n, [](int i) { return i + 1; }, matrix, failed);
            if (wants_vectors) lanes::set_identity(n, v);
            failed |= lanes::diagonalise(n, matrix, wants_vectors ? &v : nullptr);
            for (int i = 0; i < n; ++i) eigenvalues.store(0, i, {matrix.load(i, i).re});
            const int rows = wants_vectors ? n : 0;
            lanes::sort_columns(true, n, eigenvalues, rows, v, 0, v);
            const lanes::Info<T> of_lanes = info_of<T>(failed);
            lanes::report<T>(of_lanes, first, problems, info);
            store_values<T>(n, eigenvalues, factor, of_lanes, values, first, problems);
            if (wants_vectors) {
                lanes::finish(of_lanes, n, n, v);
                lanes::store_as(n, n, v, Order::rows, vectors, first, problems, scratch);
            }
        });
}

template <Scalar T>
void svd(core::Cpu& cpu, MatrixBatch<const T, core::Host> a, MatrixBatch<T, core::Host> u,
         VectorBatch<Real<T>, core::Host> values, MatrixBatch<T, core::Host> v,
         core::View<int, 1, core::Host> info) {
    expects_svd(a, u, values, v, info);
    const int m = static_cast<int>(a.extent[1]);
    const int n = static_cast<int>(a.extent[2]);
    lanes::for_each_pack<T>(
        cpu, a.extent[0],
        3 * lanes::matrix_elements(m, n) + lanes::matrix_elements(n, n) +
            lanes::matrix_elements(1, n) + lanes::matrix_elements(1, 2 * n),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> left = scratch.matrix(m, n, Order::rows);
            const lanes::Matrix<T> right = scratch.matrix(n, n, Order::rows);
            const lanes::Matrix<Real<T>> lengths = real_row<T>(2 * n, scratch);
            {
                lanes::Scratch<T> rest = scratch;
                const lanes::Matrix<T> loaded = rest.like(a);
                lanes::load_lanes<T>(a, first, problems, lanes::Part::all, loaded);
                lanes::copy(m, n, loaded, left);
            }
            lanes::Mask<Real<T>> failed;
            const core::Pack<Real<T>> factor = lanes::normalise(
                m, [n](int) { return n; }, left, failed);
            lanes::set_identity(n, right);
            failed |= lanes::make_orthogonal(m, n, left, right);
            split_lengths(m, n, left, lengths, right, scratch);
            const lanes::Info<T> of_lanes = info_of<T>(failed);
            lanes::report<T>(of_lanes, first, problems, info);
            store_values<T>(n, lengths, factor, of_lanes, values, first, problems);
            lanes::finish(of_lanes, m, n, left);
            lanes::finish(of_lanes, n, n, right);
            lanes::store_as(m, n, left, Order::rows, u, first, problems, scratch);
            lanes::store_as(n, n, right, Order::rows, v, first, problems, scratch);
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_SPECTRAL, core::Cpu)

}  // namespace aperture::dense
