// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Weighted medians near motion boundaries. The same as libflow/cpu/weighted_median.hpp.

#include "libflow/gpu/pixel_tiles.cuh"

namespace aperture::flow::gpu {

/// Weights of a window's samples by distance from its centre along one axis.
struct DistanceWeights {
    float at[2 * window_samples + 1];
};

/// A block's pixels and their surroundings in shared memory: one pixel more than the windows reach,
/// for the derivatives of the flow.
using MedianTile = BorderedTile<window_samples * window_spacing + 1>;

/// The window of one pixel.
struct WeightedWindow {
    static constexpr int width = 2 * window_samples + 1;
    float weight[width][width];
    float half = 0;
    int row;
    int column;

    __device__ __forceinline__ WeightedWindow(const MedianTile& image, const MedianTile& visibility,
                                              const DistanceWeights& distance, int r, int c)
        : row(r), column(c) {
        const float middle = image(row, column);
        APERTURE_UNROLL
        for (int i = 0; i < width; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) {
                const int y = at(row, i);
                const int x = at(column, j);
                const float step = image(y, x) - middle;
                weight[i][j] = distance.at[i] * distance.at[j] *
                               bell(step * step * over_twice_squared(grey_sigma)) *
                               visibility(y, x);
                half += 0.5F * weight[i][j];
            }
        }
    }

    __device__ __forceinline__ float median(const MedianTile& values) const {
        return weighted_median(half, [&](const auto& visit) { over_samples(values, visit); });
    }

  private:
    static __device__ __forceinline__ constexpr int at(int middle, int i) {
        return middle + window_spacing * (i - window_samples);
    }
    template <class Visit>
    __device__ __forceinline__ void over_samples(const MedianTile& values,
                                                 const Visit& visit) const {
        APERTURE_UNROLL
        for (int i = 0; i < width; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < width; ++j) {
                visit(values(at(row, i), at(column, j)), weight[i][j]);
            }
        }
    }
};

/// Whether the flow has a step to the right of a pixel or below it.
__device__ __forceinline__ bool has_step(const MedianTile& u, const MedianTile& v, int row,
                                         int column) {
    const auto steps = [&](const MedianTile& flow) {
        const float here = flow(row, column);
        return fmaxf(fabsf(flow(row, column + 1) - here), fabsf(flow(row + 1, column) - here));
    };
    return fmaxf(steps(u), steps(v)) > boundary_step;
}

/// Pixels of a block and floats of shared memory in weighted_median_kernel.
inline constexpr int weighted_median_pixels = pixel_rows * pixel_columns;
inline constexpr int weighted_median_values =
    4 * MedianTile::values + BorderedTile<boundary_reach>::values + weighted_median_pixels + 1;

