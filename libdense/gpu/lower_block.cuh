// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/kernel.cuh"

namespace aperture::dense {

/// Block row and column, row >= column.
struct LowerBlock {
    int row, column;
};

/// Block `t` of the lower triangle, counted row after row.
__device__ __forceinline__ LowerBlock lower_block(int t) {
    int row = static_cast<int>((sqrtf(8.0f * static_cast<float>(t) + 1.0f) - 1.0f) * 0.5f);
    if ((row + 1) * (row + 2) / 2 <= t) ++row;
    if (row * (row + 1) / 2 > t) --row;
    return {row, t - row * (row + 1) / 2};
}

}  // namespace aperture::dense
