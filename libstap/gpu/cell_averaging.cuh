// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Detector::cfar.

#include "libstap/gpu/training_windows.cuh"

namespace aperture::stap::gpu {

inline constexpr int cfar_threads = 128;

/// Cell averaging: |y|^2 over the mean of |y|^2 in the N_R + 2G + 1 cells around it, without the
/// cell and its guard cells; 0 if the mean is 0 or one of the cells is not finite. `output` is
/// [D][K][N] with contiguous range cells, `statistic` that of `cells` cells. Thread: one statistic.
/// Block: `Threads` neighbouring cells of one row of the output. Grid: rows x ceil(cells /
/// threads). Shared: none, a block's window is read through the cache. Bytes per cell: 8 read (once
/// per block and its halo), 4 written; flops: 4 per cell of the window. The window's sum is
/// recomputed for every cell, in order, so that its bits do not depend on the partition of range
/// into pieces. Source: Finn & Johnson 1968, cell averaging.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    cfar_kernel(KernelView<const Complex<float>, 3> output, KernelView<float, 3> statistic,
                TrainingPlan plan, index_t cells) {
    const unsigned tiles = static_cast<unsigned>((cells + Threads - 1) / Threads);
    const unsigned row = blockIdx.x / tiles;
    const index_t local =
        static_cast<index_t>(blockIdx.x % tiles) * Threads + static_cast<index_t>(threadIdx.x);
    if (local >= cells) return;
    const auto bins = static_cast<unsigned>(output.extent[1]);
    const index_t d = row / bins;
    const index_t k = row % bins;
    const TrainingSet window = sliding_window(plan, plan.cell_begin + local);
    const Complex<float>* y = output[d][k].data - plan.data_begin;
    float sum = 0.0f;
    for (int i = 0; i < window.cells; ++i) {
        if (i >= window.excluded_begin && i < window.excluded_end) continue;
        sum = core::add_norm(sum, y[window.first + i]);
    }
    const float power = core::norm(y[plan.cell_begin + local]);
    const float training_cells = static_cast<float>(window.training_cells);
    constexpr float largest = 3.40282347e+38f;
    statistic(d, k, local) = sum > 0.0f && power <= largest ? power * training_cells / sum : 0.0f;
}

}  // namespace aperture::stap::gpu
