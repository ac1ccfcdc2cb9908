// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Orientations from the structure tensor of the lightness. The same as libcorr/cpu/orientation.hpp.

#include "libcorr/gpu/plane_tiles.cuh"

namespace aperture::corr::gpu {

/// Rows of a column with sums in a thread's registers.
inline constexpr int tensor_strip = 8;
inline constexpr int tensor_strips = tile_rows / tensor_strip;

/// Extents of the lightness of a tile, and of the tensor blurred down the columns.
inline constexpr int orientation_reach = tensor_reach + derivative_reach;
inline constexpr int lightness_rows = tile_rows + 2 * orientation_reach;
inline constexpr int lightness_columns = tile_columns + 2 * orientation_reach;
inline constexpr int tensor_columns = tile_columns + 2 * tensor_reach;
inline constexpr int tensor_values = tile_rows * tensor_columns;
inline constexpr std::size_t orientation_shared =
    (lightness_rows * lightness_columns + 3 * tensor_values) * sizeof(float);

static_assert(tensor_columns * tensor_strips <= tile_threads);
static_assert(write_tile_shared<2> <= orientation_shared);

/// Computes products of derivatives of `lightness`, [lightness_rows][lightness_columns], and blurs
/// them down the columns to `tensor`, [xx, xy, yy][tile_rows][tensor_columns]. Outside the image
/// the products are replicated, not only the lightness. Thread: a strip of a column, with products
/// computed on the fly.
__device__ __forceinline__ void blur_products(const float* lightness, int rows, int columns,
                                              const TensorWeights& weights, float* tensor) {
    using signal::gpu::inside;
    const int thread = core::thread_rank();
    if (thread >= tensor_columns * tensor_strips) return;
    const int strip = thread / tensor_columns * tensor_strip;
    const int column = thread % tensor_columns;
    const int x = inside(first_tile_column() - tensor_reach + column, columns);
    const float* const from = lightness + x - (first_tile_column() - orientation_reach);
    float sums[3][tensor_strip] = {};
    APERTURE_UNROLL
    for (int r = 0; r < tensor_strip + 2 * tensor_reach; ++r) {
        const int y = inside(first_tile_row() - tensor_reach + strip + r, rows);
        const float* const at =
            from + (y - (first_tile_row() - orientation_reach)) * lightness_columns;
        const float by_x = derivative(at[-2], at[-1], at[1], at[2]);
        const float by_y = derivative(at[-2 * lightness_columns], at[-lightness_columns],
                                      at[lightness_columns], at[2 * lightness_columns]);
        const float products[3] = {by_x * by_x, by_x * by_y, by_y * by_y};
        APERTURE_UNROLL
        for (int s = 0; s < tensor_strip; ++s) {
            const int distance = r < s + tensor_reach ? s + tensor_reach - r : r - s - tensor_reach;
            if (distance > tensor_reach) continue;
            APERTURE_UNROLL
            for (int p = 0; p < 3; ++p) sums[p][s] += weights.at[distance] * products[p];
        }
    }
    APERTURE_UNROLL
    for (int p = 0; p < 3; ++p) {
        APERTURE_UNROLL
        for (int s = 0; s < tensor_strip; ++s) {
            tensor[p * tensor_values + (strip + s) * tensor_columns + column] = sums[p][s];
        }
    }
}

/// Blurs along a row, around `middle`.
__device__ __forceinline__ float blurred(const TensorWeights& weights, const float* middle) {
    float sum = weights.at[0] * middle[0];
    APERTURE_UNROLL
    for (int i = 1; i <= tensor_reach; ++i) sum += weights.at[i] * (middle[-i] + middle[i]);
    return sum;
}

/// Derivatives, their products, both passes of the Gaussian, orientations and their moments in one
/// kernel. Thread: a strip of a column, then the pixels of a column, tile_warps rows apart. Warp:
/// of the latter, tile_columns pixels of a row. Block: a tile. Grid: columns, rows. Shared memory:
/// lightness [48][48], tensor [3][32][44], 26 KB. 12 bytes moved a pixel, 17 with the border that
/// blocks share through a cache; 220 flops: 45 for products and 107 down the columns, both
/// including the border of the pass along the rows, and 65 for that pass. Bound by shared memory,
/// 73 values of four bytes a pixel: 2.5 us for 500 x 500 pixels on an H200. Sources:
/// PlaneKind::lab_orientation.
inline __global__ void __launch_bounds__(tile_threads)
    orientation_kernel(Planes<const float> lightness, TensorWeights weights, TileMoments moments,
                       Planes<float> planes) {
    float* const tile = core::shared<float>();
    float* const tensor = tile + lightness_rows * lightness_columns;
    signal::gpu::load_bordered(tile, first_tile_row() - orientation_reach,
                               first_tile_column() - orientation_reach, lightness_rows,
                               lightness_columns, rows_of(lightness), columns_of(lightness),
                               [&](int y, int x) { return lightness(0, y, x); });
    __syncthreads();
    blur_products(tile, rows_of(lightness), columns_of(lightness), weights, tensor);
    __syncthreads();
    write_tile<2>(planes, moments, [&](int y, int x, float* values) {
        const float* const at = tensor + (y - first_tile_row()) * tensor_columns +
                                (x - first_tile_column()) + tensor_reach;
        const Orientation<float> orientation =
            orientation_of(blurred(weights, at), blurred(weights, at + tensor_values),
                           blurred(weights, at + 2 * tensor_values));
        values[0] = orientation.cosine;
        values[1] = orientation.sine;
    });
}

}  // namespace aperture::corr::gpu
