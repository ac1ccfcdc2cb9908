// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/mask.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "aperture/core/shape.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/medians.hpp"

namespace aperture::rpca {
namespace {

using core::Host;
using Channels = core::View<const float, 3, Host>;
/// Scales are averaged over windows that extend so far to all sides.
constexpr index_t scale_reach = 2;

Channels frame_of(const DifferencesView<Host>& frames, index_t frame) {
    if (frames.empty()) return {};
    return {frames.data + frame * frames.stride[0],
            {frames.extent[1], frames.extent[2], frames.extent[3]},
            {frames.stride[1], frames.stride[2], frames.stride[3]}};
}

/// Consecutive pixels of a row that belong to one region. Small: a picture may have half as many as
/// pixels.
struct Run {
    std::int32_t row;
    std::int32_t begin;
    std::int32_t end;
    std::int32_t parent;  ///< index of a run of the same region; its root has its own
    std::int32_t weight;  ///< of the region, at its root
};

/// A worker's frame and the counts of its median windows.
struct FrameScratch {
    float* sizes;           ///< largest |difference| of a pixel
    float* thresholds;      ///< of the pixels
    float* sums;            ///< of columns of scales, with `scale_reach` zeros on either side
    std::uint8_t* moves;    ///< [row][column], 1 for foreground
    std::uint8_t* cleaned;  ///< likewise, after the median
    int* of_columns;  ///< foreground pixels per column of a window's rows, with `reach` zeros on
                      ///< either side
    int* of_windows;
    int* widths;  ///< number of columns of each window
    Run* runs;

    FrameScratch(core::ScratchParts& parts, index_t rows, index_t columns, index_t reach)
        : sizes(parts.allocate<float>(rows * columns)),
          thresholds(parts.allocate<float>(rows * columns)),
          sums(parts.allocate<float>(columns + 2 * scale_reach)),
          moves(parts.allocate<std::uint8_t>(rows * columns)),
          cleaned(parts.allocate<std::uint8_t>(rows * columns)),
          of_columns(parts.allocate<int>(columns + 2 * reach)),
          of_windows(parts.allocate<int>(columns)),
          widths(parts.allocate<int>(columns)),
          runs(parts.allocate<Run>(rows * ((columns + 1) / 2))) {}
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
            for (index_t x = 0; x < columns; ++x) to[x] = std::max(to[x], std::abs(from[x]));
        }
    }
}

/// The thresholds of a picture's pixels, from their scales' means over 5 x 5 pixels.
void pixel_thresholds(const ScalesView<Host, const float>& scales, const FrameScratch& scratch) {
    const auto [rows, columns] = scales.extent;
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
        for (index_t x = 0; x < columns; ++x) {
            const index_t width =
                std::min(x + scale_reach + 1, columns) - std::max<index_t>(x - scale_reach, 0);
            to[x] = pixel_threshold(to[x] / static_cast<float>((bottom - top) * width));
        }
    }
}

/// moves = sizes > share * thresholds.
void compare(const FrameScratch& scratch, index_t pixels, float share, std::uint8_t* moves) {
    for (index_t i = 0; i < pixels; ++i) {
        moves[i] = scratch.sizes[i] > share * scratch.thresholds[i] ? 1 : 0;
    }
}

/// Median of a mask: the majority in a window that extends `reach` pixels to all sides. Each step
/// down adds one row to the column counts and removes one; sums over columns are vectorised.
void clean_frame(FrameScratch& scratch, index_t rows, index_t columns, index_t reach) {
    if (reach == 0) return;
    int* const of_columns = scratch.of_columns + reach;
    std::fill_n(scratch.of_columns, columns + 2 * reach, 0);
    for (index_t c = 0; c < columns; ++c) {
        scratch.widths[c] =
            static_cast<int>(std::min(c + reach + 1, columns) - std::max<index_t>(c - reach, 0));
    }
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
        std::fill_n(scratch.of_windows, columns, 0);
        for (index_t shift = 0; shift <= 2 * reach; ++shift) {
            const int* const shifted = scratch.of_columns + shift;
            for (index_t c = 0; c < columns; ++c) scratch.of_windows[c] += shifted[c];
        }
        std::uint8_t* const to = scratch.cleaned + r * columns;
        for (index_t c = 0; c < columns; ++c) {
            to[c] = 2 * scratch.of_windows[c] > height * scratch.widths[c] ? 1 : 0;
        }
    }
    std::swap(scratch.moves, scratch.cleaned);
}

