// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcompose/operations/bodies.cuh"

/// Bodies of operations of space-time adaptive processing, for the interpreter, emitted C++ and
/// kernels. Of weights w [problem][direction][i], snapshots s [problem][i][cell] and steering
/// vectors v [direction][i], i < order.
namespace aperture::compose::bodies {

/// Row: problem, column: direction. 1 / |w^H v|; 1 where that is infinite, 0 for weights of zero.
template <class Place>
APERTURE_HD float gamma_weight(const Place& at, const core::Complex<float>* weights,
                               const core::Complex<float>* steering, int order) {
    const core::Complex<float>* const w = weights + at.here * order;
    const core::Complex<float>* const v = steering + at.column * order;
    double re = 0, im = 0;
    bool zero = true;
    for (int i = 0; i < order; ++i) {
        const double w_re = w[i].re, w_im = w[i].im, v_re = v[i].re, v_im = v[i].im;
        zero = zero & (w_re == 0) & (w_im == 0);
        re = fma(w_im, v_im, fma(w_re, v_re, re));
        im = fma(-w_im, v_re, fma(w_re, v_im, im));
    }
    const double magnitude = sqrt(fma(re, re, im * im));
    if (zero) return 0;
    return magnitude > 0 ? static_cast<float>(1 / magnitude) : 1.0F;
}

/// Plane: direction, row: Doppler bin, column: range cell. gamma w^H s, with the weights of the
/// cell's block; 0 where gamma is, even if s is not a number.
template <class Place>
APERTURE_HD core::Complex<float> weighted_snapshot(const Place& at,
                                                   const core::Complex<float>* snapshots,
                                                   const core::Complex<float>* weights,
                                                   const float* gamma, int block, int order,
                                                   int directions) {
    const core::index_t sets = (at.columns + block - 1) / block;
    const core::index_t set = at.column / block;
    // The last block trains on the last cells.
    const core::index_t whole = at.columns - block;
    const core::index_t begin = set * block < whole ? set * block : whole;
    const core::index_t problem = at.row * sets + set;
    const core::index_t direction = problem * directions + at.plane;
    const core::Complex<float>* const w = weights + direction * order;
    const core::Complex<float>* const s = snapshots + problem * order * block + (at.column - begin);
    float re = 0, im = 0;
    for (int i = 0; i < order; ++i) {
        const core::Complex<float> x = s[i * block];
        re = fma(w[i].im, x.im, fma(w[i].re, x.re, re));
        im = fma(-w[i].im, x.re, fma(w[i].re, x.im, im));
    }
    const float scale = gamma[direction];
    if (scale == 0) return core::Complex<float>(0, 0);
    return core::Complex<float>(scale * re, scale * im);
}

}  // namespace aperture::compose::bodies
