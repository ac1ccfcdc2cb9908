// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Foreground masks on a device, of as many frames at once as scratch memory holds.

#include <algorithm>
#include <limits>
#include <utility>

#include "libcore/gpu/block.cuh"
#include "libcore/scratch_parts.hpp"
#include "librpca/gpu/pixel_scales.cuh"
#include "librpca/gpu/regions.cuh"
#include "librpca/gpu/tuning.hpp"

namespace aperture::rpca::gpu {

/// Of pixels, or one for all.
struct Thresholds {
    const float* of_pixels;  ///< [row][column], or nullptr
    float common;

    APERTURE_HD float at(index_t pixel) const {
        return of_pixels == nullptr ? common : of_pixels[pixel];
    }
};

/// Thresholds from the scales' means over 5 x 5 pixels. A thread: a pixel. The sums have the order
/// of the host's: of columns, then of their sums.
inline __global__ void __launch_bounds__(pixel_threads)
    thresholds_kernel(KernelView<const float, 2> scales, float* thresholds) {
    const index_t pixel = own_pixel();
    const auto [rows, columns] = scales.extent;
    if (pixel >= rows * columns) return;
    const index_t row = pixel / columns;
    const index_t column = pixel % columns;
    const index_t top = row > scale_reach ? row - scale_reach : 0;
    const index_t bottom = row + scale_reach < rows ? row + scale_reach + 1 : rows;
    const index_t left = column > scale_reach ? column - scale_reach : 0;
    const index_t right = column + scale_reach < columns ? column + scale_reach + 1 : columns;
    float sum = 0;
    for (index_t x = left; x < right; ++x) {
        float of_column = 0;
        for (index_t y = top; y < bottom; ++y) of_column += scales(y, x);
        sum += of_column;
    }
    thresholds[pixel] = pixel_threshold(sum / static_cast<float>((bottom - top) * (right - left)));
}

inline constexpr int mean_threads = 1024;

/// Grid: one block.
inline __global__ void __launch_bounds__(mean_threads)
    mean_kernel(const float* values, index_t count, double* mean) {
    double sum = 0;
    APERTURE_UNROLL_BY(16)
    for (index_t i = core::thread_rank(); i < count; i += mean_threads) {
        sum += static_cast<double>(values[i]);
    }
    sum = core::block_reduce(sum, core::shared<double>());
    if (core::thread_rank() == 0) *mean = sum / static_cast<double>(count);
}

/// sure = sizes > thresholds, possible = sizes > share * thresholds, changed = 0. A lane: a
/// pixel. Loads 4 bytes a value and 4 a pixel, stores 2 bits a pixel.
inline __global__ void __launch_bounds__(word_threads)
    compare_kernel(KernelView<const float, 4> differences, Thresholds thresholds, float share,
                   BitMasks sure, BitMasks possible, int* changed) {
    at_own_pixel(sure, [&](const WordPlace& place, int column) {
        float size = 0;
        float threshold = 0;
        if (column < sure.columns) {
            size = pixel_size(differences, place.frame, place.row, column);
            threshold = thresholds.at(index_t{place.row} * sure.columns + column);
        }
        const bool exists = column < sure.columns;
        store_word(sure, place, exists && size > threshold);
        store_word(possible, place, exists && size > share * threshold);
        if (place.row == 0 && column == 0) changed[place.frame] = 0;
    });
}

/// Takes shadows and lit ground out of `masks`; sets a frame's `changed` where there are some. A
/// lane: a pixel. Of pixels that move, loads 9 values of either in each channel, mostly of a cache,
/// and 49 where the background is dark.
inline __global__ void __launch_bounds__(word_threads)
    remove_light_kernel(LightChanges changes, KernelView<const float, 4> frames,
                        KernelView<const float, 4> backgrounds, Thresholds thresholds,
                        BitMasks masks, int* changed) {
    at_own_pixel(masks, [&](const WordPlace& place, int column) {
        const unsigned before = masks.at(place);
        if (before == 0) return;
        bool moves = (before >> core::lane_rank() & 1U) != 0;
        if (moves) {
            const KernelView<const float, 3> frame = frames[place.frame];
            const KernelView<const float, 3> background = backgrounds[place.frame];
            const float threshold = thresholds.at(index_t{place.row} * masks.columns + column);
            moves =
                !(changes.shadows && in_shadow(frame, background, place.row, column, threshold)) &&
                !(changes.lamps && in_light(frame, background, place.row, column));
        }
        const unsigned after = __ballot_sync(core::full_warp, moves ? 1 : 0);
        if (core::lane_rank() == 0 && after != before) {
            masks.at(place) = after;
            changed[place.frame] = 1;
        }
    });
}

/// 0 and 255. A lane: a pixel.
inline __global__ void __launch_bounds__(word_threads)
    store_masks_kernel(BitMasks from, KernelView<std::uint8_t, 3> masks) {
    at_own_pixel(from, [&](const WordPlace& place, int column) {
        if (column >= from.columns) return;
        const bool moves = (from.at(place) >> core::lane_rank() & 1U) != 0;
        masks(place.frame, place.row, column) = moves ? 255 : 0;
    });
}

/// Memory for the masks of `frames` frames at a time.
struct MaskScratch {
    double* mean;
    float* thresholds;
    int* changed;  ///< of frames: whether shadows or lit ground were removed
    BitMasks moves, possible, spare;
    int* parents;  ///< Regions
    int* weights;

