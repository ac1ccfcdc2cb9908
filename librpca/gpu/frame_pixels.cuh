// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pixels of frames, on a device.

#include "libcore/gpu/block.cuh"
#include "librpca/frame_pixels.hpp"
#include "librpca/gpu/own_pixel.cuh"
#include "libsignal/bicubic_sample.hpp"
#include "libsignal/gpu/resample.cuh"

namespace aperture::rpca::gpu {

/// Bits that order as numbers do, those of no number last.
__device__ __forceinline__ unsigned ordered_bits(float value) {
    if (value != value) return 0xffffffffU;
    unsigned bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits ^ (bits >> 31 != 0 ? 0xffffffffU : 0x80000000U);
}
__device__ __forceinline__ float value_of_ordered(unsigned bits) {
    bits ^= bits >> 31 != 0 ? 0x80000000U : 0xffffffffU;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/// The `rank`-th smallest value, from 0 on; count_below(bits) of them precede `bits`.
template <class CountBelow>
__device__ __forceinline__ float ranked_value(int rank, const CountBelow& count_below) {
    unsigned found = 0;
    APERTURE_NO_UNROLL
    for (unsigned bit = 0x80000000U; bit > 0; bit /= 2) {
        if (count_below(found + bit) <= rank) found += bit;
    }
    return value_of_ordered(found);
}

/// Means of the channels of frames which[0], ... A thread: a pixel of a frame. Moves 4 bytes a
/// channel and 4 more.
inline __global__ void __launch_bounds__(pixel_threads)
    channel_means_kernel(KernelView<const float, 4> frames, const index_t* which,
                         KernelView<float, 3> means) {
    const index_t at = own_pixel();
    if (at >= means.size()) return;
    const index_t column = at % means.extent[2];
    const index_t row = at / means.extent[2] % means.extent[1];
    const index_t i = at / means.extent[2] / means.extent[1];
    const index_t frame = which[i];
    float sum = 0;
    for (index_t c = 0; c < frames.extent[1]; ++c) sum += frames(frame, c, row, column);
    means(i, row, column) = sum / static_cast<float>(frames.extent[1]);
}

/// A thread: the median of a value of all frames, which are in its registers. Moves 4 bytes a value
/// and frame; 32 or 64 times 33 comparisons a value.
inline __global__ void __launch_bounds__(pixel_threads)
    median_kernel(KernelView<const float, 2> frames, float* median) {
    const index_t value = own_pixel();
    if (value >= frames.extent[1]) return;
    const auto count = static_cast<int>(frames.extent[0]);
    unsigned bits[most_sampled];
    APERTURE_UNROLL
    for (int i = 0; i < most_sampled; ++i) {
        bits[i] = i < count ? ordered_bits(frames(i, value)) : 0xffffffffU;
    }
    const auto count_below = [&bits](unsigned limit) {
        int below = 0;
        APERTURE_UNROLL
        for (int i = 0; i < most_sampled; ++i) below += bits[i] < limit ? 1 : 0;
        return below;
    };
    const float middle = ranked_value(count / 2, count_below);
    median[value] =
        count % 2 == 1 ? middle : (ranked_value(count / 2 - 1, count_below) + middle) / 2;
}

/// A thread: a pixel of a frame, in all channels. Moves 8 bytes a channel, 12 with `instead`; 50
/// flops a channel.
inline __global__ void __launch_bounds__(pixel_threads)
    move_frames_kernel(KernelView<const float, 4> frames, const signal::PixelMap* maps,
                       KernelView<const float, 4> instead, KernelView<float, 4> to) {
    const index_t pixels = to.extent[2] * to.extent[3];
    const index_t at = own_pixel();
    if (at >= to.extent[0] * pixels) return;
    const index_t frame = at / pixels;
    const index_t row = at % pixels / to.extent[3];
    const index_t column = at % to.extent[3];
    signal::Place place;
    const bool shown =
        signal::maps_inside(maps[frame], static_cast<double>(row), static_cast<double>(column),
                            {frames.extent[2], frames.extent[3]}, place);
    for (index_t c = 0; c < to.extent[1]; ++c) {
        float value = shown ? signal::bicubic_sample(frames[frame][c], place) : unseen;
        if (value != value && instead.data != nullptr) value = instead(frame, c, row, column);
        to(frame, c, row, column) = value;
    }
}

/// A thread: a value of all frames. Loads 4 bytes a value and frame; where some do not show it, 33
/// times as many, mostly of a cache.
inline __global__ void __launch_bounds__(pixel_threads)
    fill_unseen_kernel(KernelView<float, 2> frames) {
    const index_t value = own_pixel();
    if (value >= frames.extent[1]) return;
    const auto count = static_cast<int>(frames.extent[0]);
    int seen = 0;
    APERTURE_UNROLL_BY(8)
    for (int f = 0; f < count; ++f) {
        const float shown = frames(f, value);
        seen += shown == shown ? 1 : 0;
    }
    if (seen == count) return;
    const auto count_below = [&frames, value, count](unsigned limit) {
        int below = 0;
        APERTURE_UNROLL_BY(8)
        for (int f = 0; f < count; ++f) below += ordered_bits(frames(f, value)) < limit ? 1 : 0;
        return below;
    };
    const float fill = seen == 0 ? 0.0F : ranked_value(seen / 2, count_below);
    for (int f = 0; f < count; ++f) {
        const float shown = frames(f, value);
        if (shown != shown) frames(f, value) = fill;
    }
}

inline constexpr unsigned difference_blocks = 512;

/// sums[block] of counted differences of [frame][value]. Block: every gridDim.x-th part of
/// pixel_threads values. Shared memory: a double a warp. Loads 12 bytes a value.
inline __global__ void __launch_bounds__(pixel_threads)
    differences_kernel(KernelView<const float, 2> frames, KernelView<const float, 2> shown,
                       const float* reference, double* sums) {
    const index_t values = frames.extent[1];
    const index_t step = static_cast<index_t>(gridDim.x) * pixel_threads;
    double sum = 0;
    for (index_t f = 0; f < frames.extent[0]; ++f) {
        for (index_t v = own_pixel(); v < values; v += step) {
            if (shown(f, v) != shown(f, v)) continue;
            sum += static_cast<double>(counted_difference(frames(f, v), reference[v]));
        }
    }
    sum = core::block_reduce(sum, core::shared<double>());
    if (core::thread_rank() == 0) sums[blockIdx.x] = sum;
}

/// A thread: a pixel of all frames. Moves a byte a pixel, and 4 bytes a value that is replaced.
inline __global__ void __launch_bounds__(pixel_threads)
    replace_pixels_kernel(const std::uint8_t* which, KernelView<const float, 2> ground,
                          KernelView<float, 3> frames) {
    const index_t pixel = own_pixel();
    if (pixel >= ground.extent[1] || which[pixel] == 0) return;
    for (index_t c = 0; c < ground.extent[0]; ++c) {
        const float value = ground(c, pixel);
        for (index_t f = 0; f < frames.extent[0]; ++f) frames(f, c, pixel) = value;
    }
}

}  // namespace aperture::rpca::gpu

namespace aperture::rpca {

/// By kernels, on a GPU or on the SIMT host executor. Asynchronous but for `difference`.
template <class Executor>
class FramePixels {
    using Space = typename Executor::Space;
    using Frames = core::View<float, 4, Space>;
    using ConstFrames = core::View<const float, 4, Space>;
    using ConstImages = core::View<const float, 3, Space>;

