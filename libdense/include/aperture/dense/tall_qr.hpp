// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>

#include "aperture/core/executor.hpp"
#include "aperture/core/view.hpp"

namespace aperture::dense {

/// How a matrix of many rows and few columns is brought to triangular form.
enum class QrMethod {
    /// Blocks of rows, then their triangles in a tree (Demmel, Grigori, Hoemmen & Langou 2012;
    /// Anderson 2014, section 3.3): for up to some hundreds of columns.
    tsqr,
    /// The same panel by panel of columns, with a tree for the columns behind each (CAQR): for
    /// wider matrices.
    caqr,
    /// One reflector after the other over whole columns, as bound by memory as matrix times vector:
    /// what the others are compared with.
    blas2,
    /// R of the Gram matrix A^T A by Cholesky, Q = A R^-1, and the same of that Q (Yamamoto et al.
    /// 2015). For matrices of condition up to some 10^7; where it would lose orthogonality the
    /// matrix is factored by `tsqr` instead (`fell_back`). On a Gpu fp32 matrices of condition up
    /// to some 10^3, their columns brought to one length, need no second step: all of the first is
    /// in fp64 (Yamazaki, Tomov & Dongarra 2015). With fast fp64 (compute capability 8.0, 9.0,
    /// 10.0) and 100 to 200 columns it takes a third to a seventh of the time of `tsqr`.
    cholesky2,
    /// The same after a first step with a shifted Gram matrix, for any condition as long as rows
    /// are not too alike (Fukaya et al. 2020).
    shifted_cholesky3,
};

/// QR of matrices of one shape: A = Q R with A of `rows` x `columns`, at least as many rows as
/// columns, Q of the same shape with orthonormal columns, R upper triangular. Backward stable
/// whatever A's condition: ||A - QR||_F and ||I - Q^T Q||_F stay within a small multiple of the
/// unit roundoff, also where columns depend on each other or are zero. Signs on R's diagonal are as
/// they come. NaN and infinities in A spread, in R as well.
///
/// Views may have any strides; rows or columns that lie densely are read faster. Holds all
/// workspace: further calls of the same kind allocate nothing. On a Cpu the bits are the same for
/// every number of threads. On a Gpu calls are asynchronous, but for those by Cholesky's factor,
/// which wait for the device to tell whether it is good enough.
template <std::floating_point T, class Executor>
class TallQr {
  public:
    using Space = typename Executor::Space;
    template <class U>
    using Matrix = core::View<U, 2, Space>;

    /// Throws core::InvalidArgument for an empty matrix and for fewer rows than columns.
    TallQr(Executor& executor, QrMethod method, core::index_t rows, core::index_t columns);
    ~TallQr();
    TallQr(TallQr&&) noexcept;
    TallQr& operator=(TallQr&&) noexcept;

    /// Finds R, [column][column], and keeps Q, as reflectors or by Cholesky's factor as it is, in
    /// as much memory as A takes.
    void factor(Matrix<const T> a, Matrix<T> r);
    /// Finds R alone; what Q was kept is lost.
    void find_r(Matrix<const T> a, Matrix<T> r);

    /// Whether the last matrix was too near to one of dependent columns for its method, and was
    /// factored by QrMethod::tsqr.
    bool fell_back() const;

    /// The functions that follow use Q of the last `factor`, and throw core::InvalidArgument where
    /// there is none or the extents do not fit.

    /// Writes Q, [row][column].
    void form_q(Matrix<T> q);
    /// x = Q^T c, of [row][any] to [column][any].
    void apply_q_transposed(Matrix<const T> c, Matrix<T> x);
    /// c = Q x, of [column][any] to [row][any].
    void apply_q(Matrix<const T> x, Matrix<T> c);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::dense
