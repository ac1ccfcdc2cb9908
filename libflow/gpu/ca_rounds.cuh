// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arguments of the rounds of communication-avoiding CG, and how a kernel evaluates the previous
// round.

#include "libflow/gpu/ca_coordinates.cuh"
#include "libflow/gpu/operator.cuh"

namespace aperture::flow::gpu {

struct CaArguments {
    SystemPlanes system;
    Planes<float> basis;  ///< planes 2 k and 2 k + 1 are vector k
    RecurrenceTable recurrence;
    bool precondition;
    Planes<float> solution[2];
    Planes<float> scaled[2];  ///< z = M^-1 (b - A x) of each
    Sums<3>* residuals;       ///< |r|^2, |z|^2, |z - recurred z|^2
    Sums<2>* growth[2];       ///< of a vector by a power of A: squared norms before and after
    double* eigenvalues;      ///< the largest growth before each power
    int parts;                ///< blocks that store residuals and growth
    double* gram;             ///< parts of the Gram matrix
    double* history;          ///< |r|^2 after every iteration; null: not kept
    CaState* states;          ///< [2]: at the start, and of the last round
    CaLimits limits;
    int steps;  ///< initial s
};

__device__ __forceinline__ Pair vector_at(const Planes<float>& basis, int k, int y, int x) {
    return {basis(2 * k, y, x), basis(2 * k + 1, y, x)};
}
__device__ __forceinline__ void store_vector(const Planes<float>& basis, int k, int y, int x,
                                             Pair value) {
    basis(2 * k, y, x) = value.u;
    basis(2 * k + 1, y, x) = value.v;
}

/// The largest growth of a vector over the powers before number `power`.
__device__ inline double largest_so_far(const CaArguments& a, int power) {
    constexpr double least = 1e-30;
    if (power == 0) return 1;
    const Sums<2> sums = total_of(a.growth[(power - 1) % 2], a.parts);
    const double before = power > 1 ? a.eigenvalues[power - 1] : least;
    const double growth = sqrt(sums.value[1] / sums.value[0]);
    return growth > before ? growth : before;
}

/// Evaluates the previous round; the result is the same in every thread.
__device__ inline CaState evaluate_round(const CaArguments& a) {
    CaState state = a.states[0];
    const Sums<3> sums = total_of(a.residuals, a.parts);
    if (state.begun == 0) {
        state.largest = a.precondition ? largest_preconditioned
                                       : eigenvalue_safety * largest_so_far(a, eigenvalue_powers);
    }
    return evaluate_round(state, {sums.value[0], sums.value[1], sums.value[2]}, a.limits);
}

}  // namespace aperture::flow::gpu
