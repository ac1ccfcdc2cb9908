// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Planes computed tile by tile, and normalized. Sums stay on the device: a block stores its tile's
// moments with the tile, one block for each plane reduces them to a mean and a scale in a fixed
// order, and the pixels are scaled by these.

#include "libcore/gpu/block.cuh"
#include "libcorr/plane_formulas.hpp"
#include "libsignal/gpu/planes.cuh"

namespace aperture::corr::gpu {

using core::index_t;
using signal::gpu::columns_of;
using signal::gpu::Planes;
using signal::gpu::rows_of;

inline constexpr int tile_rows = 32;
inline constexpr int tile_columns = core::warp_size;
inline constexpr int tile_warps = 8;
inline constexpr int tile_threads = tile_warps * core::warp_size;

__device__ __forceinline__ int first_tile_row() { return static_cast<int>(blockIdx.y) * tile_rows; }
__device__ __forceinline__ int first_tile_column() {
    return static_cast<int>(blockIdx.x) * tile_columns;
}

/// Calls visit(y, x) for this thread's pixels of the block's tile: those of a column, tile_warps
/// rows apart.
template <class Visit>
__device__ __forceinline__ void for_own_pixels(int rows, int columns, const Visit& visit) {
    const int x = first_tile_column() + static_cast<int>(threadIdx.x);
    if (x >= columns) return;
    APERTURE_UNROLL
    for (int i = 0; i < tile_rows; i += tile_warps) {
        const int y = first_tile_row() + static_cast<int>(threadIdx.y) + i;
        if (y < rows) visit(y, x);
    }
}

/// Where blocks store the moments of their tiles, [plane][block]. Null `moments`: not needed; null
/// data in `mask`: all pixels count.
struct TileMoments {
    Moments* moments;
    index_t blocks;
    Planes<const float> mask;

    APERTURE_HD TileMoments of_plane(int plane) const {
        return {moments == nullptr ? nullptr : moments + plane * blocks, blocks, mask};
    }
};

/// Shared memory of write_tile; it may have other uses before.
template <int count>
inline constexpr std::size_t write_tile_shared = tile_warps * sizeof(core::Sums<1 + 2 * count>);

/// Stores the block's tile of `count` planes, with pixels from values_of(y, x, values), and its
/// moments. All threads must call.
template <int count, class ValuesOf>
__device__ __forceinline__ void write_tile(const Planes<float>& planes, const TileMoments& to,
                                           const ValuesOf& values_of) {
    using Sums = core::Sums<1 + 2 * count>;
    Sums own{};
    for_own_pixels(rows_of(planes), columns_of(planes), [&](int y, int x) {
        float values[count];
        values_of(y, x, values);
        APERTURE_UNROLL
        for (int p = 0; p < count; ++p) planes(p, y, x) = values[p];
        if (to.moments == nullptr) return;
        const bool counts = to.mask.data == nullptr || to.mask(0, y, x) != 0;
        const double weight = counts ? 1 : 0;
        own.value[0] += weight;
        APERTURE_UNROLL
        for (int p = 0; p < count; ++p) {
            const double value = weight * static_cast<double>(values[p]);
            own.value[1 + 2 * p] += value;
            own.value[2 + 2 * p] += value * value;
        }
    });
    if (to.moments == nullptr) return;
    const Sums sums = core::block_reduce(own, core::shared<Sums>());
    if (core::thread_rank() >= count) return;
    APERTURE_UNROLL
    for (int p = 0; p < count; ++p) {
        if (core::thread_rank() != p) continue;
        const double pixels = sums.value[0];
        const double sum = sums.value[1 + 2 * p];
        const double deviation = pixels == 0 ? 0 : sums.value[2 + 2 * p] - sum * sum / pixels;
        to.moments[p * to.blocks + blockIdx.y * gridDim.x + blockIdx.x] = {pixels, sum, deviation};
    }
}

/// Computes the normalizer of a plane from the moments of its tiles. Thread: every tile_threads-th
/// of them, twice: for the mean, and for the deviation from it. Block: a plane. Grid: planes.
/// Shared memory: the warps' sums, 128 bytes. 24 bytes moved for a tile, once more from a cache.
inline __global__ void __launch_bounds__(tile_threads)
    normalizer_kernel(const Moments* all, index_t blocks, Normalizer* normalizers) {
    const Moments* const parts = all + blockIdx.x * blocks;
    core::Sums<2> sums{};
    for (index_t i = core::thread_rank(); i < blocks; i += tile_threads) {
        sums = sums + core::Sums<2>{{parts[i].pixels, parts[i].sum}};
    }
    sums = core::block_reduce(sums, core::shared<core::Sums<2>>());
    const double pixels = sums.value[0];
    const double mean = pixels > 0 ? sums.value[1] / pixels : 0;
    double deviation = 0;
    for (index_t i = core::thread_rank(); i < blocks; i += tile_threads) {
        deviation += deviation_from(parts[i], mean);
    }
    deviation = core::block_reduce(deviation, core::shared<double>());
    if (core::thread_rank() == 0) {
        normalizers[blockIdx.x] = normalizer_of(pixels, mean, deviation);
    }
}

/// Normalizes planes in place. Thread: the pixels of a column, tile_warps rows apart. Warp:
/// tile_columns pixels of a row. Block: a tile of a plane. Grid: columns, rows, planes. No shared
/// memory. 8 bytes moved and 2 flops in double a value. Bound by memory: a million values take 1.7
/// us on an H200.
inline __global__ void __launch_bounds__(tile_threads)
    normalize_kernel(const Normalizer* normalizers, Planes<float> planes) {
    const int plane = static_cast<int>(blockIdx.z);
    const Normalizer normalized = normalizers[plane];
    for_own_pixels(rows_of(planes), columns_of(planes), [&](int y, int x) {
        float& value = planes(plane, y, x);
        value = normalized(value);
    });
}

/// Launch configuration for the tiles of `count` planes.
inline core::LaunchConfig tile_config(const Planes<float>& planes, int count,
                                      std::size_t shared_bytes = 0,
                                      std::source_location call = std::source_location::current()) {
    return {
        signal::gpu::tile_grid(rows_of(planes), columns_of(planes), count, tile_rows, tile_columns),
        dim3(tile_columns, tile_warps), shared_bytes, call};
}

}  // namespace aperture::corr::gpu
