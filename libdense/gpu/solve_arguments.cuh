// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/register_solve.cuh"

namespace aperture::dense {

/// Arguments of every solve kernel: `a` is [problem][n][n], `x` [problem][right-hand side][n].
template <class T>
struct SolveArguments {
    StridedBatch<const T> a;
    StridedBatch<T> x;
    int* info;
    index_t info_stride;
    RealOf<T>* pivot_ratio;  ///< may be null
    index_t pivot_ratio_stride;
    index_t problems;
    int order;
    int right_hand_sides;

    __device__ __forceinline__ void report(index_t problem, const Pivots<RealOf<T>>& pivots) const {
        info[problem * info_stride] = pivots.info;
        if (pivot_ratio != nullptr) {
            pivot_ratio[problem * pivot_ratio_stride] = pivots.ratio();
        }
    }
};

}  // namespace aperture::dense