  public:
    explicit FramePixels(Executor& executor) : executor_(executor) {}

    void means(ConstFrames frames, const std::vector<index_t>& which,
               core::View<float, 3, Space> to) {
        core::launch(executor_, &gpu::channel_means_kernel, gpu::for_each_pixel(to.size()),
                     core::kernel_view(frames), there(which), core::kernel_view(to));
    }

    void median(core::View<const float, 2, Space> frames, core::View<float, 1, Space> to) {
        core::launch(executor_, &gpu::median_kernel, gpu::for_each_pixel(to.size()),
                     core::kernel_view(frames), to.data);
    }

    void halve(ConstImages images, core::View<float, 3, Space> to) {
        signal::gpu::downsample(executor_, signal::gpu::planes_of(images),
                                static_cast<int>(to.extent[0]), signal::gpu::planes_of(to));
    }

    void move(ConstFrames frames, const std::vector<signal::PixelMap>& maps, ConstFrames instead,
              Frames to) {
        core::launch(executor_, &gpu::move_frames_kernel,
                     gpu::for_each_pixel(to.extent[0] * to.extent[2] * to.extent[3]),
                     core::kernel_view(frames), there(maps), core::kernel_view(instead),
                     core::kernel_view(to));
    }

    void fill_unseen(core::View<float, 2, Space> frames) {
        core::launch(executor_, &gpu::fill_unseen_kernel, gpu::for_each_pixel(frames.extent[1]),
                     core::kernel_view(frames));
    }

    double difference(ConstImages frames, ConstImages shown,
                      core::View<const float, 2, Space> reference) {
        const unsigned blocks = std::min(gpu::difference_blocks,
                                         core::blocks_for(reference.size(), gpu::pixel_threads));
        auto* const there = reinterpret_cast<double*>(executor_.scratch(blocks * sizeof(double)));
        constexpr int warps = gpu::pixel_threads / core::warp_size;
        core::launch(executor_, &gpu::differences_kernel,
                     {dim3(blocks), dim3(gpu::pixel_threads), warps * sizeof(double)},
                     values_of(frames), values_of(shown), reference.data, there);
        std::vector<double> sums(blocks);
        core::copy(executor_, core::View<const double, 1, Space>(there, {blocks}),
                   core::View<double, 1>(sums.data(), {blocks}));
        executor_.synchronize();
        return std::accumulate(sums.begin(), sums.end(), 0.0);
    }

    void replace(core::View<const std::uint8_t, 1, core::Host> which,
                 core::View<const float, 2, Space> ground, core::View<float, 3, Space> frames) {
        core::launch(executor_, &gpu::replace_pixels_kernel, gpu::for_each_pixel(which.size()),
                     there(which), core::kernel_view(ground), core::kernel_view(frames));
    }

  private:
    static core::KernelView<const float, 2> values_of(const ConstImages& images) {
        return {images.data, {images.extent[0], images.extent[1] * images.extent[2]}};
    }
    /// In scratch memory, for the next kernel.
    template <class T>
    const T* there(core::View<const T, 1> values) {
        const auto count = static_cast<std::size_t>(values.size());
        auto* const to = reinterpret_cast<T*>(executor_.scratch(count * sizeof(T)));
        core::copy(executor_, values, core::View<T, 1, Space>(to, values.extent));
        return to;
    }
    template <class T>
    const T* there(const std::vector<T>& values) {
        return there(core::View<const T, 1>(values.data(), {static_cast<index_t>(values.size())}));
    }

    Executor& executor_;
};

}  // namespace aperture::rpca
