// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Householder reflectors, wherever a matrix lies.

#include "libdense/gpu/block_matrix.cuh"

namespace aperture::dense {

/// A power of two that brings the largest entry near one where squares would overflow or vanish;
/// else 1.
template <class R>
__device__ __forceinline__ R safe_scale(R largest) {
    if (!(largest > R(0)) || largest > largest_finite<R>) return R(1);
    constexpr int range = sizeof(R) == sizeof(float) ? 56 : 504;
    // The inverse of a subnormal number would overflow.
    const int exponent = ilogb(core::Maximum()(largest, smallest_normal<R>));
    // Sums of squares of the small entries beside the largest must not vanish either.
    return exponent > range || exponent < -range / 2 ? ldexp(R(1), -exponent) : R(1);
}

/// H = I - tau v v^H with H^H (alpha, ...) = (beta, 0, ...): entries below alpha times `factor` are
/// those of v. `below`: the sum of their squares.
template <class T>
struct Reflector {
    RealOf<T> beta;
    T tau;
    T factor;
};

template <class T>
__device__ __forceinline__ Reflector<T> make_reflector(T alpha, RealOf<T> below) {
    using R = RealOf<T>;
    const R re = core::real_part(alpha);
    const T imaginary = alpha - T(re);
    if (below == R(0) && imaginary == T(R(0))) return {re, T(R(0)), T(R(1))};
    const Root<R> length = root_of(core::norm(alpha) + below);
    const R sign = re > R(0) ? R(-1) : R(1);
    const R beta = sign * length.root;
    const T tau = (T(beta) - alpha) * (sign * length.reciprocal);
    return {beta, tau, reciprocal_of_normal(alpha - T(beta))};
}

}  // namespace aperture::dense
