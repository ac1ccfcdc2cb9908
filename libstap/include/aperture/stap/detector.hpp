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

/// The quadratic forms of every adaptive detector: a = v^H M^-1 v, |v^H M^-1 x|^2 and c = x^H M^-1
/// x, with M the sum (not the mean) of outer products over training cells, plus loading.
template <class Real>
struct QuadraticForms {
    Real a;
    Real b_squared;
    Real c;
};

/// Minimum of 1 - c, N_R eps, for M - x x^H to be positive definite beyond rounding. `cells` is the
/// number N_R of training cells, including x. Real is the least precise type that the forms are
/// computed from: with block training float, the type of the output, in any precision.
///
/// If M - x x^H is singular with null vector u, then M^-1 x is a multiple of u and c = 1. Computed
/// from an M with error E, c has error u^H E u / u^H M u. Sums of N_R products and a factor of
/// order n <= N_R give |E_ij| <= (N_R + n) (eps/2) sqrt(M_ii M_jj) (Higham 2002, 3.1 and 10.1), so
/// that N_R eps bounds the error if u lies along an axis; across strong interference c rounds
/// worse. Conversely, a cell with x^H R^-1 x >= 1/eps, R the mean over the others, is
/// indistinguishable from the only cell with energy in a direction: 69 dB in float.
template <class Real>
APERTURE_HD Real smallest_remainder(Real cells) {
    constexpr Real eps = static_cast<Real>(sizeof(Real) == sizeof(float) ? 0x1p-23 : 0x1p-52);
    return cells * eps;
}

/// True if M stays positive definite without the cell under test; false if c is NaN.
template <class Real>
APERTURE_HD bool stays_definite(Real c, Real cells) {
    return Real(1) - c > smallest_remainder(cells);
}

/// The forms after a rank-one down-date of M by the cell under test, x x^H: a + |b|^2/(1-c),
/// b/(1-c), c/(1-c). Requires stays_definite(c).
template <class Real>
APERTURE_HD QuadraticForms<Real> remove_cell_under_test(const QuadraticForms<Real>& q) {
    const Real scale = Real(1) / (Real(1) - q.c);
    return {q.a + q.b_squared * scale, q.b_squared * scale * scale, q.c * scale};
}

/// Detectors based on quadratic forms in the inverse covariance.
APERTURE_HD constexpr bool is_adaptive(Detector detector) {
    return detector == Detector::amf || detector == Detector::ace || detector == Detector::glrt;
}

/// AMF = J |b|^2 / a, ACE = |b|^2 / (a c), GLRT = |b|^2 / (a (1 + c)) with J training cells; 0 if
/// the denominator is not positive.
template <class Real>
APERTURE_HD Real detector_statistic(Detector detector, const QuadraticForms<Real>& q, Real cells) {
    Real numerator = q.b_squared;
    Real denominator = q.a;
    if (detector == Detector::amf) numerator *= cells;
    if (detector == Detector::ace) denominator *= q.c;
    if (detector == Detector::glrt) denominator *= Real(1) + q.c;
    return denominator > Real(0) ? numerator / denominator : Real(0);
}

/// The same from the forms of the sum M over `cells` training cells. With `remove_cell` the cell
/// under test is one of them and is removed; 0 if M does not stay positive definite.
template <class Real>
APERTURE_HD Real cell_statistic(Detector detector, QuadraticForms<Real> q, Real cells,
                                bool remove_cell) {
    if (remove_cell) {
        if (!stays_definite(q.c, cells)) return Real(0);
        q = remove_cell_under_test(q);
        cells -= Real(1);
    }
    return detector_statistic(detector, q, cells);
}

}  // namespace aperture::stap
