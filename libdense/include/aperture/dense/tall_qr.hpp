// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "aperture/core/executor.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/core/view.hpp"

namespace aperture::dense {

/// Algorithms for the QR factorisation of a tall matrix.
enum class QrMethod {
    /// Blocks of rows, then a reduction tree over their triangles (Demmel, Grigori, Hoemmen &
    /// Langou 2012; Anderson 2014, section 3.3). On a Gpu each panel of 32 columns has a tree,
    /// which then updates the trailing columns (CAQR; section 3.4).
    tsqr,
    /// R by Cholesky of the Gram matrix A^T A, Q = A R^-1, and the same again for that Q (Yamamoto
    /// et al. 2015). For condition numbers up to about 10^7; if orthogonality would be lost, the
    /// matrix is factored by `tsqr` instead (`fell_back`), as are more columns than a device's
    /// shared memory has room for (some 1,600 in fp32 and 800 in fp64 on compute capability 9.0,
    /// 600 and 300 with 99 KiB per block). On a Gpu the first step is entirely in
    /// fp64 (Yamazaki, Tomov & Dongarra 2015): fp32 matrices need no second step up to a condition
    /// number of about 10^3 with columns scaled to one length. With fast fp64 (compute capability
    /// 8.0, 9.0, 10.0) and 100 to 200 columns it takes a third to a seventh of the time of `tsqr`.
    cholesky2,
};

template <class T, class Space>
class TallFactors;

/// QR of matrices of one shape: A = Q R with A of `rows` x `columns`, rows >= columns, Q of the
/// same shape with orthonormal columns, R upper triangular. Backward stable for any condition
/// number: ||A - QR||_F and ||I - Q^T Q||_F stay within a small multiple of the unit roundoff, even
/// if columns are dependent or zero. The signs of R's diagonal are not normalised. NaN and
/// infinities in A propagate, also into R.
///
/// Views may have any strides; contiguous rows or columns are read faster. Owns all workspace:
/// further calls of the same kind allocate nothing. On a Cpu results are bitwise identical for
/// every number of threads. On a Gpu calls are asynchronous, except with cholesky2, which
/// waits for the device to report whether the Cholesky factor is accurate enough.
template <std::floating_point T, class Executor>
class TallQr {
  public:
    using Space = typename Executor::Space;
    template <class U>
    using Matrix = core::View<U, 2, Space>;

    /// Throws core::InvalidArgument for an empty matrix and for fewer rows than columns. The
    /// executor must outlive the object.
    TallQr(Executor& executor, QrMethod method, core::index_t rows, core::index_t columns);

    /// Computes R, [column][column], and keeps Q, as reflectors or explicitly (Cholesky), in as
    /// much memory as A.
    void factor(Matrix<const T> a, Matrix<T> r);
    /// Computes R only; discards the previous Q.
    void find_r(Matrix<const T> a, Matrix<T> r);

    /// Bytes that `find_r` of such a TallQr needs in the memory of the executor, the fallback and
    /// the scratch memory of a Cpu's threads included.
    static core::index_t find_r_bytes(Executor& executor, QrMethod method, core::index_t rows,
                                      core::index_t columns);

    /// Whether the last matrix was factored by QrMethod::tsqr in place of the method: it was too
    /// close to rank deficiency, or its columns exceed a device's shared memory.
    bool fell_back() const;

    /// The following functions use Q of the last `factor`. They throw core::InvalidArgument if
    /// there is none or if the extents do not fit.

    /// Writes Q, [row][column].
    void form_q(Matrix<T> q);
    /// x = Q^T c, of [row][any] to [column][any].
    void apply_q_transposed(Matrix<const T> c, Matrix<T> x);
    /// c = Q x, of [column][any] to [row][any].
    void apply_q(Matrix<const T> x, Matrix<T> c);

  private:
    void factor(Matrix<const T> a, Matrix<T> r, bool keep);
    /// Throws unless Q is kept.
    void expects_q() const;
    /// Checks x and c, and calls apply(x, c) for as many of their columns at a time as A has.
    template <class X, class C, class Apply>
    void apply_in_parts(const X& x, const C& c, const Apply& apply);

    core::index_t rows_;
    core::index_t columns_;
    bool kept_ = false;  ///< whether Q can be applied
    core::Owned<TallFactors<T, Space>> factors_;
};

extern template class TallQr<float, core::Cpu>;
extern template class TallQr<double, core::Cpu>;

}  // namespace aperture::dense
