// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/portable.hpp"

// Kernels include this header: no standard library here.

namespace aperture::stap {

enum class Detector {
    none,
    amf,   ///< adaptive matched filter |w^H x|^2 / (v^H w) (Robey et al. 1992)
    ace,   ///< adaptive coherence estimator (Kraut & Scharf 1999)
    glrt,  ///< Kelly's generalised likelihood ratio test (1986)
    cfar,  ///< cell averaging along range on the output power
};

/// The quadratic forms every adaptive detector is made of, M a sum (not a mean) of outer products
/// over training cells, plus loading: a = v^H M^-1 v, |v^H M^-1 x|^2 and c = x^H M^-1 x.
template <class Real>
struct QuadraticForms {
    Real a;
    Real b_squared;
    Real c;
};

/// The forms after M loses the outer product x x^H of the cell under test itself: a + |b|^2/(1-c),
/// b/(1-c), c/(1-c). Needs c < 1, which holds when what is left is positive definite.
template <class Real>
APERTURE_HD QuadraticForms<Real> remove_cell_under_test(const QuadraticForms<Real>& q) {
    const Real scale = Real(1) / (Real(1) - q.c);
    return {q.a + q.b_squared * scale, q.b_squared * scale * scale, q.c * scale};
}

/// AMF = J |b|^2 / a, ACE = |b|^2 / (a c), GLRT = |b|^2 / (a (1 + c)) with J training cells; 0
/// where the denominator is not positive.
template <class Real>
APERTURE_HD Real detector_statistic(Detector detector, const QuadraticForms<Real>& q, Real cells) {
    Real numerator = q.b_squared;
    Real denominator = q.a;
    if (detector == Detector::amf) numerator *= cells;
    if (detector == Detector::ace) denominator *= q.c;
    if (detector == Detector::glrt) denominator *= Real(1) + q.c;
    return denominator > Real(0) ? numerator / denominator : Real(0);
}

}  // namespace aperture::stap
