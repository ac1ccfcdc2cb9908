// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "libcore/gpu/block.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/mirrored_array.hpp"
#include "libsignal/global_motion.hpp"

namespace aperture::signal::gpu {

using core::index_t;

inline constexpr int motion_sum_threads = 1024;

/// The sum of value(i) for i < count by a block of motion_sum_threads threads, in all of them.
/// Shared memory: a double a warp.
template <class Value>
__device__ __forceinline__ double sum_by_block(index_t count, const Value& value) {
    double sum = 0;
    APERTURE_UNROLL_BY(8)
    for (index_t i = core::thread_rank(); i < count; i += motion_sum_threads) {
        sum += static_cast<double>(value(i));
    }
    return core::block_reduce(sum, core::shared<double>());
}

/// Grid: one block. Shared memory: a double a warp.
inline __global__ void __launch_bounds__(motion_sum_threads)
    motion_mean_kernel(const float* values, index_t count, double* mean) {
    const double sum = sum_by_block(count, [values](index_t i) { return values[i]; });
    if (core::thread_rank() == 0) *mean = sum / static_cast<double>(count);
}

/// Planes of a level of the reference, with their padding. Thread: a pixel. Block: motion_cell x
/// motion_cell pixels. Grid: columns, rows of cells. No shared memory; 16 bytes and 54 flops a
/// pixel.
inline __global__ void __launch_bounds__(motion_cell* motion_cell)
    motion_planes_kernel(MotionLevel level, const float* image, const double* mean, float* values,
                         float* down, float* across) {
    const int y = static_cast<int>(blockIdx.y * motion_cell + threadIdx.y);
    const int x = static_cast<int>(blockIdx.x * motion_cell + threadIdx.x);
    SplinePixel pixel{};
    if (y < level.rows && x < level.columns) {
        const int columns = level.columns;
        const auto at = [image, columns](int row, int column) {
            return image[index_t{row} * columns + column];
        };
        pixel = spline_pixel(level, at, static_cast<float>(*mean), y, x);
    }
    const index_t at = index_t{y} * level.stride + x;
    values[at] = pixel.value;
    down[at] = pixel.down;
    across[at] = pixel.across;
}

/// `energy` of a level. Grid: one block. Shared memory: a double a warp.
inline __global__ void __launch_bounds__(motion_sum_threads)
    motion_energy_kernel(MotionLevel level, const double* mean, double* energy) {
    const index_t pixels = index_t{level.cell_rows()} * motion_cell * level.stride;
    const double sum = sum_by_block(
        pixels, [&level](index_t i) { return pixel_energy(level.down[i], level.across[i], 0); });
    if (core::thread_rank() == 0) {
        *energy = static_cast<double>(level_energy(level, sum, *mean));
    }
}

/// Groups of threads that sum the products of a cell, each of a part of its pixels.
inline constexpr int product_groups = 4;
inline constexpr int product_group = motion_cell * motion_cell / product_groups;
static_assert(most_products < product_group);

/// Shared memory of motion_products_kernel. A pixel's last value is its energy; their odd number
/// keeps pixels in different banks.
template <MotionModel model>
struct ProductMemory {
    float pixels[motion_cell * motion_cell][unknowns_of(model) + 1];
    float parts[product_groups][product_group];
};

/// Normal matrices of cells over their energies; planes of a flat image become 0. Thread: a pixel,
/// then a product of a quarter of them. Block: a cell. Grid: columns, rows of cells. Shared memory:
/// ProductMemory, 12 KB for a homography. 12 bytes and 4 (products + 1) flops a pixel.
template <MotionModel model>
__global__ void __launch_bounds__(motion_cell* motion_cell)
    motion_products_kernel(MotionLevel level, MotionPass places, const double* energy,
                           float* values, float* down, float* across, float* products) {
    constexpr int n = unknowns_of(model);
    constexpr int count = products_of(model);
    auto& memory = *core::shared<ProductMemory<model>>();
    const int y = static_cast<int>(blockIdx.y * motion_cell + threadIdx.y);
    const int x = static_cast<int>(blockIdx.x * motion_cell + threadIdx.x);
    const index_t at = index_t{y} * level.stride + x;
    const auto mean = static_cast<float>(*energy);
    if (mean == 0) values[at] = down[at] = across[at] = 0;
    const int thread = core::thread_rank();
    float derivatives[n] = {};
    float of_pixel = 0;
    if (y < level.rows && x < level.columns) {
        of_pixel = pixel_energy(down[at], across[at], mean);
        derivatives_at<model>(down[at], across[at], values[at],
                              places.first_u + places.unit_y * static_cast<float>(y),
                              places.first_v + places.unit_x * static_cast<float>(x), derivatives);
    }
    APERTURE_UNROLL
    for (int k = 0; k < n; ++k) memory.pixels[thread][k] = derivatives[k];
    memory.pixels[thread][n] = of_pixel;
    __syncthreads();
    const int group = thread / product_group;
    const int item = thread % product_group;
    int i = 0;
    while ((i + 1) * (i + 2) / 2 <= item) ++i;
    const int j = item - i * (i + 1) / 2;
    float sum = 0;
    if (item <= count) {
        for (int k = 0; k < product_group; ++k) {
            const float* const pixel = memory.pixels[group * product_group + k];
            sum += item < count ? pixel[i] * pixel[j] : pixel[n];
        }
    }
    memory.parts[group][item] = sum;
    __syncthreads();
    if (thread >= count) return;
    const auto total = [&memory](int of) {
        float all = 0;
        for (int part = 0; part < product_groups; ++part) all += memory.parts[part][of];
        return all;
    };
    const float cell_energy = total(count);
    const index_t cell = index_t{blockIdx.y} * gridDim.x + blockIdx.x;
    products[cell * count + thread] = cell_energy > 0 ? total(thread) / cell_energy : total(thread);
}

/// The pyramid of the reference with what does not depend on frames.
template <class Executor>
class MotionReference {
  public:
    using Space = typename Executor::Space;

