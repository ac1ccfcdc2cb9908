// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Robust penalties by lagged diffusivity. The same as libflow/cpu/robust_weights.hpp.

#include "libflow/gpu/constancy.cuh"

namespace aperture::flow::gpu {

/// Weights of a robust estimate's terms: see Parameters.
struct RobustModel {
    float brightness;
    float contrast;
};

__device__ __forceinline__ float charbonnier_weight(float error_squared, float epsilon) {
    return 1.0F / sqrtf(error_squared + epsilon * epsilon);
}

/// One constancy constraint on an increment.
struct Constraint {
    float x;
    float y;
    float t;

    __device__ __forceinline__ float error(float du, float dv) const { return x * du + y * dv + t; }
};

/// Tensors and right-hand sides of constrain_kernel's constraints about the flow `about`, weighted
/// at the flow `now`, and the weights between pixels. A thread for a pixel, pixel_rows x
/// pixel_columns pixels a block in Warps rows at a time. No shared memory. 84 bytes moved and about
/// 110 flops a pixel. Source: Brox et al. 2004, section 3; Werlberger et al. 2009.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    weigh_kernel(Planes<const float> constraints, Planes<const float> about,
                 Planes<const float> now, Planes<const float> image, RobustModel model,
                 Planes<float> terms, Planes<float> coupling) {
    const int x = static_cast<int>(blockIdx.x) * pixel_columns + static_cast<int>(threadIdx.x);
    const int first = static_cast<int>(blockIdx.y) * pixel_rows;
    const int end = min(first + pixel_rows, rows_of(now));
    if (x >= columns_of(now)) return;
    const int right = min(x + 1, columns_of(now) - 1);
    const float decay = model.contrast > 0 ? 0.5F / model.contrast : 0.0F;
    for (int y = first + static_cast<int>(threadIdx.y); y < end; y += Warps) {
        const float u0 = about(0, y, x);
        const float v0 = about(1, y, x);
        const float u = now(0, y, x);
        const float v = now(1, y, x);
        const auto constraint = [&](int plane) -> Constraint {
            return {constraints(plane, y, x), constraints(plane + 1, y, x),
                    constraints(plane + 2, y, x)};
        };
        const Constraint value = constraint(0);
        const Constraint across = constraint(3);
        const Constraint down = constraint(6);
        const float of_value = value.error(u - u0, v - v0);
        const float of_across = across.error(u - u0, v - v0);
        const float of_down = down.error(u - u0, v - v0);
        const float b = model.brightness * charbonnier_weight(of_value * of_value, data_epsilon);
        const float s = charbonnier_weight(of_across * of_across + of_down * of_down, data_epsilon);
        const auto sum = [&](auto first_factor, auto second_factor) {
            return b * value.*first_factor * value.*second_factor +
                   s * (across.*first_factor * across.*second_factor +
                        down.*first_factor * down.*second_factor);
        };
        const float j11 = sum(&Constraint::x, &Constraint::x);
        const float j12 = sum(&Constraint::x, &Constraint::y);
        const float j22 = sum(&Constraint::y, &Constraint::y);
        terms(0, y, x) = j11;
        terms(1, y, x) = j12;
        terms(2, y, x) = j22;
        terms(3, y, x) = (j11 * u0 + j12 * v0) - sum(&Constraint::x, &Constraint::t);
        terms(4, y, x) = (j12 * u0 + j22 * v0) - sum(&Constraint::y, &Constraint::t);
        const auto weight_to = [&](int to_y, int to_x) {
            const float du = now(0, to_y, to_x) - u;
            const float dv = now(1, to_y, to_x) - v;
            const float step = image(0, to_y, to_x) - image(0, y, x);
            const float edge = 1.0F + decay * fabsf(step);
            return charbonnier_weight(du * du + dv * dv, smoothness_epsilon) / (edge * edge);
        };
        coupling(0, y, x) = weight_to(y, right);
        coupling(1, y, x) = weight_to(min(y + 1, rows_of(now) - 1), x);
    }
}

#if !defined(__CUDACC_RTC__)

/// Asynchronous.
template <class Executor>
void weigh(Executor& executor, const Planes<const float>& constraints,
           const Planes<const float>& about, const Planes<const float>& now,
           const Planes<const float>& image, const RobustModel& model, const Planes<float>& terms,
           const Planes<float>& coupling) {
    core::launch(executor, &weigh_kernel<pixel_warps>,
                 pixel_tile_config(rows_of(now), columns_of(now), 1), constraints, about, now,
                 image, model, terms, coupling);
}

#endif

}  // namespace aperture::flow::gpu
