// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The covariances of neighbouring Doppler bins in shared memory: sums of outer products, as a
// triangle per bin or a common band, and their normalisation to covariances.

#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/kernel.cuh"
#include "libstap/loading.hpp"

namespace aperture::stap::gpu {

using core::Complex;

/// The lower triangle of a Hermitian matrix in shared memory: packed by rows, or in a square if its
/// upper half is needed as workspace.
template <class Real>
struct LowerTriangle {
    Complex<Real>* data;
    int row_stride;  ///< 0: packed

    __device__ __forceinline__ Complex<Real>& operator()(int row, int column) const {
        return data[(row_stride == 0 ? row * (row + 1) / 2 : row * row_stride) + column];
    }
};

/// Entries of a LowerTriangle of order n.
__device__ __host__ inline int triangle_elements(int order, bool square) {
    return square ? order * order : order * (order + 1) / 2;
}

/// The products of a window of neighbouring Doppler bins in shared memory, each stored once: entry
/// (c, c') of block (u, v), u <= v, is the sum of x(c, u) conj(x(c', v)) over the cells. Blocks are
/// L x L, row-major; those with u = v are lower triangles, packed by rows.
template <class Real>
struct ProductBand {
    Complex<Real>* data;
    int channels, window;

    __device__ __forceinline__ Complex<Real>* block(int low, int high) const {
        const int triangle = channels * (channels + 1) / 2;
        const int offset = high - low;
        if (offset == 0) return data + low * triangle;
        const int before = (offset - 1) * window - offset * (offset - 1) / 2 + low;
        return data + window * triangle + before * channels * channels;
    }
    /// Entry (row, column) of block (u, u), row >= column.
    __device__ __forceinline__ static int in_triangle(int row, int column) {
        return row * (row + 1) / 2 + column;
    }
};

/// Entries of a ProductBand for snapshots of T taps.
__device__ __host__ inline int band_elements(int channels, int window, int taps) {
    const int full = (taps - 1) * window - taps * (taps - 1) / 2;
    return window * (channels * (channels + 1) / 2) + full * channels * channels;
}

/// Normalises a sum over `cells` cells to a covariance: R = scale * sum + diagonal * I.
template <class Real>
struct Normalisation {
    Real scale, diagonal;

    __device__ __forceinline__ Complex<Real> operator()(Complex<Real> sum, bool on_diagonal) const {
        const Complex<Real> mean = sum * scale;
        return {on_diagonal ? mean.re + diagonal : mean.re, mean.im};
    }
};

/// A triangle per matrix of a block: matrix q is `normalisation[q]` of the sum in triangle q.
template <class Real>
struct CovarianceGroup {
    LowerTriangle<Real> triangles;
    int triangle_stride;
    const Normalisation<Real>* normalisations;
    int order;
    int count;                            ///< matrices that exist
    static constexpr bool alike = false;  ///< see BandGroup

    __device__ __forceinline__ void allow_sharing(bool) {}
    __device__ __forceinline__ LowerTriangle<Real> triangle(int q) const {
        return {triangles.data + q * triangle_stride, triangles.row_stride};
    }
    __device__ __forceinline__ Complex<Real> sum(int q, int row, int column) const {
        return triangle(q)(row, column);
    }
    __device__ __forceinline__ void set_sum(int q, int row, int column, Complex<Real> value) const {
        triangle(q)(row, column) = value;
    }
    __device__ __forceinline__ Complex<Real> operator()(int q, int row, int column) const {
        return normalisations[q](sum(q, row, column), row == column);
    }
};

/// The matrices of a block as parts of one band: rows (c, t) and (c', t') of matrix q are entry (c,
/// c') of block (q + t, q + t').
template <class Real>
struct BandGroup {
    ProductBand<Real> band;
    const Normalisation<Real>* normalisations;
    int taps;
    int order;
    int count;   ///< matrices that exist
    bool alike;  ///< all have the same normalisation, so that neighbours share their head's factor

    __device__ __forceinline__ void allow_sharing(bool same) { alike = same; }
    /// Entry (row, column), row >= column, of the sums, and whether it is the conjugate.
    struct Place {
        Complex<Real>* entry;
        bool conjugate;
        int high;
    };
    __device__ __forceinline__ Place place(int q, int row, int column) const {
        const int c = row / taps;
        const int d = column / taps;
        const int u = q + row % taps;
        const int v = q + column % taps;
        if (u == v) return {band.block(u, u) + band.in_triangle(c, d), false, u};
        if (u < v) return {band.block(u, v) + c * band.channels + d, false, v};
        return {band.block(v, u) + d * band.channels + c, true, u};
    }
    __device__ __forceinline__ Complex<Real> sum(int q, int row, int column) const {
        const Place p = place(q, row, column);
        return p.conjugate ? core::conj(*p.entry) : *p.entry;
    }
    /// An entry shared by several bins is set by the first of them.
    __device__ __forceinline__ void set_sum(int q, int row, int column, Complex<Real> value) const {
        const Place p = place(q, row, column);
        const int first = p.high - taps + 1;
        if (q == (first > 0 ? first : 0)) *p.entry = p.conjugate ? core::conj(value) : value;
    }
    __device__ __forceinline__ Complex<Real> operator()(int q, int row, int column) const {
        return normalisations[q](sum(q, row, column), row == column);
    }
};

/// The trace of a sum of outer products, summed in order.
template <class Group>
__device__ auto trace(const Group& group, int q) {
    auto total = group.sum(q, 0, 0).re;
    for (int i = 1; i < group.order; ++i) total += group.sum(q, i, i).re;
    return total;
}

template <class Real, class Group>
__device__ Normalisation<Real> normalisation(const Group& group, int q, int cells,
                                             const Loading& loading) {
    const Real scale = Real(1) / static_cast<Real>(cells);
    const Real absolute = static_cast<Real>(loading.absolute);
    if (loading.relative == 0) return {scale, absolute};
    const Real relative = static_cast<Real>(loading.relative);
    return {scale, absolute + relative * trace(group, q) * scale / static_cast<Real>(group.order)};
}

}  // namespace aperture::stap::gpu