    MotionReference(Executor& executor, std::vector<MotionLevel> levels)
        : executor_(executor), levels_(std::move(levels)), found_(executor) {
        index_t values = 0;
        for (const MotionLevel& level : levels_) values += values_of(level);
        planes_.reshape({values});
        float* next = planes_.data();
        for (MotionLevel& level : levels_) {
            const LevelPlanes planes(level, next);
            level.values = planes.values;
            level.down = planes.down;
            level.across = planes.across;
            level.products = planes.products;
            next += values_of(level);
        }
    }

    /// Finest first, in the executor's memory.
    const std::vector<MotionLevel>& levels() const { return levels_; }

    /// Of an image's pyramid, a frame a level. Returns the mean. Synchronises.
    double set(const std::vector<core::Array<float, 3, Space>>& pyramid) {
        found_.reshape({1 + static_cast<index_t>(levels_.size())});
        double* const mean = found_.device().data;
        core::launch(executor_, &motion_mean_kernel, by_one_block(), pyramid[0].data(),
                     pyramid[0].size(), mean);
        float* next = planes_.data();
        for (std::size_t l = 0; l < levels_.size(); ++l) {
            set_level(levels_[l], pyramid[l].data(), LevelPlanes(levels_[l], next), mean,
                      mean + 1 + l);
            next += values_of(levels_[l]);
        }
        found_.to_host();
        executor_.synchronize();
        const double* const found = found_.host().data;
        for (std::size_t l = 0; l < levels_.size(); ++l) {
            levels_[l].mean = static_cast<float>(found[0]);
            levels_[l].energy = static_cast<float>(found[l + 1]);
        }
        return found[0];
    }

  private:
    static index_t plane_of(const MotionLevel& level) {
        return index_t{level.cell_rows()} * motion_cell * level.stride;
    }
    static index_t values_of(const MotionLevel& level) {
        return 3 * plane_of(level) + index_t{level.cells()} * products_of(level.model);
    }
    /// Where a level's planes are written.
    struct LevelPlanes {
        float *values, *down, *across, *products;

        LevelPlanes(const MotionLevel& level, float* first)
            : values(first),
              down(values + plane_of(level)),
              across(down + plane_of(level)),
              products(across + plane_of(level)) {}
    };

    static core::LaunchConfig by_one_block() {
        constexpr int threads = motion_sum_threads;
        return {dim3(1), dim3(threads), threads / core::warp_size * sizeof(double)};
    }

    void set_level(const MotionLevel& level, const float* image, const LevelPlanes& planes,
                   const double* mean, double* energy) {
        const dim3 cells(static_cast<unsigned>(level.cell_columns()),
                         static_cast<unsigned>(level.cell_rows()));
        const dim3 cell(motion_cell, motion_cell);
        core::launch(executor_, &motion_planes_kernel, {cells, cell}, level, image, mean,
                     planes.values, planes.down, planes.across);
        core::launch(executor_, &motion_energy_kernel, by_one_block(), level, mean, energy);
        with_model(level.model, [&](auto model) {
            core::launch(executor_, &motion_products_kernel<model()>,
                         {cells, cell, sizeof(ProductMemory<model()>)}, level,
                         MotionPass(level, MotionState{}), energy, planes.values, planes.down,
                         planes.across, planes.products);
        });
    }

    Executor& executor_;
    std::vector<MotionLevel> levels_;
    core::Array<float, 1, Space> planes_;             ///< and products of all levels
    core::MirroredArray<double, 1, Executor> found_;  ///< the mean, energies of levels
};

}  // namespace aperture::signal::gpu
