// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/stap/stages.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libstap/gpu/training_windows.cuh"

namespace aperture::stap::gpu {

/// Copies pulses [channel][pulse][range cell], last stride 1, to a dense cube [channel][Doppler
/// bin] [range cell], which is then transformed in place.
struct PaddingArguments {
    const Complex<float>* pulses;
    index_t channel_stride, pulse_stride;
    Complex<float>* cube;
    index_t cube_channel_stride, cube_doppler_stride;
    const float* taper;  ///< [pulse]
    index_t range_cells;
    int pulse_count, doppler_bins;
};

inline constexpr int padding_threads = 128;

/// Taper and zero-padding. Thread: one range cell of one (channel, Doppler bin) row. Block:
/// `Threads` neighbouring cells. Grid: rows x ceil(N / Threads) on x. No shared memory. Bytes per
/// sample of the cube: 8 P / K read, 8 written; flops: 2 P / K.
template <int Threads>
__global__ void __launch_bounds__(Threads) taper_and_pad_kernel(PaddingArguments p) {
    const unsigned tiles = static_cast<unsigned>((p.range_cells + Threads - 1) / Threads);
    const unsigned row = blockIdx.x / tiles;
    const index_t cell =
        static_cast<index_t>(blockIdx.x % tiles) * Threads + static_cast<index_t>(threadIdx.x);
    if (cell >= p.range_cells) return;
    const index_t channel = row / static_cast<unsigned>(p.doppler_bins);
    const int k = static_cast<int>(row % static_cast<unsigned>(p.doppler_bins));
    Complex<float> sample(0.0f);
    if (k < p.pulse_count) {
        sample = p.pulses[channel * p.channel_stride + k * p.pulse_stride + cell] * p.taper[k];
    }
    p.cube[channel * p.cube_channel_stride + k * p.cube_doppler_stride + cell] = sample;
}

/// `taper` has a weight for each pulse; `cube` is dense. Asynchronous.
template <class Executor>
void taper_and_pad(Executor& executor, core::View<const cfloat, 3, typename Executor::Space> pulses,
                   core::View<const float, 1, typename Executor::Space> taper,
                   core::View<cfloat, 3, typename Executor::Space> cube) {
    constexpr int threads = padding_threads;
    const index_t range_cells = cube.extent[2];
    const index_t tiles = (range_cells + threads - 1) / threads;
    const index_t blocks = cube.extent[0] * cube.extent[1] * tiles;
    core::expects(blocks < (index_t(1) << 31), blocks, " blocks exceed the maximum grid");
    const PaddingArguments arguments{core::device_cast(pulses.data),
                                     pulses.stride[0],
                                     pulses.stride[1],
                                     core::device_cast(cube.data),
                                     cube.stride[0],
                                     cube.stride[1],
                                     taper.data,
                                     range_cells,
                                     static_cast<int>(pulses.extent[1]),
                                     static_cast<int>(cube.extent[1])};
    core::launch(executor, &taper_and_pad_kernel<threads>,
                 core::LaunchConfig(static_cast<unsigned>(blocks), threads), arguments);
}

}  // namespace aperture::stap::gpu
