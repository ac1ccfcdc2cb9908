// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsignal/gpu/planes.cuh"
#include "libsignal/image_checks.hpp"
#include "libsignal/median_network.hpp"

namespace aperture::signal::gpu {

inline constexpr int median_columns = 32;
inline constexpr int median_warps = 4;
/// Outputs of a thread, in one column; even. A strip of n costs (n + size - 1) / n of the network's
/// work on sorting rows.
inline constexpr int median_strip = 8;
inline constexpr int median_rows = median_warps * median_strip;

/// The order of fminf and fmaxf: a number precedes NaN. On the host those are calls.
struct FloatOrder {
    using Value = float;
#if defined(__CUDA_ARCH__)
    static __device__ float lower(float a, float b) { return fminf(a, b); }
    static __device__ float upper(float a, float b) { return fmaxf(a, b); }
#else
    static float lower(float a, float b) { return b < a || a != a ? b : a; }
    static float upper(float a, float b) { return b > a || a != a ? b : a; }
#endif
};

/// Medians of size x size windows of planes. Thread: median_strip outputs in one column, with rows
/// sorted once for all windows that contain them. Warp: median_columns strips. Block: median_rows x
/// median_columns outputs of a plane. Grid: columns, rows, planes. Shared memory: the block's
/// pixels with their border, [median_rows + size - 1][median_columns + size - 1] floats, 5.2 KB for
/// size 5. 4 bytes written plus the loads of `from`; 72 minima and maxima an output of size 5.
/// `from` has (plane, row, column). Source: Batcher 1968.
template <int size, class Source>
__global__ void __launch_bounds__(median_warps* core::warp_size)
    median_kernel(Source from, Planes<float> to) {
    constexpr int pitch = median_columns + size - 1;
    float* const tile = core::shared<float>();
    const int first_row = static_cast<int>(blockIdx.y) * median_rows;
    const int first_column = static_cast<int>(blockIdx.x) * median_columns;
    const int plane = static_cast<int>(blockIdx.z);
    load_bordered(tile, first_row - size / 2, first_column - size / 2, median_rows + size - 1,
                  pitch, rows_of(to), columns_of(to),
                  [&](int y, int x) { return from(plane, y, x); });
    __syncthreads();
    const int first = static_cast<int>(threadIdx.y) * median_strip;
    const int column = first_column + static_cast<int>(threadIdx.x);
    if (first_row + first >= rows_of(to) || column >= columns_of(to)) return;
    const auto row = [&](int r) {
        const float* from_row = tile + (first + r) * pitch + static_cast<int>(threadIdx.x);
        return network::sorted<FloatOrder, size>([from_row](int i) { return from_row[i]; });
    };
    network::MedianStrip<FloatOrder, size> strip(row);
    APERTURE_UNROLL
    for (int r = 0; r < median_strip; r += 2) {
        strip.next(r, row, [&](int i, float median) {
            const int y = first_row + first + i;
            if (y < rows_of(to)) to(plane, y, column) = median;
        });
    }
}

/// Filters `planes` planes; size is 3, 5 or 7. Asynchronous.
template <class Executor, class Source>
void median_filter(Executor& executor, const Source& from, int planes, int size,
                   const Planes<float>& to) {
    const auto kernel = size == 3   ? &median_kernel<3, Source>
                        : size == 5 ? &median_kernel<5, Source>
                                    : &median_kernel<7, Source>;
    const auto floats =
        static_cast<std::size_t>((median_rows + size - 1) * (median_columns + size - 1));
    core::launch(executor, kernel,
                 core::LaunchConfig(
                     tile_grid(rows_of(to), columns_of(to), planes, median_rows, median_columns),
                     dim3(core::warp_size, median_warps), floats * sizeof(float)),
                 from, to);
}

/// The function of aperture/signal/median.hpp.
template <class Executor>
void median_of_image(Executor& executor, core::View<const float, 2, typename Executor::Space> from,
                     int size, core::View<float, 2, typename Executor::Space> to) {
    check_median(from, size, to);
    if (from.empty()) return;
    median_filter(executor, planes_of(from), 1, size, planes_of(to));
}

}  // namespace aperture::signal::gpu
