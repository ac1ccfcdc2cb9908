// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// SurfaceEstimator on a Gpu or the SIMT host executor; the same as libcorr/cpu/estimator.cpp.

#include "libcore/gpu/block.cuh"
#include "libcorr/surface_estimator.hpp"
#include "libsignal/gpu/pixels.cuh"
#include "libsignal/gpu/summed_area.cuh"

namespace aperture::corr::gpu {

using signal::gpu::columns_of;
using signal::gpu::Planes;
using signal::gpu::rows_of;

template <class Formula>
__device__ __forceinline__ void do_entry(const Step<Formula>& step, index_t y, index_t x) {
    for (index_t p = 0; p < step.planes; ++p) step.formula(p, y, x);
}

/// Does the steps of all entries. Thread: an entry. Block: pixel_rows x pixel_columns entries.
/// Grid: columns, rows. No shared memory. Bound by memory: what the formulas access, each value
/// once.
template <class... Formulas>
__global__ void __launch_bounds__(signal::gpu::pixel_rows* signal::gpu::pixel_columns)
    entries_kernel(index_t rows, index_t columns, Step<Formulas>... steps) {
    signal::gpu::at_own_pixel(rows, columns,
                              [&](index_t y, index_t x) { (do_entry(steps, y, x), ...); });
}

/// Chosen pixels of a part of a plane, and the sum of their values.
using PartialMean = core::Sums<2>;

inline constexpr int mean_parts = core::warp_size;
inline constexpr int mean_warps = 8;

/// Thread: every 32nd pixel of every mean_warps-th row of the part. Grid: mean_parts, planes.
/// Shared memory: the warps' sums, 128 bytes. 4 bytes moved a pixel, 8 with a mask, and two
/// additions in double.
inline __global__ void __launch_bounds__(mean_warps* core::warp_size)
    partial_means_kernel(Planes<const float> image, Entries<const float> mask, PartialMean* parts) {
    const int part = static_cast<int>(blockIdx.x);
    const int plane = static_cast<int>(blockIdx.y);
    const int begin = static_cast<int>(index_t{rows_of(image)} * part / mean_parts);
    const int end = static_cast<int>(index_t{rows_of(image)} * (part + 1) / mean_parts);
    PartialMean sums{};
    for (int y = begin + core::warp_rank(); y < end; y += mean_warps) {
        for (int x = core::lane_rank(); x < columns_of(image); x += core::warp_size) {
            if (!is_chosen(mask, y, x)) continue;
            sums.value[0] += 1;
            sums.value[1] += static_cast<double>(image(plane, y, x));
        }
    }
    sums = core::block_reduce(sums, core::shared<PartialMean>());
    if (threadIdx.x == 0) parts[plane * mean_parts + part] = sums;
}

/// Means of planes, a warp for each.
inline __global__ void __launch_bounds__(core::warp_size)
    means_kernel(const PartialMean* parts, float* means) {
    const int plane = static_cast<int>(blockIdx.x);
    const PartialMean sums =
        core::warp_reduce(parts[plane * mean_parts + static_cast<int>(threadIdx.x)]);
    if (threadIdx.x != 0) return;
    means[plane] = static_cast<float>(sums.value[0] > 0 ? sums.value[1] / sums.value[0] : 0.0);
}

/// Values for summed-area tables.
struct ValueItself {
    __device__ __forceinline__ static bool wanted(int) { return true; }
    __device__ __forceinline__ double operator()(int, float value) const {
        return static_cast<double>(value);
    }
};
struct ValueSquared {
    __device__ __forceinline__ static bool wanted(int) { return true; }
    __device__ __forceinline__ double operator()(int, float value) const {
        return static_cast<double>(value) * static_cast<double>(value);
    }
};

/// Sums over those pixels of one side's image that have a partner.
struct SumOverlaps {
    Planes<const double> areas;
    Shape image;
    Lags lags;
    Side side;
    PlaneEntries<double> sums;

    __device__ void operator()(index_t p, index_t i, index_t j) const {
        const index_t dy = lags.first_row() + i;
        const index_t dx = lags.first_column() + j;
        const int top = static_cast<int>(side == Side::a ? dy : -dy);
        const int left = static_cast<int>(side == Side::a ? dx : -dx);
        const int rows = static_cast<int>(overlap(image.rows, dy));
        const int columns = static_cast<int>(overlap(image.columns, dx));
        sums(p, i, j) = signal::gpu::area_sum(areas, p, max(top, 0), max(top, 0) + rows,
                                              max(left, 0), max(left, 0) + columns);
    }
};

}  // namespace aperture::corr::gpu

namespace aperture::corr {

/// Kernels and workspace. Asynchronous.
template <class Executor>
class EstimatorOperations {
    using Space = typename Executor::Space;

  public:
    explicit EstimatorOperations(Executor& executor) : executor_(executor) {}

    template <class... Formulas>
    void for_entries(index_t rows, index_t columns, const Step<Formulas>&... steps) {
        core::launch(executor_, &gpu::entries_kernel<Formulas...>,
                     signal::gpu::for_pixels(rows, columns), rows, columns, steps...);
    }

    void find_means(const PlanesView<Space>& image, const core::View<const float, 2, Space>& mask,
                    float* means) {
        const auto planes = static_cast<unsigned>(image.extent[0]);
        parts_.reshape({image.extent[0] * gpu::mean_parts});
        core::launch(executor_, &gpu::partial_means_kernel,
                     core::LaunchConfig(dim3(gpu::mean_parts, planes),
                                        dim3(gpu::mean_warps * core::warp_size),
                                        gpu::mean_warps * sizeof(gpu::PartialMean)),
                     signal::gpu::planes_of(image),
                     Entries<const float>(mask.data, mask.extent, mask.stride), parts_.data());
        core::launch(executor_, &gpu::means_kernel,
                     core::LaunchConfig(dim3(planes), dim3(core::warp_size)), parts_.data(), means);
    }

    void find_moments(const PlanesView<Space>& image, Side side, const Problem& problem,
                      core::View<double, 3, Space> sums, core::View<double, 3, Space> squares) {
        const auto [planes, rows, columns] = image.extent;
        areas_.reshape({planes, rows + 1, columns + 1});
        const gpu::Planes<double> areas(areas_.data(), areas_.extent());
        const auto store_sums = [&](const auto& values, const core::View<double, 3, Space>& to) {
            signal::gpu::sum_areas(executor_, static_cast<int>(image.extent[0]),
                                   signal::gpu::planes_of(image), values, areas);
            const gpu::SumOverlaps sum{
                areas, problem.image, problem.lags, side, {to.data, to.extent}};
            for_entries(to.extent[1], to.extent[2], Step<gpu::SumOverlaps>{to.extent[0], sum});
        };
        store_sums(gpu::ValueItself(), sums);
        store_sums(gpu::ValueSquared(), squares);
    }

  private:
    Executor& executor_;
    core::Array<gpu::PartialMean, 1, Space> parts_;
    core::Array<double, 3, Space> areas_;
};

}  // namespace aperture::corr
