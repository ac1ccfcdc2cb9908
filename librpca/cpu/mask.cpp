// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/mask.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/cpu/regions.hpp"
#include "librpca/mask_steps.hpp"

namespace aperture::rpca {
namespace {

using core::Host;
using Channels = core::View<const float, 3, Host>;
using Mask = core::View<std::uint8_t, 2, Host>;
using cpu::Run;

Channels frame_of(const DifferencesView<Host>& frames, index_t frame) {
    if (frames.empty()) return {};
    return {frames.data + frame * frames.stride[0],
            {frames.extent[1], frames.extent[2], frames.extent[3]},
            {frames.stride[1], frames.stride[2], frames.stride[3]}};
}

/// `LightSums` of columns.
struct LightRows {
    std::array<float*, 5> rows;

    LightRows(core::ScratchParts& parts, index_t columns) {
        for (float*& row : rows) row = parts.allocate<float>(columns);
    }
    LightSums<float&> operator[](index_t x) const {
        return {rows[0][x], rows[1][x], rows[2][x], rows[3][x], rows[4][x]};
    }
};

/// A worker's frame and the counts of its median windows.
struct FrameScratch {
    index_t rows, columns;
    index_t reach;          ///< of the median's window
    float* sizes;           ///< largest |difference| of a pixel
    float* thresholds;      ///< of the pixels
    float* sums;            ///< of columns of scales, with `scale_reach` zeros on either side
    float* scale_widths;    ///< number of columns of each window of scales
    std::uint8_t* moves;    ///< [row][column], 1 for foreground
    std::uint8_t* cleaned;  ///< likewise, after the median
    int* of_columns;  ///< foreground pixels per column of a window's rows, with `reach` zeros on
                      ///< either side
    int* of_windows;
    int* widths;  ///< number of columns of each window
    Run* runs;
    std::int32_t* weights;  ///< of regions, at their roots
    LightRows light;

    FrameScratch(core::ScratchParts& parts, index_t rows_of, index_t columns_of, index_t reach_of)
        : rows(rows_of),
          columns(columns_of),
          reach(reach_of),
          sizes(parts.allocate<float>(pixels())),
          thresholds(parts.allocate<float>(pixels())),
          sums(parts.allocate<float>(columns + 2 * scale_reach)),
          scale_widths(parts.allocate<float>(columns)),
          moves(parts.allocate<std::uint8_t>(pixels())),
          cleaned(parts.allocate<std::uint8_t>(pixels())),
          of_columns(parts.allocate<int>(columns + 2 * reach)),
          of_windows(parts.allocate<int>(columns)),
          widths(parts.allocate<int>(columns)),
          runs(parts.allocate<Run>(cpu::most_runs(rows, columns))),
          weights(parts.allocate<std::int32_t>(cpu::most_runs(rows, columns))),
          light(parts, columns) {}

