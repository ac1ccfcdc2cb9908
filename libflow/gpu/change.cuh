// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/gpu/pixel_tiles.cuh"

namespace aperture::flow::gpu {

/// The flow after a warp, before its median: the current flow plus the change, with each component
/// limited to `most`.
struct LimitedChange {
    Planes<const float> flow;
    Planes<const float> solution;
    float whole;  ///< 1: the solution is the new flow; 0: an increment
    float most;

    __device__ __forceinline__ float operator()(int plane, int y, int x) const {
        const float before = flow(plane, y, x);
        const float now = solution(plane, y, x);
        float change = whole != 0.0F ? now - before : now;
        // Not fminf and fmaxf, which would drop NaN.
        change = change < -most ? -most : change;
        return before + (change > most ? most : change);
    }
};

}  // namespace aperture::flow::gpu
