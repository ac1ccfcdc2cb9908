// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsignal/gpu/planes.cuh"
#include "libsignal/median_network.hpp"

#if !defined(__CUDACC_RTC__)
#include "libsignal/image_checks.hpp"
#endif

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

/// Medians of a strip: the window of output r begins at tile[r * pitch]. Calls give(r, median) for
/// all r.
template <int size, class Give>
__device__ __forceinline__ void strip_medians(const float* tile, int pitch, const Give& give) {
    using network::merge;
    using network::Ranks;
    constexpr int half = size / 2;
    const auto row = [&](int r) {
        const float* first = tile + r * pitch;
        return network::sorted<FloatOrder, size>([first](int i) { return first[i]; });
    };
    // The row that only the upper window has was sorted size-1 rows before, as the core's last row.
    Ranks<FloatOrder, size> upper_rows[half];
    APERTURE_UNROLL
    for (int i = 0; i < half; ++i) upper_rows[i] = row(2 * i);
    // Rows of the core except the last two, merged in pairs.
    Ranks<FloatOrder, 2 * size> twos[half];
    APERTURE_UNROLL
    for (int i = 0; i < half - 1; ++i) twos[i] = merge(row(2 * i + 1), row(2 * i + 2));
    Ranks<FloatOrder, size> lower_row = row(size - 2);
    APERTURE_UNROLL
    for (int pair = 0; pair < median_strip / 2; ++pair) {
        const int r = 2 * pair;
        const Ranks<FloatOrder, size> last = row(r + size - 1);
        const Ranks<FloatOrder, 2 * size> two = merge(lower_row, last);
        lower_row = row(r + size);
        Ranks<FloatOrder, size*(size - 1)> core;
        if constexpr (half == 1) {
            core = two;
        } else if constexpr (half == 2) {
            core = merge(twos[0], two);
            twos[0] = two;
        } else {
            core = merge(merge(twos[0], twos[1]), two);
            twos[0] = twos[1];
            twos[1] = two;
        }
        give(r, network::median_of<FloatOrder, size>(core, upper_rows[pair % half]));
        give(r + 1, network::median_of<FloatOrder, size>(core, lower_row));
        upper_rows[pair % half] = last;
    }
}

/// Medians of size x size windows of planes. Thread: median_strip outputs in one column, with rows
/// sorted once for all windows that contain them. Warp: median_columns strips. Block: median_rows x
/// median_columns outputs of a plane. Grid: columns, rows, planes. Shared memory: the block's
/// pixels with their border, [median_rows + size - 1][median_columns + size - 1] floats, 5.2 KB for
/// size 5. 4 bytes written plus the loads of `from`; 72 minima and maxima an output of size 5.
/// `from` has (plane, row, column). Source: Batcher 1968.
template <int size, class Source, class Sink>
__global__ void __launch_bounds__(median_warps* core::warp_size)
    median_kernel(Source from, Sink to) {
    constexpr int pitch = median_columns + size - 1;
    float* const tile = core::shared<float>();
    const int first_row = static_cast<int>(blockIdx.y) * median_rows;
    const int first_column = static_cast<int>(blockIdx.x) * median_columns;
    const int plane = static_cast<int>(blockIdx.z);
    load_bordered(tile, first_row - size / 2, first_column - size / 2, median_rows + size - 1,
                  pitch, rows_of(to), columns_of(to),
                  [&](int y, int x) { return from(plane, y, x); });
    __syncthreads();
    const int strip = static_cast<int>(threadIdx.y) * median_strip;
    const int column = first_column + static_cast<int>(threadIdx.x);
    if (first_row + strip >= rows_of(to) || column >= columns_of(to)) return;
    strip_medians<size>(tile + strip * pitch + static_cast<int>(threadIdx.x), pitch,
                        [&](int r, float median) {
                            const int row = first_row + strip + r;
                            if (row < rows_of(to)) to(plane, row, column) = median;
                        });
}

#if !defined(__CUDACC_RTC__)

/// Filters `planes` planes; size is 3, 5 or 7. Asynchronous.
template <class Executor, class Source, class Sink>
void median_filter(Executor& executor, const Source& from, int planes, int size, const Sink& to) {
    const auto kernel = size == 3   ? &median_kernel<3, Source, Sink>
                        : size == 5 ? &median_kernel<5, Source, Sink>
                                    : &median_kernel<7, Source, Sink>;
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

#endif

}  // namespace aperture::signal::gpu
