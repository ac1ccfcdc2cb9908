// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Flow increments from a window around each pixel. The same as libflow/cpu/lucas_kanade.hpp.

#include "aperture/flow/parameters.hpp"
#include "libflow/gpu/pixel_tiles.cuh"
#include "libsignal/gpu/box_sum.cuh"

namespace aperture::flow::gpu {

__device__ __forceinline__ void store_increment(const Planes<float>& planes, int y, int x,
                                                const float (&sum)[term_planes],
                                                const WindowGuard& guard) {
    const Increment added = solve_window({sum[0], sum[1], sum[2], sum[3], sum[4]}, guard);
    planes(0, y, x) = added.u;
    planes(1, y, x) = added.v;
}

/// Solves for sums in memory. Thread: for_tile_pixels; block, grid: those of assign_kernel. 28
/// bytes moved and about 25 flops a pixel.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    solve_windows_kernel(Planes<const float> sums, WindowGuard guard, Planes<float> increment) {
    for_tile_pixels(rows_of(increment), columns_of(increment), [&](int y, int x) {
        float sum[term_planes];
        APERTURE_UNROLL
        for (int i = 0; i < term_planes; ++i) sum[i] = sums(i, y, x);
        store_increment(increment, y, x, sum, guard);
    });
}

/// Window sums and solution in one kernel. Thread: segments of the sums, then eight pixels with
/// five sums each in registers. Block: box_rows x box_columns pixels. Grid: columns, rows. Shared
/// memory: BoxLayout, 42 KB for size 9. 28 bytes moved, about 50 additions in double and 25 flops a
/// pixel.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    lucas_kanade_kernel(Planes<const float> terms, signal::gpu::BoxLayout layout, WindowGuard guard,
                        Planes<float> increment) {
    using signal::gpu::box_columns;
    constexpr int pixels = signal::gpu::box_rows * box_columns / Threads;
    const int first_row = static_cast<int>(blockIdx.y) * signal::gpu::box_rows;
    const int first_column = static_cast<int>(blockIdx.x) * box_columns;
    float sum[pixels][term_planes];
    APERTURE_UNROLL
    for (int plane = 0; plane < term_planes; ++plane) {
        const double* sums = signal::gpu::box_sums(
            core::shared<double>(), layout, first_row, first_column, rows_of(terms),
            columns_of(terms), [&](int y, int x) { return terms(plane, y, x); });
        APERTURE_UNROLL
        for (int p = 0; p < pixels; ++p) {
            const int i = core::thread_rank() + p * Threads;
            sum[p][plane] =
                static_cast<float>(sums[i / box_columns * layout.pitch() + i % box_columns]);
        }
    }
    APERTURE_UNROLL
    for (int p = 0; p < pixels; ++p) {
        const int i = core::thread_rank() + p * Threads;
        const int y = first_row + i / box_columns;
        const int x = first_column + i % box_columns;
        if (y >= rows_of(increment) || x >= columns_of(increment)) continue;
        store_increment(increment, y, x, sum[p], guard);
    }
}

/// Least squares in windows; holds the sums if they are a separate stage.
template <class Executor>
class WindowedLeastSquares {
  public:
    using Space = typename Executor::Space;

    WindowedLeastSquares() = default;
    /// Throws core::InvalidArgument if a window does not fit a block's shared memory.
    WindowedLeastSquares(const Executor& executor, Shape shape, const Parameters& p)
        : window_(p.window), staged_(p.solver.implementation == Implementation::staged) {
        signal::gpu::expects_box_fits(executor, window_);
        if (staged_) sums_ = PlaneArray<Space>(term_planes, shape);
        guard_ = window_guard(window_, p.regularisation);
    }

    /// `terms` are those of increments. Asynchronous.
    void solve(Executor& executor, const Planes<const float>& terms,
               const Planes<float>& increment) {
        if (staged_) {
            signal::gpu::box_sum(executor, terms, term_planes, window_, sums_.planes());
            core::launch(executor, &solve_windows_kernel<pixel_warps>,
                         pixel_tile_config(rows_of(increment), columns_of(increment), 1),
                         std::as_const(sums_).planes(), guard_, increment);
            return;
        }
        const signal::gpu::BoxLayout layout{window_};
        core::launch(executor, &lucas_kanade_kernel<signal::gpu::box_threads>,
                     signal::gpu::box_config(rows_of(increment), columns_of(increment), 1, layout),
                     terms, layout, guard_, increment);
    }

  private:
    int window_ = 0;
    bool staged_ = false;
    WindowGuard guard_{};
    PlaneArray<Space> sums_;
};

}  // namespace aperture::flow::gpu