    index_t pixels() const { return rows * columns; }
};

/// The largest |difference| of each pixel's channels, dense.
void largest_sizes(const Channels& difference, float* sizes) {
    const index_t rows = difference.extent[1];
    const index_t columns = difference.extent[2];
    for (index_t row = 0; row < rows; ++row) {
        float* const to = sizes + row * columns;
        std::fill_n(to, columns, 0.0F);
        for (index_t c = 0; c < difference.extent[0]; ++c) {
            const float* const from = &difference(c, row, 0);
            for (index_t x = 0; x < columns; ++x) to[x] = larger_size(to[x], from[x]);
        }
    }
}

/// Number of columns of the windows that extend `reach` pixels to both sides of each column.
template <class T>
void store_widths(index_t reach, index_t columns, T* widths) {
    for (index_t x = 0; x < columns; ++x) {
        widths[x] =
            static_cast<T>(std::min(x + reach + 1, columns) - std::max<index_t>(x - reach, 0));
    }
}

/// The thresholds of a picture's pixels, from their scales' means over 5 x 5 pixels.
void pixel_thresholds(const ScalesView<Host, const float>& scales, const FrameScratch& scratch) {
    const auto [rows, columns] = scales.extent;
    float* const widths = scratch.scale_widths;
    store_widths(scale_reach, columns, widths);
    std::fill_n(scratch.sums, columns + 2 * scale_reach, 0.0F);
    for (index_t row = 0; row < rows; ++row) {
        const index_t top = std::max<index_t>(row - scale_reach, 0);
        const index_t bottom = std::min(row + scale_reach + 1, rows);
        float* const sums = scratch.sums + scale_reach;
        std::fill_n(sums, columns, 0.0F);
        for (index_t y = top; y < bottom; ++y) {
            const float* const from = &scales(y, 0);
            for (index_t x = 0; x < columns; ++x) sums[x] += from[x];
        }
        float* const to = scratch.thresholds + row * columns;
        std::fill_n(to, columns, 0.0F);
        for (index_t shift = 0; shift <= 2 * scale_reach; ++shift) {
            const float* const shifted = scratch.sums + shift;
            for (index_t x = 0; x < columns; ++x) to[x] += shifted[x];
        }
        const auto height = static_cast<float>(bottom - top);
        for (index_t x = 0; x < columns; ++x) {
            to[x] = pixel_threshold(to[x] / (height * widths[x]));
        }
    }
}

double mean(const float* values, index_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (index_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
    return sum / static_cast<double>(count);
}

/// moves = sizes > share * thresholds.
void compare(const FrameScratch& scratch, float share, std::uint8_t* moves) {
    const index_t pixels = scratch.pixels();
    // A store to `moves` might otherwise change the pointers.
    const float* const sizes = scratch.sizes;
    const float* const thresholds = scratch.thresholds;
    for (index_t i = 0; i < pixels; ++i) moves[i] = sizes[i] > share * thresholds[i] ? 1 : 0;
}

/// Median of a mask: the majority in a window that extends `reach` pixels to all sides. Each step
/// down adds one row to the column counts and removes one; sums over columns are vectorised.
void clean_frame(FrameScratch& scratch) {
    const index_t rows = scratch.rows;
    const index_t columns = scratch.columns;
    const index_t reach = scratch.reach;
    if (reach == 0) return;
    int* const of_columns = scratch.of_columns + reach;
    std::fill_n(scratch.of_columns, columns + 2 * reach, 0);
    // A store to `cleaned` might otherwise change the pointers.
    int* const widths = scratch.widths;
    int* const of_windows = scratch.of_windows;
    store_widths(reach, columns, widths);
    const auto add_row = [&](index_t row, int sign) {
        const std::uint8_t* const moves = scratch.moves + row * columns;
        for (index_t c = 0; c < columns; ++c) of_columns[c] += sign * moves[c];
    };
    for (index_t r = 0; r < std::min(reach, rows); ++r) add_row(r, 1);
    for (index_t r = 0; r < rows; ++r) {
        if (r + reach < rows) add_row(r + reach, 1);
        if (r - reach - 1 >= 0) add_row(r - reach - 1, -1);
        const auto height =
            static_cast<int>(std::min(r + reach + 1, rows) - std::max<index_t>(r - reach, 0));
        std::fill_n(of_windows, columns, 0);
        for (index_t shift = 0; shift <= 2 * reach; ++shift) {
            const int* const shifted = scratch.of_columns + shift;
            for (index_t c = 0; c < columns; ++c) of_windows[c] += shifted[c];
        }
        std::uint8_t* const to = scratch.cleaned + r * columns;
        for (index_t c = 0; c < columns; ++c) {
            to[c] = 2 * of_windows[c] > height * widths[c] ? 1 : 0;
        }
    }
    std::swap(scratch.moves, scratch.cleaned);
}

/// Inverts the regions of connected pixels of value `of` in which the sum of weight(run) is less
/// than `least`. Pixels that touch at corners are connected if `at_corners`.
template <class Weight>
void leave_out_regions(const FrameScratch& scratch, std::uint8_t of, bool at_corners, index_t least,
                       const Weight& weight) {
    Run* const runs = scratch.runs;
    const std::int32_t end =
        cpu::find_runs(scratch.moves, scratch.rows, scratch.columns, of, at_corners, runs);
    std::fill_n(scratch.weights, end, 0);
    for (std::int32_t i = 0; i < end; ++i) {
        scratch.weights[cpu::root_of(runs, i)] += static_cast<std::int32_t>(weight(runs[i]));
    }
    for (std::int32_t i = 0; i < end; ++i) {
        if (scratch.weights[cpu::root_of(runs, i)] >= least) continue;
        std::uint8_t* const line = scratch.moves + runs[i].row * scratch.columns;
        std::fill(line + runs[i].begin, line + runs[i].end, static_cast<std::uint8_t>(1 - of));
    }
}

/// Adds what is connected with foreground and above `share` of the thresholds.
void connect(FrameScratch& scratch, float share) {
    compare(scratch, share, scratch.cleaned);
    std::swap(scratch.moves, scratch.cleaned);
    const auto surely_moves = [&](const Run& run) -> index_t {
        return std::memchr(scratch.cleaned + run.row * scratch.columns + run.begin, 1,
                           static_cast<std::size_t>(run.end - run.begin)) != nullptr;
    };
    leave_out_regions(scratch, 1, true, 1, surely_moves);
    clean_frame(scratch);
}

/// Sums of the columns from `left` to `right` - 1 of the windows of a row's pixels.
void sum_columns(const LightRows& sums, const Channels& picture, const Channels& ground,
                 const LightWindow& window, index_t right) {
    for (float* const row : sums.rows) std::fill(row + window.left, row + right, 0.0F);
    for (index_t c = 0; c < picture.extent[0]; ++c) {
        for (index_t y = window.top; y < window.bottom; ++y) {
            for (index_t x = window.left; x < right; ++x) {
                sums[x].add_pixel(picture, ground, c, y, x);
            }
        }
    }
}

/// Takes those candidates of a row out of the mask that lamps light. Neighbours share the sums of
/// columns.
bool remove_lit(const FrameScratch& scratch, const std::uint8_t* candidates,
                const Channels& picture, const Channels& ground, index_t row) {
    const index_t columns = scratch.columns;
    const auto next = [=](index_t x) {
        return std::find(candidates + x, candidates + columns, 1) - candidates;
    };
    bool removed = false;
    for (index_t begin = next(0), after = 0; begin < columns; begin = after) {
        constexpr index_t most_between = 8;
        index_t end = begin + 1;
        for (after = next(end); after < columns && after - end <= most_between;) {
            end = after + 1;
            after = next(end);
        }
        sum_columns(scratch.light, picture, ground, LightWindow(picture, row, begin),
                    LightWindow(picture, row, end - 1).right);
        for (index_t x = begin; x < end; ++x) {
            if (candidates[x] == 0) continue;
            const LightWindow window(picture, row, x);
            LightSums<float> sums{};
            for (index_t i = window.left; i < window.right; ++i) sums.add(scratch.light[i]);
            if (!sums.lit()) continue;
            scratch.moves[row * columns + x] = 0;
            removed = true;
        }
    }
    return removed;
}

void remove_light(FrameScratch& scratch, const LightChanges& changes, const Channels& picture,
                  const Channels& ground) {
    bool removed = false;
    std::uint8_t* const candidates = scratch.cleaned;
    for (index_t row = 0; row < scratch.rows; ++row) {
        const index_t first = row * scratch.columns;
        for (index_t x = 0; x < scratch.columns; ++x) {
            const index_t i = first + x;
            candidates[x] = 0;
            if (scratch.moves[i] == 0) continue;
            if (changes.shadows && in_shadow(picture, ground, row, x, scratch.thresholds[i])) {
                scratch.moves[i] = 0;
                removed = true;
            } else if (changes.lamps && is_dark(ground, row, x)) {
                candidates[x] = 1;
            }
        }
        if (changes.lamps && remove_lit(scratch, candidates, picture, ground, row)) removed = true;
    }
    if (removed) clean_frame(scratch);
}

void fill_holes(const FrameScratch& scratch) {
    const auto at_edge = [&](const Run& run) -> index_t {
        return run.row == 0 || run.row == scratch.rows - 1 || run.begin == 0 ||
               run.end == scratch.columns;
    };
    leave_out_regions(scratch, 0, false, 1, at_edge);
}

void remove_small_regions(const FrameScratch& scratch, index_t min_area) {
    const auto area = [](const Run& run) { return run.end - run.begin; };
    leave_out_regions(scratch, 1, true, min_area, area);
}

void store_mask(const FrameScratch& scratch, const Mask& mask) {
    for (index_t row = 0; row < scratch.rows; ++row) {
        const std::uint8_t* const from = scratch.moves + row * scratch.columns;
        std::transform(from, from + scratch.columns, &mask(row, 0),
                       [](std::uint8_t moves) { return static_cast<std::uint8_t>(255 * moves); });
    }
}

void add_mask(const Mask& mask, const FrameScratch& scratch) {
    for (index_t row = 0; row < scratch.rows; ++row) {
        std::uint8_t* const to = scratch.moves + row * scratch.columns;
        for (index_t x = 0; x < scratch.columns; ++x) to[x] |= mask(row, x) & 1U;
    }
}

}  // namespace

void validate(const MaskParameters& parameters) {
    const double threshold = parameters.threshold.value_or(0);
    core::expects(threshold >= 0 && parameters.noise_multiple >= 0,
                  "thresholds of a mask must not be negative, are ", threshold, " and ",
                  parameters.noise_multiple);
    core::expects(parameters.hysteresis >= 0 && parameters.hysteresis <= 1,
                  "hysteresis must be from 0 to 1, is ", parameters.hysteresis);
    core::expects(parameters.clean == 0 || (parameters.clean > 0 && parameters.clean % 2 == 1),
                  "clean must be odd, or 0 for none, is ", parameters.clean);
    core::expects(parameters.min_area >= 0, "min_area must not be negative, is ",
                  parameters.min_area);
}

void subtract_backgrounds(core::Cpu& cpu, FramesView<const float, core::Host> frames,
                          FramesView<const float, core::Host> backgrounds,
                          FramesView<float, core::Host> differences) {
    const index_t values = frames.extent[1];
    expects_backgrounds(frames, backgrounds, differences);
    const auto of_frame = [&](index_t frame, std::byte* /*scratch*/) {
        const float* const value = frames.data + frame * frames.stride[0];
        const float* const ground = backgrounds.data + frame * backgrounds.stride[0];
        std::transform(value, value + values, ground,
                       differences.data + frame * differences.stride[0],
                       [](float v, float g) { return std::abs(v - g); });
    };
    core::for_each_task(cpu, frames.extent[0], 0, of_frame);
}

double noise_deviation(DifferencesView<core::Host> differences) {
    const index_t size = differences.size();
    if (size == 0) return 0;
    const index_t step = sample_step(size, most_noise_samples);
    std::vector<float> sizes;
    sizes.reserve(static_cast<std::size_t>(sample_count(size, most_noise_samples)));
    const auto& extent = differences.extent;
    for (index_t i = 0; i < size; i += step) {
        const index_t column = i % extent[3];
        const index_t row = i / extent[3] % extent[2];
        const index_t channel = i / extent[3] / extent[2] % extent[1];
        const index_t frame = i / extent[3] / extent[2] / extent[1];
        sizes.push_back(std::abs(differences(frame, channel, row, column)));
    }
    return noise_deviation(sizes.data(), sizes.data() + sizes.size());
}

void pixel_scales(core::Cpu& cpu, DifferencesView<Host> differences, ScalesView<Host> scales) {
    /// Pixels whose sizes are gathered together.
    constexpr index_t together = 64;
    expects_scales(differences, scales);
    const auto [frames, channels, rows, columns] = differences.extent;
    if (frames < enough_scaled_frames) {
        const float scale = scale_of(noise_deviation(differences));
        for (index_t row = 0; row < rows; ++row) std::fill_n(&scales(row, 0), columns, scale);
        return;
    }
    const ScaledFrames scaled(frames);
    const index_t parts = core::ceil_div(columns, together);
    const auto of_part = [&, channels = channels, columns = columns](index_t task,
                                                                     std::byte* scratch) {
        auto* const sizes = reinterpret_cast<std::int32_t*>(scratch);  // [frame][pixel], as bits
        const index_t row = task / parts;
        const index_t begin = task % parts * together;
        const index_t pixels = std::min(together, columns - begin);
        for (index_t i = 0; i < scaled.count; ++i) {
            float largest[together] = {};
            for (index_t c = 0; c < channels; ++c) {
                const float* const from = &differences(i * scaled.step, c, row, begin);
                for (index_t x = 0; x < pixels; ++x) largest[x] = larger_size(largest[x], from[x]);
            }
            for (index_t x = 0; x < together; ++x) {
                sizes[i * together + x] = std::bit_cast<std::int32_t>(largest[x]);
            }
        }
        std::int32_t medians[together] = {};
        for (auto bit = static_cast<std::int32_t>(highest_size_bit); bit > 0; bit /= 2) {
            std::int32_t below[together] = {};
            for (index_t i = 0; i < scaled.count; ++i) {
                const std::int32_t* const of_frame = sizes + i * together;
                for (index_t x = 0; x < together; ++x) {
                    below[x] += of_frame[x] < medians[x] + bit ? 1 : 0;
                }
            }
            for (index_t x = 0; x < together; ++x) {
                medians[x] += 2 * below[x] <= scaled.count ? bit : 0;
            }
        }
        for (index_t x = 0; x < pixels; ++x) {
            scales(row, begin + x) = std::bit_cast<float>(medians[x]);
        }
    };
    core::for_each_task(cpu, rows * parts,
                        static_cast<std::size_t>(together * scaled.count) * sizeof(std::int32_t),
                        of_part);
}

void follow_scales(core::Cpu& cpu, DifferencesView<Host> differences, MasksView<Host> masks,
                   ScalesView<Host> scales) {
    expects_scales(differences, scales);
    const auto [frames, channels, rows, columns] = differences.extent;
    core::expects_shape("masks", masks, {frames, rows, columns}, core::Strides::unit_last);
    // One task: frames come one by one, and a thread needs as long to start.
    const auto of_all = [&, frames = frames, rows = rows, columns = columns](index_t /*task*/,
                                                                             std::byte* scratch) {
        auto* const sizes = reinterpret_cast<float*>(scratch);
        for (index_t frame = 0; frame < frames; ++frame) {
            largest_sizes(frame_of(differences, frame), sizes);
            for (index_t row = 0; row < rows; ++row) {
                const float* const size = sizes + row * columns;
                const std::uint8_t* const moves = &masks(frame, row, 0);
                float* const scale = &scales(row, 0);
                for (index_t x = 0; x < columns; ++x) {
                    scale[x] = followed_scale(scale[x], size[x], moves[x] != 0);
                }
            }
        }
    };
    core::for_each_task(cpu, 1, static_cast<std::size_t>(rows * columns) * sizeof(float), of_all);
}

index_t mask_scratch_bytes(const MaskParameters& parameters, index_t rows, index_t columns) {
    return static_cast<index_t>(core::scratch_bytes_of<FrameScratch>(
        rows, columns, median_reach(parameters, rows, columns)));
}

double find_masks(core::Cpu& cpu, const MaskInputs<Host>& inputs, const MaskParameters& parameters,
                  MasksView<Host> masks, MasksView<Host> with_light) {
    expects_masks(inputs, parameters, masks);
    if (!with_light.empty()) {
        core::expects_shape("with_light", with_light, masks.extent, core::Strides::unit_last);
    }
    const DifferencesView<Host>& differences = inputs.differences;
    const index_t frames = differences.extent[0];
    const index_t rows = differences.extent[2];
    const index_t columns = differences.extent[3];
    const index_t reach = median_reach(parameters, rows, columns);
    const bool follows = parameters.follows_pixels();
    const LightChanges changes = removed_light(inputs, parameters);
    double threshold = parameters.noise_multiple > 0
                           ? parameters.noise_multiple * noise_deviation(differences)
                           : parameters.threshold.value_or(0);
    const auto of_frame = [&](index_t frame, std::byte* block) {
        core::ScratchParts parts(block);
        FrameScratch scratch(parts, rows, columns, reach);
        float* const thresholds = scratch.thresholds;
        const index_t pixels = scratch.pixels();
        if (follows) {
            pixel_thresholds(inputs.scales, scratch);
            // They are the same for all frames.
            if (frame == 0) threshold = mean(thresholds, pixels);
        } else {
            std::fill_n(thresholds, pixels, static_cast<float>(threshold));
        }
        largest_sizes(frame_of(differences, frame), scratch.sizes);
        compare(scratch, 1, scratch.moves);
        clean_frame(scratch);
        if (connects(parameters)) connect(scratch, static_cast<float>(parameters.hysteresis));
        if (!with_light.empty()) store_mask(scratch, with_light[frame]);
        if (changes.any()) {
            remove_light(scratch, changes, frame_of(inputs.frames, frame),
                         frame_of(inputs.backgrounds, frame));
        }
        if (parameters.fill_holes) fill_holes(scratch);
        if (parameters.min_area > 1) remove_small_regions(scratch, parameters.min_area);
        store_mask(scratch, masks[frame]);
        if (with_light.empty()) return;
        add_mask(with_light[frame], scratch);
        if (parameters.min_area > 1) remove_small_regions(scratch, parameters.min_area);
        store_mask(scratch, with_light[frame]);
    };
    core::for_each_task(cpu, frames,
                        static_cast<std::size_t>(mask_scratch_bytes(parameters, rows, columns)),
                        of_frame);
    return threshold;
}

}  // namespace aperture::rpca
