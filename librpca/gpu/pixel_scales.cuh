// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Differences from the background and the scales of pixels, on a device.

#include <vector>

#include "librpca/gpu/own_pixel.cuh"
#include "librpca/mask_steps.hpp"

namespace aperture::rpca::gpu {

/// The largest |difference| of a pixel's channels.
__device__ __forceinline__ float pixel_size(const KernelView<const float, 4>& differences,
                                            index_t frame, index_t row, index_t column) {
    float size = 0;
    for (index_t c = 0; c < differences.extent[1]; ++c) {
        size = larger_size(size, differences(frame, c, row, column));
    }
    return size;
}

/// A thread: a value of all frames. Moves 12 bytes a value, 8 where all frames have one background.
inline __global__ void __launch_bounds__(pixel_threads)
    subtract_kernel(KernelView<const float, 2> frames, KernelView<const float, 2> backgrounds,
                    KernelView<float, 2> differences) {
    const index_t value = own_pixel();
    if (value >= frames.extent[1]) return;
    APERTURE_UNROLL_BY(4)
    for (index_t f = 0; f < frames.extent[0]; ++f) {
        differences(f, value) = fabsf(frames(f, value) - backgrounds(f, value));
    }
}

/// A thread: the size of every `step`-th value.
inline __global__ void __launch_bounds__(pixel_threads)
    sample_sizes_kernel(KernelView<const float, 4> differences, index_t step, index_t samples,
                        float* sizes) {
    const index_t sample = own_pixel();
    if (sample >= samples) return;
    const auto& extent = differences.extent;
    const index_t value = sample * step;
    const index_t row = value / extent[3];
    const index_t plane = row / extent[2];
    sizes[sample] = fabsf(
        differences(plane / extent[1], plane % extent[1], row % extent[2], value % extent[3]));
}

inline __global__ void __launch_bounds__(pixel_threads)
    fill_scales_kernel(float scale, KernelView<float, 2> scales) {
    const index_t pixel = own_pixel();
    if (pixel < scales.size()) scales(pixel / scales.extent[1], pixel % scales.extent[1]) = scale;
}

/// A thread: the median of a pixel's sizes, which are in its registers. Loads 4 bytes a value of
/// the frames that count; 31 x 64 comparisons a pixel.
inline __global__ void __launch_bounds__(pixel_threads)
    pixel_scales_kernel(KernelView<const float, 4> differences, ScaledFrames frames,
                        KernelView<float, 2> scales) {
    const index_t pixel = own_pixel();
    if (pixel >= scales.size()) return;
    const index_t row = pixel / scales.extent[1];
    const index_t column = pixel % scales.extent[1];
    unsigned sizes[most_scaled_frames];
    APERTURE_UNROLL
    for (int i = 0; i < most_scaled_frames; ++i) {
        sizes[i] = 0xffffffffU;
        if (i < frames.count) {
            const float size = pixel_size(differences, i * frames.step, row, column);
            memcpy(&sizes[i], &size, sizeof(size));
        }
    }
    unsigned median = 0;
    APERTURE_NO_UNROLL
    for (unsigned bit = highest_size_bit; bit > 0; bit /= 2) {
        int below = 0;
        APERTURE_UNROLL
        for (int i = 0; i < most_scaled_frames; ++i) below += sizes[i] < median + bit ? 1 : 0;
        if (2 * below <= frames.count) median += bit;
    }
    memcpy(&scales(row, column), &median, sizeof(median));
}

/// A thread: a pixel of all frames. Moves 5 bytes a pixel and frame.
inline __global__ void __launch_bounds__(pixel_threads)
    follow_scales_kernel(KernelView<const float, 4> differences,
                         KernelView<const std::uint8_t, 3> masks, KernelView<float, 2> scales) {
    const index_t pixel = own_pixel();
    if (pixel >= scales.size()) return;
    const index_t row = pixel / scales.extent[1];
    const index_t column = pixel % scales.extent[1];
    float scale = scales(row, column);
    for (index_t f = 0; f < differences.extent[0]; ++f) {
        scale = followed_scale(scale, pixel_size(differences, f, row, column),
                               masks(f, row, column) != 0);
    }
    scales(row, column) = scale;
}

/// The functions of aperture/rpca/mask.hpp.
template <class Executor, class Space = typename Executor::Space>
void subtract(Executor& executor, FramesView<const float, Space> frames,
              FramesView<const float, Space> backgrounds, FramesView<float, Space> differences) {
    expects_backgrounds(frames, backgrounds, differences);
    if (frames.empty()) return;
    core::launch(executor, &subtract_kernel, for_each_pixel(frames.extent[1]),
                 core::kernel_view(frames), core::kernel_view(backgrounds),
                 core::kernel_view(differences));
}

template <class Executor, class Space = typename Executor::Space>
double deviation_of_noise(Executor& executor, DifferencesView<Space> differences) {
    if (differences.empty()) return 0;
    const index_t step = sample_step(differences.size(), most_noise_samples);
    const index_t samples = sample_count(differences.size(), most_noise_samples);
    auto* const there = reinterpret_cast<float*>(
        executor.scratch(static_cast<std::size_t>(samples) * sizeof(float)));
    core::launch(executor, &sample_sizes_kernel, for_each_pixel(samples),
                 core::kernel_view(differences), step, samples, there);
    std::vector<float> sizes(static_cast<std::size_t>(samples));
    core::copy(executor, core::View<const float, 1, Space>(there, {samples}),
               core::View<float, 1>(sizes.data(), {samples}));
    executor.synchronize();
    return noise_deviation(sizes.data(), sizes.data() + samples);
}

template <class Executor, class Space = typename Executor::Space>
void find_scales(Executor& executor, DifferencesView<Space> differences, ScalesView<Space> scales) {
    expects_scales(differences, scales);
    if (scales.empty()) return;
    const auto config = for_each_pixel(scales.size());
    if (differences.extent[0] < enough_scaled_frames) {
        core::launch(executor, &fill_scales_kernel, config,
                     scale_of(deviation_of_noise(executor, differences)),
                     core::kernel_view(scales));
        return;
    }
    core::launch(executor, &pixel_scales_kernel, config, core::kernel_view(differences),
                 ScaledFrames(differences.extent[0]), core::kernel_view(scales));
}

template <class Executor, class Space = typename Executor::Space>
void update_scales(Executor& executor, DifferencesView<Space> differences, MasksView<Space> masks,
                   ScalesView<Space> scales) {
    expects_scales(differences, scales);
    core::expects_shape("masks", masks,
                        {differences.extent[0], differences.extent[2], differences.extent[3]},
                        core::Strides::unit_last);
    if (scales.empty()) return;
    core::launch(executor, &follow_scales_kernel, for_each_pixel(scales.size()),
                 core::kernel_view(differences), core::kernel_view(masks),
                 core::kernel_view(scales));
}

}  // namespace aperture::rpca::gpu
