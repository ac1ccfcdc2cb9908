// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a Cholesky factorisation in registers reads: the entries of a lane's column of a covariance.

#include "libstap/gpu/weights.cuh"

namespace aperture::stap::gpu::detail {

/// Entries of matrix `q` in a lane's column, for successive pivot rows. Above the diagonal they
/// mirror the lower triangle; below it they are garbage.
template <class Real, int order>
class TriangleEntries {
  public:
    __device__ __forceinline__ TriangleEntries(const CovarianceGroup<Real>& group, int q,
                                               int column)
        : mirror_(&group.triangle(q)(column < order ? column : 0, 0)),
          normalisation_(group.normalisations[q]),
          column_(column) {}
    __device__ __forceinline__ Complex<Real> operator()(int k) const {
        return core::conj(normalisation_(mirror_[k], k == column_));
    }

  private:
    const Complex<Real>* mirror_;
    Normalisation<Real> normalisation_;
    int column_;
};

/// The same of a pair of matrices with `head` common rows.
template <class Real, int order, int taps, int head>
class BandEntries {
  public:
    __device__ __forceinline__ BandEntries(const BandGroup<Real>& group, int q, int column)
        : band_(group.band), normalisation_(group.normalisations[q]), column_(column) {
        if (column >= order) column = 0;
        bin_ = (q & ~1) + 1 + column / tail;
        channel_ = column % tail;
        if (column >= head) bin_ = q % 2 == 0 ? q : q + taps - 1;
        row_bin_ = (q & ~1) + 1;
        begin_tap();
    }
    __device__ __forceinline__ Complex<Real> operator()(int k) {
        Complex<Real> sum = *next_;
        next_ += step_;
        if (step_ == 1) sum.im = -sum.im;
        if (++row_channel_ == tail) {
            row_bin_ = k + 1 < head ? row_bin_ + 1 : bin_;
            begin_tap();
        }
        return normalisation_(sum, k == column_);
    }

  private:
    static constexpr int tail = order - head;

    // Row (c, u) of a column (c', v): entry (c, c') of block (u, v), or if v is the lower bin,
    // the conjugate of entry (c', c) of block (v, u).
    __device__ __forceinline__ void begin_tap() {
        row_channel_ = 0;
        if (bin_ == row_bin_) {
            next_ = band_.block(bin_, bin_) + band_.in_triangle(channel_, 0);
            step_ = 1;
        } else if (bin_ < row_bin_) {
            next_ = band_.block(bin_, row_bin_) + channel_ * tail;
            step_ = 1;
        } else {
            next_ = band_.block(row_bin_, bin_) + channel_;
            step_ = tail;
        }
    }

    ProductBand<Real> band_;
    Normalisation<Real> normalisation_;
    const Complex<Real>* next_;
    int column_, bin_, channel_, row_bin_, row_channel_, step_;
};

}  // namespace aperture::stap::gpu::detail