std::int32_t root_of(Run* runs, std::int32_t run) {
    while (runs[run].parent != run) {
        runs[run].parent = runs[runs[run].parent].parent;
        run = runs[run].parent;
    }
    return run;
}

/// Inverts the regions of connected pixels of value `of` in which the sum of weight(run) is less
/// than `least`. Pixels that touch at corners are connected if `at_corners`.
template <class Weight>
void leave_out_regions(const FrameScratch& scratch, index_t rows, index_t columns, std::uint8_t of,
                       bool at_corners, index_t least, const Weight& weight) {
    Run* const runs = scratch.runs;
    std::int32_t above = 0;  // the first run of the row above that is not passed yet
    std::int32_t end = 0;
    const std::int32_t corner = at_corners ? 1 : 0;
    for (index_t row = 0; row < rows; ++row) {
        const std::int32_t above_end = end;
        const std::uint8_t* const line = scratch.moves + row * columns;
        const auto next = [&](index_t from, int value) {
            const void* const found =
                std::memchr(line + from, value, static_cast<std::size_t>(columns - from));
            return static_cast<std::int32_t>(
                found == nullptr ? columns : static_cast<const std::uint8_t*>(found) - line);
        };
        for (std::int32_t begin = next(0, of); begin < columns;) {
            Run& run = runs[end];
            run = {static_cast<std::int32_t>(row), begin, next(begin, 1 - of), end, 0};
            run.weight = static_cast<std::int32_t>(weight(run));
            while (above < above_end && runs[above].end + corner <= run.begin) ++above;
            for (std::int32_t touched = above;
                 touched < above_end && runs[touched].begin < run.end + corner; ++touched) {
                const std::int32_t one = root_of(runs, touched);
                const std::int32_t other = root_of(runs, end);
                if (one == other) continue;
                runs[other].parent = one;
                runs[one].weight += runs[other].weight;
            }
            ++end;
            begin = run.end < columns ? next(run.end, of) : run.end;
        }
        above = above_end;
    }
    for (std::int32_t i = 0; i < end; ++i) {
        if (runs[root_of(runs, i)].weight >= least) continue;
        std::uint8_t* const line = scratch.moves + runs[i].row * columns;
        std::fill(line + runs[i].begin, line + runs[i].end, static_cast<std::uint8_t>(1 - of));
    }
}

/// Whether around a pixel a multiple of the background fits the frame (MaskParameters).
bool in_shadow(const Channels& frame, const Channels& ground, index_t row, index_t column,
               float threshold) {
    constexpr float darkest = 0.4F;
    constexpr float brightest = 0.95F;
    float frames = 0;
    float grounds = 0;
    float products = 0;
    float ground_sum = 0;
    index_t values = 0;
    const index_t bottom = std::min(row + 2, frame.extent[1]);
    const index_t right = std::min(column + 2, frame.extent[2]);
    for (index_t c = 0; c < frame.extent[0]; ++c) {
        for (index_t y = std::max<index_t>(row - 1, 0); y < bottom; ++y) {
            for (index_t x = std::max<index_t>(column - 1, 0); x < right; ++x) {
                const float f = frame(c, y, x);
                const float g = ground(c, y, x);
                frames += f * f;
                grounds += g * g;
                products += f * g;
                ground_sum += g;
                ++values;
            }
        }
    }
    const auto count = static_cast<float>(values);
    const float misfit = frames - products * products / grounds;
    return ground_sum > 4 * threshold * count && products > darkest * grounds &&
           products < brightest * grounds && 9 * misfit < threshold * threshold * count;
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
    core::expects_shape("frames", frames, frames.extent, core::Strides::unit_last);
    core::expects_shape("backgrounds", backgrounds, frames.extent, core::Strides::unit_last);
    core::expects_shape("differences", differences, frames.extent, core::Strides::unit_last);
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
    constexpr index_t most = 1000000;
    const index_t size = differences.size();
    if (size == 0) return 0;
    const index_t step = sample_step(size, most);
    std::vector<float> sizes;
    sizes.reserve(static_cast<std::size_t>(sample_count(size, most)));
    const auto& extent = differences.extent;
    for (index_t i = 0; i < size; i += step) {
        const index_t column = i % extent[3];
        const index_t row = i / extent[3] % extent[2];
        const index_t channel = i / extent[3] / extent[2] % extent[1];
        const index_t frame = i / extent[3] / extent[2] / extent[1];
        sizes.push_back(std::abs(differences(frame, channel, row, column)));
    }
    return upper_median(sizes.data(), sizes.data() + sizes.size()) / median_of_normal_size;
}

