// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Brightness constancy at each pixel. The same as libflow/cpu/data_term.hpp.

#include "libflow/gpu/warped_image.cuh"
#include "libflow/model_constants.hpp"

namespace aperture::flow::gpu {

/// Reach of the derivative filter in pixels.
inline constexpr int derivative_reach = 2;

/// The solution that the terms are for, and its start.
struct Unknown {
    /// 1: the whole flow, started with the current flow; 0: an increment, started with zero.
    float whole;
    /// Receives the start; may be null.
    Planes<float> start;
};

/// Replaces derivatives that are rounding noise by zero.
__device__ __forceinline__ float unless_rounding(float derivative) {
    return fabsf(derivative) > no_gradient ? derivative : 0.0F;
}

/// Whether pixel (y, x), moved by (u, v), is still in the image.
__device__ __forceinline__ bool lands_inside(int rows, int columns, int y, int x, float u,
                                             float v) {
    const float at_x = static_cast<float>(x) + u;
    const float at_y = static_cast<float>(y) + v;
    return at_x >= 0 && at_x <= static_cast<float>(columns - 1) && at_y >= 0 &&
           at_y <= static_cast<float>(rows - 1);
}

/// The terms of pixel (y, x) about the current flow (u, v). `zero` and `one` return image 0 and the
/// warped image 1 at an offset (dy, dx) of at most derivative_reach.
template <class Zero, class One>
__device__ __forceinline__ void store_terms(const Zero& zero, const One& one, int y, int x, float u,
                                            float v, const Unknown& unknown,
                                            const Planes<float>& terms) {
    const auto across = [](const auto& image) {
        return 8 * (image(0, 1) - image(0, -1)) - (image(0, 2) - image(0, -2));
    };
    const auto down = [](const auto& image) {
        return 8 * (image(1, 0) - image(-1, 0)) - (image(2, 0) - image(-2, 0));
    };
    const bool seen = lands_inside(rows_of(terms), columns_of(terms), y, x, u, v);
    const float weight = seen ? 1.0F / 24.0F : 0.0F;
    const float gx = unless_rounding(weight * (across(zero) + across(one)));
    const float gy = unless_rounding(weight * (down(zero) + down(one)));
    const float gt = one(0, 0) - zero(0, 0);
    const float c = gt - unknown.whole * (gx * u + gy * v);
    terms(0, y, x) = gx * gx;
    terms(1, y, x) = gx * gy;
    terms(2, y, x) = gy * gy;
    terms(3, y, x) = -gx * c;
    terms(4, y, x) = -gy * c;
    if (unknown.start.data != nullptr) {
        const bool whole = unknown.whole != 0.0F;
        unknown.start(0, y, x) = whole ? u : 0.0F;
        unknown.start(1, y, x) = whole ? v : 0.0F;
    }
}

/// Warp, derivatives, terms and start in one kernel. Thread: pixels of a column, pixel_warps rows
/// apart. Block: pixel_rows x pixel_columns pixels, with samples of image 1 for the border that the
/// derivatives need. Grid: columns, rows. Shared memory: both images' tile with its border, 2
/// [pixel_rows + 4][pixel_columns + 4] floats, 5.8 KB. 44 bytes moved (12 more without the start's
/// 8) and about 150 flops a pixel. `one` has (plane, row, column): the warped image, or image 1
/// and the flow that warps it.
template <class One>
__global__ void __launch_bounds__(pixel_warps* core::warp_size)
    linearise_kernel(Planes<const float> zero, One one, Planes<const float> flow, Unknown unknown,
                     Planes<float> terms) {
    constexpr int reach = derivative_reach;
    constexpr int rows = pixel_rows + 2 * reach;
    constexpr int columns = pixel_columns + 2 * reach;
    float* const tile0 = core::shared<float>();
    float* const tile1 = tile0 + rows * columns;
    const int first_row = static_cast<int>(blockIdx.y) * pixel_rows;
    const int first_column = static_cast<int>(blockIdx.x) * pixel_columns;
    signal::gpu::load_bordered(tile0, first_row - reach, first_column - reach, rows, columns,
                               rows_of(terms), columns_of(terms),
                               [&](int y, int x) { return zero(0, y, x); });
    signal::gpu::load_bordered(tile1, first_row - reach, first_column - reach, rows, columns,
                               rows_of(terms), columns_of(terms),
                               [&](int y, int x) { return one(0, y, x); });
    __syncthreads();
    const int x = first_column + static_cast<int>(threadIdx.x);
    const int end = min(first_row + pixel_rows, rows_of(terms));
    if (x >= columns_of(terms)) return;
    for (int y = first_row + static_cast<int>(threadIdx.y); y < end; y += pixel_warps) {
        const int middle = (y - first_row + reach) * columns + (x - first_column + reach);
        store_terms([&](int dy, int dx) { return tile0[middle + dy * columns + dx]; },
                    [&](int dy, int dx) { return tile1[middle + dy * columns + dx]; }, y, x,
                    flow(0, y, x), flow(1, y, x), unknown, terms);
    }
}

#if !defined(__CUDACC_RTC__)

/// The terms of `zero` and an image 1 that is warped already, or sampled on the fly (WarpedImage).
/// Asynchronous.
template <class Executor, class One>
void linearise(Executor& executor, const Planes<const float>& zero, const One& one,
               const Planes<const float>& flow, const Unknown& unknown,
               const Planes<float>& terms) {
    constexpr std::size_t values =
        (pixel_rows + 2 * derivative_reach) * (pixel_columns + 2 * derivative_reach);
    core::launch(
        executor, &linearise_kernel<One>,
        pixel_tile_config(rows_of(terms), columns_of(terms), 1, 2 * values * sizeof(float)), zero,
        one, flow, unknown, terms);
}

#endif

}  // namespace aperture::flow::gpu
