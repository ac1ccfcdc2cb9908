// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// f(x) = max(1 - 1 / sqrt(x), 0), the relative shrinkage of singular values. The symmetric matrix
// is scaled so that the threshold is 1.

#include "libcore/gpu/block.cuh"
#include "librpca/run_state.hpp"

namespace aperture::rpca::gpu {

namespace detail {

/// 1 - 1 / sqrt(x) for x beyond 1, else 0.
__device__ __forceinline__ double kept_share(double x) { return x > 1 ? 1 - 1 / sqrt(x) : 0; }

/// (f(a) - f(b)) / (a - b) without cancellation; the derivative where they are equal.
__device__ __forceinline__ double divided_difference(double a, double b) {
    if (a < b) {
        const double smaller = a;
        a = b;
        b = smaller;
    }
    if (a <= 1) return 0;
    const double root_a = sqrt(a);
    if (b <= 1) return (a - 1) / ((a + root_a) * (a - b));
    const double root_b = sqrt(b);
    return 1 / (root_a * root_b * (root_a + root_b));
}

/// The largest eigenvalue and the number above 1, by a warp. value(i) is the i-th.
template <class Value>
__device__ void write_extent(int order, const Value& value, double* largest, RunState* state) {
    double most = 0;
    int rank = 0;
    for (int i = core::lane_rank(); i < order; i += core::warp_size) {
        most = core::Maximum{}(most, value(i));
        // For an eigenvalue at the threshold, rounding alone would decide.
        rank += value(i) > 1 + 2e-10 ? 1 : 0;
    }
    most = core::warp_reduce(most, core::Maximum{});
    rank = core::warp_reduce(rank);
    if (core::lane_rank() == 0) {
        *largest = most;
        state->rank = rank;
    }
}

}  // namespace detail

inline constexpr int function_threads = 256;

/// f of a matrix in its eigenvector basis. A thread: an element. Grid: all elements. `failure` is 0
/// if the eigenvalues converged.
__global__ inline void __launch_bounds__(function_threads)
    diagonal_function_kernel(const double* eigenvalues, int order, double* function,
                             double* largest, const int* failure, RunState* state) {
    if (state->done != 0) return;
    const index_t at = index_t{blockIdx.x} * function_threads + core::thread_rank();
    if (at < index_t{order} * order) {
        const int i = static_cast<int>(at / order);
        function[at] = i == at % order ? detail::kept_share(eigenvalues[i]) : 0;
    }
    if (blockIdx.x == 0 && core::warp_rank() == 0) {
        detail::write_extent(
            order, [&](int i) { return eigenvalues[i]; }, largest, state);
        if (core::lane_rank() == 0 && *failure != 0) state->failed = 1;
    }
}

}  // namespace aperture::rpca::gpu