void pixel_scales(core::Cpu& cpu, DifferencesView<Host> differences, ScalesView<Host> scales) {
    /// Pixels whose sizes are gathered together.
    constexpr index_t together = 64;
    constexpr index_t most_frames = 64;
    constexpr index_t enough_frames = 10;
    const auto [frames, channels, rows, columns] = differences.extent;
    core::expects(frames > 0, "scales require at least 1 frame");
    core::expects_shape("scales", scales, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("differences", differences, differences.extent, core::Strides::unit_last);
    if (frames < enough_frames) {
        const auto scale = static_cast<float>(median_of_normal_size * noise_deviation(differences));
        for (index_t row = 0; row < rows; ++row) std::fill_n(&scales(row, 0), columns, scale);
        return;
    }
    const index_t step = core::ceil_div(frames, most_frames);
    const index_t count = core::ceil_div(frames, step);
    const index_t parts = core::ceil_div(columns, together);
    const auto of_part = [&, channels = channels, columns = columns](index_t task,
                                                                     std::byte* scratch) {
        auto* const sizes = reinterpret_cast<float*>(scratch);
        const index_t row = task / parts;
        const index_t begin = task % parts * together;
        const index_t end = std::min(begin + together, columns);
        for (index_t i = 0; i < count; ++i) {
            for (index_t x = begin; x < end; ++x) {
                float size = 0;
                for (index_t c = 0; c < channels; ++c) {
                    size = std::max(size, std::abs(differences(i * step, c, row, x)));
                }
                sizes[(x - begin) * count + i] = size;
            }
        }
        for (index_t x = begin; x < end; ++x) {
            float* const first = sizes + (x - begin) * count;
            scales(row, x) = static_cast<float>(upper_median(first, first + count));
        }
    };
    core::for_each_task(cpu, rows * parts,
                        static_cast<std::size_t>(together * count) * sizeof(float), of_part);
}

void follow_scales(core::Cpu& cpu, DifferencesView<Host> differences, MasksView<Host> masks,
                   ScalesView<Host> scales) {
    constexpr float grown = 1.02F;
    constexpr float foreground_grown = 1.0002F;
    constexpr float least = 0.1F;
    const auto [frames, channels, rows, columns] = differences.extent;
    core::expects(frames > 0, "scales require at least 1 frame");
    core::expects_shape("scales", scales, {rows, columns}, core::Strides::unit_last);
    core::expects_shape("masks", masks, {frames, rows, columns}, core::Strides::unit_last);
    core::expects_shape("differences", differences, differences.extent, core::Strides::unit_last);
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
                    const bool grows = size[x] > scale[x];
                    const float still = grows ? grown : 1 / grown;
                    const float moving = grows ? foreground_grown : 1 / foreground_grown;
                    scale[x] = std::max(scale[x] * (moves[x] != 0 ? moving : still), least);
                }
            }
        }
    };
    core::for_each_task(cpu, 1, static_cast<std::size_t>(rows * columns) * sizeof(float), of_all);
}

