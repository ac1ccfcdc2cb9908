// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "libsignal/axis_filter.hpp"
#include "libsignal/gpu/planes.cuh"
#include "libsignal/image_checks.hpp"

namespace aperture::signal::gpu {

// Outputs of a block, and its threads.
inline constexpr int resample_columns = 32;
inline constexpr int filter_rows = 16;
inline constexpr int resize_rows = 32;
inline constexpr int resample_warps = 8;

/// A block's shared memory: half kernels [2][radius + 1] in double; for every row and column of the
/// tile the start of its window and its weights [row or column][tap]; the rows of the tile,
/// filtered down the columns only: [filter_rows][span].
struct FilterLayout {
    AxisFilter rows;
    AxisFilter columns;
    int row_taps, column_taps;
    int span;  ///< input columns of a tile, at most

    APERTURE_HD int row_kernel() const { return static_cast<int>(rows.radius()) + 1; }
    APERTURE_HD int column_kernel() const { return static_cast<int>(columns.radius()) + 1; }
    APERTURE_HD int bytes() const {
        const int doubles = row_kernel() + column_kernel();
        const int floats =
            filter_rows * (1 + row_taps + span) + resample_columns * (1 + column_taps);
        return doubles * static_cast<int>(sizeof(double)) +
               floats * static_cast<int>(sizeof(float));
    }
};

/// Blur and resampling of planes in one kernel: first down the columns that a tile needs, from
/// global memory, then along its rows. Thread: a part of both. Block: filter_rows x
/// resample_columns outputs, with weights computed by the block. Grid: columns, rows, planes.
/// Shared memory: FilterLayout, 11 KB for a factor of 1/2. For a factor f and windows of n pixels:
/// 4 / f^2 + 4 bytes moved and 2 n (1 / f + 1) flops an output. `from` has (plane, row,
/// column).
template <class Source>
__global__ void __launch_bounds__(resample_warps* core::warp_size)
    filter_kernel(Source from, FilterLayout layout, Planes<float> to) {
    double* const row_kernel = core::shared<double>();
    double* const column_kernel = row_kernel + layout.row_kernel();
    int* const row_first = reinterpret_cast<int*>(column_kernel + layout.column_kernel());
    int* const column_first = row_first + filter_rows;
    float* const row_weights = reinterpret_cast<float*>(column_first + resample_columns);
    float* const column_weights = row_weights + filter_rows * layout.row_taps;
    float* const band = column_weights + resample_columns * layout.column_taps;
    const int first_row = static_cast<int>(blockIdx.y) * filter_rows;
    const int first_column = static_cast<int>(blockIdx.x) * resample_columns;
    const int plane = static_cast<int>(blockIdx.z);
    const int rows = min(filter_rows, static_cast<int>(layout.rows.to) - first_row);
    const int columns = min(resample_columns, static_cast<int>(layout.columns.to) - first_column);
    const int thread = core::thread_rank();

    if (thread == 0) gaussian(layout.rows.sigma, layout.rows.radius(), row_kernel);
    if (thread == core::warp_size) {
        gaussian(layout.columns.sigma, layout.columns.radius(), column_kernel);
    }
    __syncthreads();
    if (thread < columns) {
        column_first[thread] =
            static_cast<int>(window_weights(layout.columns, column_kernel, first_column + thread,
                                            column_weights + thread * layout.column_taps));
    } else if (thread >= resample_columns && thread < resample_columns + rows) {
        const int row = thread - resample_columns;
        row_first[row] = static_cast<int>(window_weights(layout.rows, row_kernel, first_row + row,
                                                         row_weights + row * layout.row_taps));
    }
    __syncthreads();
    const int begin = column_first[0];
    const int span = column_first[columns - 1] + layout.column_taps - begin;
    for (int i = thread; i < rows * span; i += core::block_threads()) {
        const int row = i / span;
        const int column = i - row * span;
        const float* weights = row_weights + row * layout.row_taps;
        float sum = 0.0F;
        for (int t = 0; t < layout.row_taps; ++t) {
            sum = __fmaf_rn(weights[t], from(plane, row_first[row] + t, begin + column), sum);
        }
        band[row * layout.span + column] = sum;
    }
    __syncthreads();
    for (int i = thread; i < rows * resample_columns; i += core::block_threads()) {
        const int row = i / resample_columns;
        const int column = i % resample_columns;
        if (column >= columns) continue;
        const float* weights = column_weights + column * layout.column_taps;
        const float* values = band + row * layout.span + column_first[column] - begin;
        float sum = 0.0F;
        for (int t = 0; t < layout.column_taps; ++t) {
            sum = __fmaf_rn(weights[t], values[t], sum);
        }
        to(plane, first_row + row, first_column + column) = sum;
    }
}

/// The pixels of one output along an axis, with borders replicated, and their weights.
template <int samples>
struct ResizeWindow {
    int pixel[samples];
    float weights[samples];

