// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Joint histograms of a reference volume and 32 floating ones, 256 x 256 bins. Source: Ino et al.
// 2013, section 5 and figures 5 and 6 ("JH").

#include <algorithm>
#include <cstdint>
#include <utility>

#include "bench/sweeps/arrangement.cuh"
#include "libcore/gpu/warp.cuh"

namespace aperture::bench {

namespace detail {

inline constexpr int histogram_threads = 1024;
/// Voxels that a thread loads at once, in 16 bytes.
inline constexpr int voxels_at_once = 8;
/// Of a block, whose counters have 16 bits each; a multiple of voxels_at_once.
inline constexpr index_t most_voxels_of_block = 65528;
inline constexpr int warps_of_all = 8;
inline constexpr int voxels_of_warp = 256;

/// Counts equal bins in a row, as the background has, before it adds them to a histogram.
template <class Add>
class BinRun {
  public:
    __device__ __forceinline__ explicit BinRun(Add add) : add_(add) {}
    __device__ __forceinline__ void count(int bin) {
        if (bin != bin_) {
            end();
            bin_ = bin;
        }
        ++count_;
    }
    __device__ __forceinline__ void end() {
        if (count_ > 0) add_(bin_, count_);
        count_ = 0;
    }

  private:
    Add add_;
    int bin_ = 0;
    int count_ = 0;
};

}  // namespace detail

/// Adds the pairs of values of two volumes to a histogram [floating][reference]. The number of
/// voxels is a multiple of 8, `share` those of a block.
///
/// Block: 1024 threads, which count in shared memory. Grid: shares on x. Shared: two counters of 16
/// bits in each word, 128 KiB.
__global__ void __launch_bounds__(detail::histogram_threads)
    joint_histogram(const std::uint16_t* reference, const std::uint16_t* floating, index_t voxels,
                    index_t share, int* histogram) {
    constexpr int words = histogram_bins * histogram_bins / 2;
    unsigned* const counts = core::shared<unsigned>();
    for (int i = core::thread_rank(); i < words; i += detail::histogram_threads) counts[i] = 0;
    __syncthreads();
    const index_t begin = blockIdx.x * share;
    const index_t end = min(begin + share, voxels);
    detail::BinRun run([&](int bin, int count) {
        atomicAdd(&counts[bin / 2], static_cast<unsigned>(count) << 16 * (bin % 2));
    });
    APERTURE_UNROLL_BY(2)
    for (index_t at = begin + core::thread_rank() * detail::voxels_at_once; at < end;
         at += detail::histogram_threads * detail::voxels_at_once) {
        const uint4 r = *reinterpret_cast<const uint4*>(reference + at);
        const uint4 f = *reinterpret_cast<const uint4*>(floating + at);
        const auto count_two = [&](unsigned of_r, unsigned of_f) {
            run.count(static_cast<int>(of_f % 65536 * histogram_bins + of_r % 65536));
            run.count(static_cast<int>(of_f / 65536 * histogram_bins + of_r / 65536));
        };
        count_two(r.x, f.x);
        count_two(r.y, f.y);
        count_two(r.z, f.z);
        count_two(r.w, f.w);
    }
    run.end();
    __syncthreads();
    for (int i = core::thread_rank(); i < words; i += detail::histogram_threads) {
        const int low = static_cast<int>(counts[i] % 65536);
        const int high = static_cast<int>(counts[i] / 65536);
        if (low > 0) atomicAdd(&histogram[2 * i], low);
        if (high > 0) atomicAdd(&histogram[2 * i + 1], high);
    }
}

/// The same of 32 floating volumes, all interleaved, in device memory: 32 histograms are more than
/// shared memory has.
///
/// Block: 8 warps, each 256 voxels, a lane each volume. Grid: voxels on x.
__global__ void __launch_bounds__(detail::warps_of_all* core::warp_size)
    joint_histograms(const std::uint16_t* reference, const std::uint16_t* floating, index_t voxels,
                     int* histograms) {
    const int lane = core::lane_rank();
    const index_t warp = index_t{blockIdx.x} * detail::warps_of_all + core::warp_rank();
    const index_t begin = warp * detail::voxels_of_warp;
    const index_t end = min(begin + detail::voxels_of_warp, voxels);
    detail::BinRun run([&](int bin, int count) {
        atomicAdd(&histograms[index_t{bin} * tasks_at_once + lane], count);
    });
    for (index_t first = begin; first < end; first += core::warp_size) {
        const int mine = first + lane < end ? reference[first + lane] : 0;
        const int count = static_cast<int>(min(index_t{core::warp_size}, end - first));
        APERTURE_UNROLL_BY(8)
        for (int i = 0; i < count; ++i) {
            const int of_reference = core::broadcast(mine, i);
            run.count(floating[(first + i) * tasks_at_once + lane] * histogram_bins + of_reference);
        }
    }
    run.end();
}

/// See Sweep.
template <class Executor>
class HistogramSweep {
  public:
    using Input = std::uint16_t;
    using Output = int;

    HistogramSweep(Executor& executor, const HistogramProblem& problem)
        : executor_(executor), problem_(problem), reference_(problem.reference.extent()) {}

    index_t input_size() const { return reference_.size(); }
    index_t output_size() const { return index_t{histogram_bins} * histogram_bins; }
    void load() {
        core::copy<Input, 1, core::Strided>(executor_, problem_.reference.view(),
                                            reference_.view());
    }

    void run_one(index_t, const Input* floating, int* histogram) {
        const index_t voxels = input_size();
        launch_fill(executor_, histogram, output_size(), 0);
        // A block a multiprocessor, or more, as its counters demand.
        const index_t pieces = core::ceil_div(voxels, index_t{detail::voxels_at_once});
        const index_t even = core::ceil_div(pieces, index_t{executor_.multiprocessors()});
        const index_t share = std::min(even * detail::voxels_at_once, detail::most_voxels_of_block);
        core::launch(
            executor_, &joint_histogram,
            core::LaunchConfig(core::blocks_for(voxels, share), detail::histogram_threads,
                               sizeof(std::uint16_t) * static_cast<std::size_t>(output_size())),
            std::as_const(reference_).data(), floating, voxels, share, histogram);
    }
    void run_all(const Input* floating, int* histograms) {
        const index_t voxels = input_size();
        launch_fill(executor_, histograms, output_size() * tasks_at_once, 0);
        constexpr index_t of_block = detail::warps_of_all * detail::voxels_of_warp;
        core::launch(executor_, &joint_histograms,
                     core::LaunchConfig(core::blocks_for(voxels, of_block),
                                        detail::warps_of_all * core::warp_size),
                     std::as_const(reference_).data(), floating, voxels, histograms);
    }

  private:
    Executor& executor_;
    const HistogramProblem& problem_;
    core::Array<Input, 1, typename Executor::Space> reference_;
};

}  // namespace aperture::bench