double find_masks(core::Cpu& cpu, const MaskInputs& inputs, const MaskParameters& parameters,
                  MasksView<Host> masks) {
    validate(parameters);
    const DifferencesView<Host>& differences = inputs.differences;
    const auto& extent = differences.extent;
    const index_t rows = extent[2];
    const index_t columns = extent[3];
    const index_t pixels = rows * columns;
    core::expects(pixels <= std::numeric_limits<std::int32_t>::max(), "frames of ", rows, " x ",
                  columns, " pixels are too large for masks");
    core::expects_shape("masks", masks, {extent[0], rows, columns}, core::Strides::unit_last);
    core::expects_shape("differences", differences, extent, core::Strides::unit_last);
    const bool follows = parameters.follows_pixels();
    if (follows) {
        core::expects_shape("scales", inputs.scales, {rows, columns}, core::Strides::unit_last);
    }
    const bool shadows = parameters.remove_shadows && !inputs.frames.empty();
    if (shadows) {
        core::expects_shape("frames", inputs.frames, extent);
        core::expects_shape("backgrounds", inputs.backgrounds, extent);
    }
    double threshold = parameters.noise_multiple > 0
                           ? parameters.noise_multiple * noise_deviation(differences)
                           : parameters.threshold.value_or(0);
    const bool connects = follows && parameters.hysteresis < 1;
    // Windows are clipped at the picture's edge.
    const index_t reach = std::min<index_t>(parameters.clean / 2, std::max(rows, columns));
    const auto of_frame = [&](index_t frame, std::byte* block) {
        core::ScratchParts parts(block);
        FrameScratch scratch(parts, rows, columns, reach);
        const auto at = [&](index_t row, index_t column) { return row * columns + column; };
        if (follows) {
            pixel_thresholds(inputs.scales, scratch);
            // They are the same for all frames.
            if (frame == 0) {
                threshold = std::accumulate(scratch.thresholds, scratch.thresholds + pixels, 0.0) /
                            static_cast<double>(pixels);
            }
        } else {
            std::fill_n(scratch.thresholds, pixels, static_cast<float>(threshold));
        }
        largest_sizes(frame_of(differences, frame), scratch.sizes);
        compare(scratch, pixels, 1, scratch.moves);
        clean_frame(scratch, rows, columns, reach);
        if (connects) {
            compare(scratch, pixels, static_cast<float>(parameters.hysteresis), scratch.cleaned);
            std::swap(scratch.moves, scratch.cleaned);
            const auto surely_moves = [&](const Run& run) -> index_t {
                return std::memchr(scratch.cleaned + at(run.row, run.begin), 1,
                                   static_cast<std::size_t>(run.end - run.begin)) != nullptr;
            };
            leave_out_regions(scratch, rows, columns, 1, true, 1, surely_moves);
            clean_frame(scratch, rows, columns, reach);
        }
        if (shadows) {
            const Channels picture = frame_of(inputs.frames, frame);
            const Channels ground = frame_of(inputs.backgrounds, frame);
            bool removed = false;
            for (index_t row = 0; row < rows; ++row) {
                for (index_t x = 0; x < columns; ++x) {
                    const index_t i = at(row, x);
                    if (scratch.moves[i] == 0) continue;
                    if (in_shadow(picture, ground, row, x, scratch.thresholds[i])) {
                        scratch.moves[i] = 0;
                        removed = true;
                    }
                }
            }
            if (removed) clean_frame(scratch, rows, columns, reach);
        }
        if (parameters.fill_holes) {
            const auto at_edge = [&](const Run& run) -> index_t {
                return run.row == 0 || run.row == rows - 1 || run.begin == 0 || run.end == columns;
            };
            leave_out_regions(scratch, rows, columns, 0, false, 1, at_edge);
        }
        if (parameters.min_area > 1) {
            const auto area = [](const Run& run) { return run.end - run.begin; };
            leave_out_regions(scratch, rows, columns, 1, true, parameters.min_area, area);
        }
        for (index_t row = 0; row < rows; ++row) {
            std::transform(
                scratch.moves + at(row, 0), scratch.moves + at(row, columns), &masks(frame, row, 0),
                [](std::uint8_t moves) { return static_cast<std::uint8_t>(255 * moves); });
        }
    };
    core::for_each_task(cpu, extent[0], core::scratch_bytes_of<FrameScratch>(rows, columns, reach),
                        of_frame);
    return threshold;
}

}  // namespace aperture::rpca
