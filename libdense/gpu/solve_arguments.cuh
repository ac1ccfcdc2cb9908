// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/register_solve.cuh"

namespace aperture::dense {

/// Arguments of every solve kernel: `a` is [problem][n][n], `x` [problem][right-hand side][n].
template <class T>
struct SolveArguments {
    KernelView<const T, 3> a;
    KernelView<T, 3> x;
    KernelView<int, 1> info;
    KernelView<RealOf<T>, 1> pivot_ratio;  ///< may be empty
    int order;
    int right_hand_sides;

    __device__ __forceinline__ void report(index_t problem, const Pivots<RealOf<T>>& pivots) const {
        info(problem) = pivots.info;
        if (!pivot_ratio.empty()) pivot_ratio(problem) = pivots.ratio();
    }
};

}  // namespace aperture::dense
