// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Constancy of brightness and of its gradient. The same as libflow/cpu/constancy.hpp.

#include "libflow/gpu/data_term.cuh"

namespace aperture::flow::gpu {

/// c_x, c_y, c_t of the brightness, of its x derivative and of its y derivative.
inline constexpr int constraint_planes = 9;

/// A tile of pixels with a border, in shared memory; row and column are relative to the first pixel
/// inside the border.
template <int border>
struct BorderedTile {
    static constexpr int rows = pixel_rows + 2 * border;
    static constexpr int columns = pixel_columns + 2 * border;
    static constexpr int values = rows * columns;
    float* value;

    __device__ __forceinline__ float& operator()(int row, int column) const {
        return value[(row + border) * columns + column + border];
    }
    __device__ __forceinline__ float across(int row, int column) const {
        return derivative([&](int i) { return (*this)(row, column + i); });
    }
    __device__ __forceinline__ float down(int row, int column) const {
        return derivative([&](int i) { return (*this)(row + i, column); });
    }

  private:
    template <class Value>
    static __device__ __forceinline__ float derivative(const Value& along) {
        return (8 * (along(1) - along(-1)) - (along(2) - along(-2))) * (1.0F / 12.0F);
    }
};

/// Constraints of increments about the current flow, which is copied to `start`. Thread: pixels of
/// a column, pixel_warps rows apart. Block: pixel_rows x pixel_columns pixels. Grid: columns, rows.
/// Shared memory: the mean of the images with a border of 4 pixels, their difference and both
/// slopes of the mean with a border of 2, 12.5 KB. 60 bytes moved and about 110 flops a pixel.
/// Source: Brox et al. 2004, section 2; Zimmer, Bruhn & Weickert 2011, section 2.3.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    constrain_kernel(Planes<const float> image0, Planes<const float> warped1,
                     Planes<const float> flow, Planes<float> constraints, Planes<float> start) {
    constexpr int reach = derivative_reach;
    using Wide = BorderedTile<2 * reach>;
    using Tile = BorderedTile<reach>;
    float* const memory = core::shared<float>();
    const Wide mean{memory};
    const Tile difference{memory + Wide::values};
    const Tile slope_x{difference.value + Tile::values};
    const Tile slope_y{slope_x.value + Tile::values};
    const int rows = rows_of(flow);
    const int columns = columns_of(flow);
    const int first_row = static_cast<int>(blockIdx.y) * pixel_rows;
    const int first_column = static_cast<int>(blockIdx.x) * pixel_columns;
    signal::gpu::load_bordered(
        mean.value, first_row - 2 * reach, first_column - 2 * reach, Wide::rows, Wide::columns,
        rows, columns, [&](int y, int x) { return 0.5F * (image0(0, y, x) + warped1(0, y, x)); });
    signal::gpu::load_bordered(difference.value, first_row - reach, first_column - reach,
                               Tile::rows, Tile::columns, rows, columns,
                               [&](int y, int x) { return warped1(0, y, x) - image0(0, y, x); });
    __syncthreads();
    // Outside the image the slope itself is replicated, not the mean.
    const auto slopes = [&](const Tile& to, const auto& derivative) {
        signal::gpu::load_bordered(
            to.value, first_row - reach, first_column - reach, Tile::rows, Tile::columns, rows,
            columns, [&](int y, int x) {
                return unless_rounding(derivative(y - first_row, x - first_column));
            });
    };
    slopes(slope_x, [&](int y, int x) { return mean.across(y, x); });
    slopes(slope_y, [&](int y, int x) { return mean.down(y, x); });
    __syncthreads();
    const int c = static_cast<int>(threadIdx.x);
    const int x = first_column + c;
    if (x >= columns) return;
    for (int r = static_cast<int>(threadIdx.y); r < pixel_rows; r += Warps) {
        const int y = first_row + r;
        if (y >= rows) return;
        const float u = flow(0, y, x);
        const float v = flow(1, y, x);
        const float weight = lands_inside(rows, columns, y, x, u, v) ? 1.0F : 0.0F;
        const auto constrain = [&](int plane, float c_x, float c_y, float c_t) {
            const float scale = weight / sqrtf(c_x * c_x + c_y * c_y + least_slope_squared);
            constraints(plane, y, x) = scale * c_x;
            constraints(plane + 1, y, x) = scale * c_y;
            constraints(plane + 2, y, x) = scale * c_t;
        };
        // Both orders of the mixed derivative are equal: rows and columns are filtered separately.
        const float mixed = unless_rounding(slope_x.down(r, c));
        constrain(0, slope_x(r, c), slope_y(r, c), difference(r, c));
        constrain(3, unless_rounding(slope_x.across(r, c)), mixed, difference.across(r, c));
        constrain(6, mixed, unless_rounding(slope_y.down(r, c)), difference.down(r, c));
        start(0, y, x) = u;
        start(1, y, x) = v;
    }
}

#if !defined(__CUDACC_RTC__)

/// Asynchronous.
template <class Executor>
void constrain(Executor& executor, const Planes<const float>& image0,
               const Planes<const float>& warped1, const Planes<const float>& flow,
               const Planes<float>& constraints, const Planes<float>& start) {
    constexpr std::size_t values =
        BorderedTile<2 * derivative_reach>::values + 3 * BorderedTile<derivative_reach>::values;
    core::launch(executor, &constrain_kernel<pixel_warps>,
                 pixel_tile_config(rows_of(flow), columns_of(flow), 1, values * sizeof(float)),
                 image0, warped1, flow, constraints, start);
}

#endif

}  // namespace aperture::flow::gpu
