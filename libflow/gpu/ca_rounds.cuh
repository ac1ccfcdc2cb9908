// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What rounds of communication-avoiding CG work on, wherever their basis lies, and how a kernel
// learns what became of the last one.

#include "libflow/gpu/ca_coordinates.cuh"

namespace aperture::flow::gpu {

struct CaArguments {
    PowersArguments powers;
    Planes<float> solution[2];
    Planes<float> scaled[2];  ///< z = M^-1 (b - A x) of each
    Sums<3>* residuals;       ///< |r|^2, |z|^2, |z - what the coordinates make of it|^2
    Sums<2>* growth[2];       ///< of a vector by a power of A: squares before and after
    double* eigenvalues;      ///< the largest growth before each power
    int parts;                ///< blocks that have made residuals and growth
    double* gram;             ///< parts of the Gram matrix
    CoordinatePlanes coordinates;
    CaState* states;  ///< [2]: before and after a round is judged
    CaLimits limits;
    int steps;       ///< s at first
    int gram_parts;  ///< blocks that have made the Gram matrix
};

/// Powers of A that its largest eigenvalue is estimated by, without preconditioning.
inline constexpr int eigenvalue_powers = 12;

/// The largest growth of a vector in the powers before number `power`.
__device__ inline double largest_so_far(const CaArguments& a, int power) {
    constexpr double least = 1e-30;
    if (power == 0) return 1;
    const Sums<2> sums = total_of(a.growth[(power - 1) % 2], a.parts);
    const double before = power > 1 ? a.eigenvalues[power - 1] : least;
    const double growth = sqrt(sums.value[1] / sums.value[0]);
    return growth > before ? growth : before;
}

/// What became of the round before; the same in every thread.
__device__ inline CaState judge(const CaArguments& a) {
    CaState state = a.states[0];
    const Sums<3> sums = total_of(a.residuals, a.parts);
    if (state.begun == 0) {
        constexpr double safety = 1.1;
        // Those of M^-1 A: A = M - S, and M + S is positive semi-definite, too.
        state.largest = a.powers.precondition ? 2.0 : safety * largest_so_far(a, eigenvalue_powers);
    }
    return judged(state, {sums.value[0], sums.value[1], sums.value[2]}, a.limits);
}

}  // namespace aperture::flow::gpu
