// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Summed-area tables of planes, in double: sums of all pixels above and left of a corner,
// [plane][row][column] of rows + 1 x columns + 1 corners. See aperture/signal/summed_area.hpp.

#include "libcore/gpu/block.cuh"
#include "libsignal/gpu/planes.cuh"

namespace aperture::signal::gpu {

/// Over rows top .. bottom-1 and columns left .. right-1.
__device__ __forceinline__ double area_sum(const Planes<const double>& above, index_t plane,
                                           int top, int bottom, int left, int right) {
    return (above(plane, bottom, right) - above(plane, top, right)) -
           (above(plane, bottom, left) - above(plane, top, left));
}

inline constexpr int area_warps = 4;
inline constexpr int rows_of_block = 8 * area_warps;

/// Prefix sums along rows, each stored right and below of its pixel, of planes with
/// values.wanted(plane); a pixel is values(plane, value). A warp for a row at a time: 32 pixels a
/// step by a scan. Grid: rows_of_block rows each, planes. 12 bytes moved a pixel.
template <class Values>
__global__ void __launch_bounds__(area_warps* core::warp_size)
    sum_rows_kernel(Planes<const float> image, Values values, Planes<double> areas) {
    core::wait_for_previous_kernel();
    const int plane = static_cast<int>(blockIdx.y);
    if (!values.wanted(plane)) return;
    const int begin = static_cast<int>(blockIdx.x) * rows_of_block + core::warp_rank();
    for (int y = begin; y < min(begin + rows_of_block, rows_of(image)); y += area_warps) {
        const float* const from = row_of(image, plane, y);
        double* const to = row_of(areas, plane, y + 1);
        double before = 0;
        for (int first = 0; first < columns_of(image); first += core::warp_size) {
            const int x = first + core::lane_rank();
            double sum = x < columns_of(image) ? values(plane, from[x]) : 0.0;
            APERTURE_UNROLL
            for (int distance = 1; distance < core::warp_size; distance *= 2) {
                const double left = __shfl_up_sync(core::full_warp, sum, distance);
                if (core::lane_rank() >= distance) sum += left;
            }
            sum += before;
            if (x < columns_of(image)) to[x + 1] = sum;
            before = core::broadcast(sum, core::warp_size - 1);
        }
    }
}

inline constexpr int area_columns = 64;

/// Prefix sums of these down the columns, and zeros in the first row and column. A thread for a
/// column. Grid: columns, planes. 16 bytes moved a pixel.
template <class Values>
__global__ void __launch_bounds__(area_columns)
    sum_columns_kernel(Values values, Planes<double> areas) {
    core::wait_for_previous_kernel();
    const int plane = static_cast<int>(blockIdx.y);
    const int x = static_cast<int>(blockIdx.x) * area_columns + static_cast<int>(threadIdx.x);
    if (!values.wanted(plane) || x >= columns_of(areas)) return;
    double* const column = row_of(areas, plane, 0) + x;
    double sum = 0;
    column[0] = 0;
    APERTURE_UNROLL_BY(8)
    for (int y = 1; y < rows_of(areas); ++y) {
        double& entry = column[y * areas.stride[1]];
        if (x > 0) sum += entry;
        entry = sum;
    }
}

/// Computes the tables of `count` planes. Asynchronous.
template <class Executor, class Values>
void sum_areas(Executor& executor, int count, const Planes<const float>& image,
               const Values& values, const Planes<double>& areas) {
    const auto config = [&](int elements, int of_block, int threads) {
        return core::LaunchConfig(
                   dim3(tiles_over(elements, of_block), static_cast<unsigned>(count)),
                   dim3(static_cast<unsigned>(threads)))
            .early();
    };
    core::launch(executor, &sum_rows_kernel<Values>,
                 config(rows_of(image), rows_of_block, area_warps * core::warp_size), image, values,
                 areas);
    core::launch(executor, &sum_columns_kernel<Values>,
                 config(columns_of(areas), area_columns, area_columns), values, areas);
}

}  // namespace aperture::signal::gpu