    MaskScratch(core::ScratchParts& parts, int frames, int rows, int columns)
        : mean(parts.allocate<double>(1)),
          thresholds(parts.allocate<float>(index_t{rows} * columns)),
          changed(parts.allocate<int>(frames)),
          moves{nullptr, frames, rows, columns},
          possible(moves),
          spare(moves) {
        for (BitMasks* const masks : {&moves, &possible, &spare}) {
            masks->data = parts.allocate<unsigned>(masks->words());
        }
        const index_t runs = index_t{frames} * rows * moves.row_runs();
        parents = parts.allocate<int>(runs);
        weights = parts.allocate<int>(runs);
    }
};

/// The steps that find the masks of some frames.
template <class Executor>
class MaskSteps {
    using Space = typename Executor::Space;
    using Values = DifferencesView<Space>;

  public:
    MaskSteps(Executor& executor, const MaskScratch& scratch, const Thresholds& thresholds,
              int reach)
        : executor_(executor), scratch_(scratch), thresholds_(thresholds), reach_(reach) {}

    void compare(const Values& differences, double hysteresis) {
        core::launch(executor_, &compare_kernel, for_each_pixel_of(scratch_.moves),
                     core::kernel_view(differences), thresholds_, static_cast<float>(hysteresis),
                     scratch_.moves, scratch_.possible, scratch_.changed);
        clean(nullptr);
    }
    void connect() {
        keep_regions(scratch_.possible, true, true, RegionWeight::chosen, 1);
        clean(nullptr);
    }
    void remove_light(const LightChanges& changes, const Values& frames,
                      const Values& backgrounds) {
        core::launch(executor_, &remove_light_kernel, for_each_pixel_of(scratch_.moves), changes,
                     core::kernel_view(frames), core::kernel_view(backgrounds), thresholds_,
                     scratch_.moves, scratch_.changed);
        clean(scratch_.changed);
    }
    void fill_holes() { keep_regions(scratch_.moves, false, false, RegionWeight::edge, 1); }
    void remove_small_regions(index_t min_area) {
        constexpr index_t most = std::numeric_limits<int>::max();
        keep_regions(scratch_.moves, true, true, RegionWeight::area,
                     static_cast<int>(std::min(min_area, most)));
    }
    void store(const MasksView<Space>& masks) {
        core::launch(executor_, &store_masks_kernel, for_each_pixel_of(scratch_.moves),
                     scratch_.moves, core::kernel_view(masks));
    }

