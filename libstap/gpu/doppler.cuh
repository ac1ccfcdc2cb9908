// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/stages.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libstap/gpu/training_windows.cuh"

namespace aperture::stap::gpu {

inline constexpr int padding_threads = 128;

/// Taper and zero-padding of pulses [channel][pulse][range cell] to a cube [channel][Doppler
/// bin][range cell], which is then transformed in place; cells are contiguous. Thread: one range
/// cell of one (channel, Doppler bin) row. Block: `Threads` neighbouring cells. Grid: rows x ceil(N
/// / Threads) on x. No shared memory. Bytes per sample of the cube: 8 P / K read, 8 written; flops:
/// 2 P / K.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    taper_and_pad_kernel(KernelView<const Complex<float>, 3> pulses, const float* taper,
                         KernelView<Complex<float>, 3> cube) {
    const index_t range_cells = cube.extent[2];
    const unsigned tiles = static_cast<unsigned>((range_cells + Threads - 1) / Threads);
    const unsigned row = blockIdx.x / tiles;
    const index_t cell =
        static_cast<index_t>(blockIdx.x % tiles) * Threads + static_cast<index_t>(threadIdx.x);
    if (cell >= range_cells) return;
    const auto bins = static_cast<unsigned>(cube.extent[1]);
    const index_t channel = row / bins;
    const index_t k = row % bins;
    Complex<float> sample(0.0f);
    if (k < pulses.extent[1]) sample = pulses[channel][k].data[cell] * taper[k];
    cube[channel][k].data[cell] = sample;
}

/// `taper` has a weight for each pulse; cells of both cubes are contiguous. Asynchronous.
template <class Executor>
void taper_and_pad(Executor& executor, core::View<const cfloat, 3, typename Executor::Space> pulses,
                   core::View<const float, 1, typename Executor::Space> taper,
                   core::View<cfloat, 3, typename Executor::Space> cube) {
    constexpr int threads = padding_threads;
    const index_t tiles = core::ceil_div(cube.extent[2], threads);
    const unsigned blocks = core::blocks_for(cube.extent[0] * cube.extent[1] * tiles, 1);
    core::launch(executor, &taper_and_pad_kernel<threads>, core::LaunchConfig(blocks, threads),
                 core::kernel_view(pulses), taper.data, core::kernel_view(cube));
}

}  // namespace aperture::stap::gpu