    __device__ __forceinline__ ResizeWindow(const AxisFilter& axis, int i) {
        const SampledPixels sampled = sampled_pixels(axis, i);
        APERTURE_UNROLL
        for (int s = 0; s < samples; ++s) {
            pixel[s] = inside(static_cast<int>(sampled.begin) + s, static_cast<int>(axis.from));
            weights[s] = static_cast<float>(sampled.weights[s]);
        }
    }
};

/// A factor for each of the two planes of a flow, or for one plane.
struct PlaneFactors {
    float factor[2] = {1.0F, 1.0F};
};

/// Interpolation of planes, times a factor. Thread: every resample_warps-th of the resize_rows
/// outputs of a column, of all planes. Block: resize_rows x resample_columns outputs. Grid:
/// columns, rows. No shared memory. For a factor f of the extents, 4 / f^2 + 4 bytes moved; 12
/// flops (bilinear) or 40 (bicubic) an output.
template <Sampling sampling>
__global__ void __launch_bounds__(resample_warps* core::warp_size)
    resize_kernel(Planes<const float> from, ImageFilter axes, int planes, PlaneFactors factors,
                  Planes<float> to) {
    constexpr int samples = sampling == Sampling::bicubic ? 4 : 2;
    const int column =
        static_cast<int>(blockIdx.x) * resample_columns + static_cast<int>(threadIdx.x);
    if (column >= axes.columns.to) return;
    const ResizeWindow<samples> across(axes.columns, column);
    const int first_row = static_cast<int>(blockIdx.y) * resize_rows;
    const int end = min(first_row + resize_rows, static_cast<int>(axes.rows.to));
    for (int row = first_row + static_cast<int>(threadIdx.y); row < end; row += resample_warps) {
        const ResizeWindow<samples> down(axes.rows, row);
        for (int plane = 0; plane < planes; ++plane) {
            float sum = 0.0F;
            APERTURE_UNROLL
            for (int x = 0; x < samples; ++x) {
                float filtered = 0.0F;
                APERTURE_UNROLL
                for (int y = 0; y < samples; ++y) {
                    filtered += down.weights[y] * from(plane, down.pixel[y], across.pixel[x]);
                }
                sum += across.weights[x] * filtered;
            }
            to(plane, row, column) = sum * factors.factor[plane];
        }
    }
}

/// Filters `planes` planes along both axes. Throws core::InvalidArgument, naming the operation, if
/// the windows do not fit a block's shared memory. Asynchronous.
template <class Executor, class Source>
void filter(Executor& executor, const char* operation, const Source& from, const ImageFilter& axes,
            int planes, const Planes<float>& to) {
    const auto& [rows, columns] = axes;
    const auto ratio = static_cast<double>(columns.from) / static_cast<double>(columns.to);
    const auto reach = static_cast<index_t>(std::ceil((resample_columns - 1) * ratio)) + 1;
    const index_t span = std::min(columns.from, reach + columns.taps());
    const FilterLayout layout{rows, columns, static_cast<int>(rows.taps()),
                              static_cast<int>(columns.taps()), static_cast<int>(span)};
    // An extent that does not fit an int does not fit shared memory either.
    constexpr index_t max_extent = 1 << 20;
    core::expects(rows.taps() <= max_extent && span <= max_extent &&
                      layout.bytes() <= executor.shared_memory_per_block(),
                  operation, ": windows of ", rows.taps(), " x ", columns.taps(),
                  " pixels are too large for ", executor.name());
    core::launch(
        executor, &filter_kernel<Source>,
        core::LaunchConfig(
            tile_grid(rows_of(to), columns_of(to), planes, filter_rows, resample_columns),
            dim3(core::warp_size, resample_warps), static_cast<std::size_t>(layout.bytes())),
        from, layout, to);
}

/// A Gaussian blur; `from` has (plane, row, column).
template <class Executor, class Source>
void blur(Executor& executor, const Source& from, float sigma, int planes,
          const Planes<float>& to) {
    filter(executor, "Gaussian blur", from, blur_filter({rows_of(to), columns_of(to)}, sigma),
           planes, to);
}

/// The next level of a pyramid; `from` has (plane, row, column), rows_of and columns_of.
template <class Executor, class Source>
void downsample(Executor& executor, const Source& from, int planes, const Planes<float>& to) {
    filter(executor, "downsample", from,
           pyramid_filter({rows_of(from), columns_of(from)}, {rows_of(to), columns_of(to)}), planes,
           to);
}

/// Resizes one plane, or two with a factor each.
template <class Executor>
void resize(Executor& executor, const Planes<const float>& from, Interpolation interpolation,
            int planes, PlaneFactors factors, const Planes<float>& to) {
    const ImageFilter axes = resize_filter({rows_of(from), columns_of(from)},
                                           {rows_of(to), columns_of(to)}, interpolation);
    const auto kernel = interpolation == Interpolation::bicubic
                            ? &resize_kernel<Sampling::bicubic>
                            : &resize_kernel<Sampling::bilinear>;
    core::launch(
        executor, kernel,
        core::LaunchConfig(tile_grid(rows_of(to), columns_of(to), 1, resize_rows, resample_columns),
                           dim3(core::warp_size, resample_warps)),
        from, axes, planes, factors, to);
}

// The functions of aperture/signal/resample.hpp.

template <class Executor>
void blur_image(Executor& executor, core::View<const float, 2, typename Executor::Space> from,
                float sigma, core::View<float, 2, typename Executor::Space> to) {
    check_blur(from, sigma, to);
    if (to.empty()) return;
    blur(executor, planes_of(from), sigma, 1, planes_of(to));
}

template <class Executor>
void resize_image(Executor& executor, core::View<const float, 2, typename Executor::Space> from,
                  Interpolation interpolation, core::View<float, 2, typename Executor::Space> to) {
    check_resampling("resize", from, to);
    if (to.empty()) return;
    resize(executor, planes_of(from), interpolation, 1, {}, planes_of(to));
}

template <class Executor>
void downsample_image(Executor& executor, core::View<const float, 2, typename Executor::Space> from,
                      core::View<float, 2, typename Executor::Space> to) {
    check_resampling("downsample", from, to);
    if (to.empty()) return;
    downsample(executor, planes_of(from), 1, planes_of(to));
}

}  // namespace aperture::signal::gpu