/// Filters those pixels of `to` that are near a motion boundary by weighted medians of `from`.
/// Block: pixel_rows x pixel_columns pixels; it returns early if no boundary is near. Pixels near
/// one are listed first, so that all lanes of a warp have a window; its 49 weights are in
/// registers. Thread: every 256th pixel of the list. Grid: columns, rows. Shared memory: image 0,
/// visibility and flow of the block's pixels with a border of 7, a flag for each with a border of
/// 2, and the list, 27 KB. 12 bytes moved a pixel and about 4000 flops for one near a boundary.
/// Source: Sun, Roth & Black 2010, section 5, equations 10 to 12.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    weighted_median_kernel(Planes<const float> image0, Planes<const float> warped1,
                           Planes<const float> from, DistanceWeights distance, Planes<float> to) {
    using core::shared;
    using Flags = BorderedTile<boundary_reach>;
    constexpr int border = window_samples * window_spacing + 1;
    const MedianTile u{shared<float>()};
    const MedianTile v{u.value + MedianTile::values};
    const MedianTile image{v.value + MedianTile::values};
    const MedianTile visibility{image.value + MedianTile::values};
    const Flags flags{visibility.value + MedianTile::values};
    int* const list = reinterpret_cast<int*>(flags.value + Flags::values);
    int* const listed = list + weighted_median_pixels;
    const int rows = rows_of(from);
    const int columns = columns_of(from);
    const auto in_image = [&](int r, int c) {
        const int y = tile_row() + r;
        const int x = tile_column() + c;
        return y >= 0 && y < rows && x >= 0 && x < columns;
    };
    u.load(rows, columns, [&](int y, int x) { return from(0, y, x); });
    v.load(rows, columns, [&](int y, int x) { return from(1, y, x); });
    if (core::thread_rank() == 0) *listed = 0;
    __syncthreads();
    for (int i = core::thread_rank(); i < Flags::values; i += core::block_threads()) {
        const int r = i / Flags::columns - boundary_reach;
        const int c = i % Flags::columns - boundary_reach;
        flags.value[i] = in_image(r, c) && has_step(u, v, r, c) ? 1.0F : 0.0F;
    }
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.y); r < pixel_rows; r += Warps) {
        const int c = static_cast<int>(threadIdx.x);
        float near = 0;
        APERTURE_UNROLL
        for (int i = -boundary_reach; i <= boundary_reach; ++i) {
            APERTURE_UNROLL
            for (int j = -boundary_reach; j <= boundary_reach; ++j) near += flags(r + i, c + j);
        }
        const bool wanted = near > 0.0F && in_image(r, c);
        const unsigned all = __ballot_sync(core::full_warp, wanted);
        int place = core::lane_rank() == 0 ? atomicAdd(listed, __popc(all)) : 0;
        place = core::broadcast(place, 0) + __popc(all & ((1u << core::lane_rank()) - 1u));
        if (wanted) list[place] = r * pixel_columns + c;
    }
    __syncthreads();
    const int count = *listed;
    if (count == 0) return;
    image.load(rows, columns, [&](int y, int x) { return image0(0, y, x); });
    for (int i = core::thread_rank(); i < MedianTile::values; i += core::block_threads()) {
        const int r = i / MedianTile::columns - border;
        const int c = i % MedianTile::columns - border;
        // Pixels outside the image have zero weight; windows do not reach the outermost pixels.
        const bool used = in_image(r, c) && r >= 1 - border && r < pixel_rows + border - 1 &&
                          c >= 1 - border && c < pixel_columns + border - 1;
        if (!used) {
            visibility.value[i] = 0.0F;
            continue;
        }
        const int y = tile_row() + r;
        const int x = tile_column() + c;
        visibility.value[i] =
            visibility_of((u(r, c + 1) - u(r, c - 1)) + (v(r + 1, c) - v(r - 1, c)),
                          warped1(0, y, x) - image0(0, y, x),
                          lands_inside(rows, columns, y, x, u(r, c), v(r, c)));
    }
    __syncthreads();
    for (int i = core::thread_rank(); i < count; i += core::block_threads()) {
        const int r = list[i] / pixel_columns;
        const int c = list[i] % pixel_columns;
        const WeightedWindow window(image, visibility, distance, r, c);
        to(0, tile_row() + r, tile_column() + c) = window.median(u);
        to(1, tile_row() + r, tile_column() + c) = window.median(v);
    }
}

template <class Executor>
class WeightedMedian {
  public:
    WeightedMedian() = default;
    explicit WeightedMedian(Shape) {
        for (int i = 0; i <= 2 * window_samples; ++i) {
            const auto apart = static_cast<float>(window_spacing * (i - window_samples));
            distance_.at[i] = std::exp(-apart * apart * over_twice_squared(distance_sigma));
        }
    }

    /// Filters `from` into `to` near boundaries; elsewhere `to` keeps another filter's result.
    /// `warped1` is warped by about this flow. Asynchronous.
    void run(Executor& executor, const Planes<const float>& image0,
             const Planes<const float>& warped1, const Planes<const float>& from,
             FlowView<typename Executor::Space> to) const {
        core::launch(executor, &weighted_median_kernel<pixel_warps>,
                     pixel_tile_config(rows_of(from), columns_of(from), 1,
                                       weighted_median_values * sizeof(float)),
                     image0, warped1, from, distance_, planes_of(to));
    }

  private:
    DistanceWeights distance_{};
};

}  // namespace aperture::flow::gpu
