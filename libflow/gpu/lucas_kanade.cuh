// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Flow increments from a window around each pixel. The same as libflow/cpu/lucas_kanade.hpp.

#include "libflow/gpu/data_term.cuh"
#include "libsignal/gpu/box_sum.cuh"

#if !defined(__CUDACC_RTC__)
#include "aperture/flow/parameters.hpp"
#endif

namespace aperture::flow::gpu {

/// Safeguards of a window's normal equations: the term added to their diagonal, and the smaller
/// eigenvalue below which the increment is zero.
struct WindowGuard {
    float added;
    float least;
};

/// The least-squares solution for sums of J11, J12, J22 and both right-hand sides.
__device__ __forceinline__ float2 solve_window(const float (&sum)[term_planes],
                                               const WindowGuard& guard) {
    const float j11 = sum[0];
    const float j12 = sum[1];
    const float j22 = sum[2];
    const float half_trace = 0.5F * (j11 + j22);
    const float half_difference = 0.5F * (j11 - j22);
    const float smaller = half_trace - sqrtf(half_difference * half_difference + j12 * j12);
    const float d11 = j11 + guard.added;
    const float d22 = j22 + guard.added;
    const float determinant = d11 * d22 - j12 * j12;
    const float scale = smaller >= guard.least && determinant > 0 ? 1.0F / determinant : 0.0F;
    return make_float2(scale * (d22 * sum[3] - j12 * sum[4]),
                       scale * (d11 * sum[4] - j12 * sum[3]));
}

/// Solves for sums in memory. Thread: a pixel; block, grid: those of assign_kernel. 28 bytes moved
/// and about 25 flops a pixel.
template <int Warps>
__global__ void __launch_bounds__(Warps* core::warp_size)
    solve_windows_kernel(Planes<const float> sums, WindowGuard guard, Planes<float> increment) {
    const int x = static_cast<int>(blockIdx.x) * pixel_columns + static_cast<int>(threadIdx.x);
    const int first = static_cast<int>(blockIdx.y) * pixel_rows;
    const int end = min(first + pixel_rows, rows_of(increment));
    if (x >= columns_of(increment)) return;
    for (int y = first + static_cast<int>(threadIdx.y); y < end; y += Warps) {
        float sum[term_planes];
        APERTURE_UNROLL
        for (int i = 0; i < term_planes; ++i) sum[i] = sums(i, y, x);
        const float2 added = solve_window(sum, guard);
        increment(0, y, x) = added.x;
        increment(1, y, x) = added.y;
    }
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
        const float2 added = solve_window(sum[p], guard);
        increment(0, y, x) = added.x;
        increment(1, y, x) = added.y;
    }
}

#if !defined(__CUDACC_RTC__)

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
        const auto pixels = static_cast<float>(window_ * window_);
        guard_ = {static_cast<float>(p.regularisation) * pixels, least_eigenvalue * pixels};
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

#endif

}  // namespace aperture::flow::gpu