  private:
    /// The median of all frames, or of those in which `wanted` is not 0.
    void clean(const int* wanted) {
        if (reach_ == 0) return;
        core::launch(executor_, &majority_kernel, for_each_pixel_of(scratch_.moves), scratch_.moves,
                     reach_, wanted, scratch_.spare);
        std::swap(scratch_.moves, scratch_.spare);
    }
    /// Masks with the regions of `pixels` that have a weight of at least `least`.
    void keep_regions(const BitMasks& pixels, bool foreground, bool corners, RegionWeight kind,
                      int least) {
        const Regions regions{pixels, foreground ? 0U : ~0U, corners, scratch_.parents,
                              scratch_.weights};
        const auto config = for_each_word(pixels);
        core::launch(executor_, &begin_regions_kernel, config, regions);
        core::launch(executor_, &join_regions_kernel, config, regions);
        core::launch(executor_, &weigh_regions_kernel, config, regions, kind, scratch_.moves,
                     least);
        core::launch(executor_, &keep_regions_kernel, config, regions, least, scratch_.spare);
        std::swap(scratch_.moves, scratch_.spare);
    }

    Executor& executor_;
    MaskScratch scratch_;
    Thresholds thresholds_;
    int reach_;
};

/// Computes the thresholds that follow the pixels. Returns their mean; synchronises.
template <class Executor, class Space = typename Executor::Space>
double find_thresholds(Executor& executor, const ScalesView<Space, const float>& scales,
                       const MaskScratch& scratch) {
    const index_t pixels = scales.size();
    core::launch(executor, &thresholds_kernel, for_each_pixel(pixels), core::kernel_view(scales),
                 scratch.thresholds);
    constexpr int warps = mean_threads / core::warp_size;
    core::launch(executor, &mean_kernel,
                 core::LaunchConfig(dim3(1), dim3(mean_threads), warps * sizeof(double)),
                 scratch.thresholds, pixels, scratch.mean);
    double mean = 0;
    core::copy(executor, core::View<const double, 1, Space>(scratch.mean, {1}),
               core::View<double, 1>(&mean, {1}));
    executor.synchronize();
    return mean;
}

/// The function of aperture/rpca/mask.hpp, of as many frames at once as `most_bytes` hold.
template <class Executor, class Space = typename Executor::Space>
double masks_of(Executor& executor, const MaskInputs<Space>& inputs,
                const MaskParameters& parameters, const MasksView<Space>& masks,
                index_t most_bytes = tuning::mask_scratch_bytes) {
    expects_masks(inputs, parameters, masks);
    double threshold =
        parameters.noise_multiple > 0
            ? parameters.noise_multiple * deviation_of_noise(executor, inputs.differences)
            : parameters.threshold.value_or(0);
    if (masks.empty()) return threshold;
    const index_t frames = masks.extent[0];
    const auto rows = static_cast<int>(masks.extent[1]);
    const auto columns = static_cast<int>(masks.extent[2]);
    const auto bytes = core::scratch_bytes_of<MaskScratch>(1, rows, columns);
    const index_t together =
        std::clamp<index_t>(most_bytes / static_cast<index_t>(bytes), 1, frames);
    const auto scratch_of = [&](std::byte* block, index_t count) {
        core::ScratchParts parts(block);
        return MaskScratch(parts, static_cast<int>(count), rows, columns);
    };
    std::byte* const block = executor.scratch(
        core::scratch_bytes_of<MaskScratch>(static_cast<int>(together), rows, columns));
    Thresholds thresholds{nullptr, static_cast<float>(threshold)};
    if (parameters.follows_pixels()) {
        const MaskScratch scratch = scratch_of(block, together);
        threshold = find_thresholds(executor, inputs.scales, scratch);
        thresholds.of_pixels = scratch.thresholds;
    }
    const LightChanges changes = removed_light(inputs, parameters);
    for (index_t first = 0; first < frames; first += together) {
        const index_t end = std::min(first + together, frames);
        const auto these = [&](const auto& all) { return all.slice(0, first, end); };
        MaskSteps<Executor> steps(executor, scratch_of(block, end - first), thresholds,
                                  static_cast<int>(median_reach(parameters, rows, columns)));
        steps.compare(these(inputs.differences), parameters.hysteresis);
        if (connects(parameters)) steps.connect();
        if (changes.any()) {
            steps.remove_light(changes, these(inputs.frames), these(inputs.backgrounds));
        }
        if (parameters.fill_holes) steps.fill_holes();
        if (parameters.min_area > 1) steps.remove_small_regions(parameters.min_area);
        steps.store(these(masks));
    }
    return threshold;
}

}  // namespace aperture::rpca::gpu
