// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/mask.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "aperture/core/shape.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "librpca/medians.hpp"

namespace aperture::rpca {
namespace {

using Frame = core::View<std::uint8_t, 2, core::Host>;
using Channels = core::View<const float, 3, core::Host>;
constexpr std::uint8_t moving = 255;

/// A worker's frame and the counts of its median windows.
struct FrameScratch {
    std::uint8_t* moves;  ///< [row][column], 1 for foreground
    int* of_columns;  ///< foreground pixels per column of a window's rows, with `reach` zeros on
                      ///< either side
    int* of_windows;
    int* widths;      ///< number of columns of each window
    index_t* region;  ///< pixels of a connected region, `region_pixels` at most

    FrameScratch(core::ScratchParts& parts, index_t rows, index_t columns, index_t reach,
                 index_t region_pixels)
        : moves(parts.allocate<std::uint8_t>(rows * columns)),
          of_columns(parts.allocate<int>(columns + 2 * reach)),
          of_windows(parts.allocate<int>(columns)),
          widths(parts.allocate<int>(columns)),
          region(parts.allocate<index_t>(region_pixels)) {}
};

void threshold_frame(Channels difference, float threshold, std::uint8_t* moves) {
    const index_t rows = difference.extent[1];
    const index_t columns = difference.extent[2];
    for (index_t row = 0; row < rows; ++row) {
        std::uint8_t* const to = moves + row * columns;
        std::fill_n(to, columns, std::uint8_t{0});
        for (index_t c = 0; c < difference.extent[0]; ++c) {
            const float* const from = &difference(c, row, 0);
            for (index_t x = 0; x < columns; ++x) {
                to[x] = static_cast<std::uint8_t>(to[x] | (std::abs(from[x]) > threshold ? 1 : 0));
            }
        }
    }
}

/// Median of a mask: the majority in a window that extends `reach` pixels to all sides. Each step
/// down adds one row to the column counts and removes one; sums over columns are vectorised.
void clean_frame(const FrameScratch& scratch, index_t reach, Frame mask) {
    const index_t rows = mask.extent[0];
    const index_t columns = mask.extent[1];
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
        std::uint8_t* const to = &mask(r, 0);
        for (index_t c = 0; c < columns; ++c) {
            to[c] = 2 * scratch.of_windows[c] > height * scratch.widths[c] ? moving : 0;
        }
    }
}

/// Removes 8-connected regions of fewer than `least` pixels. `region` has room for all pixels.
void leave_out_small_regions(Frame mask, index_t least, index_t* region) {
    constexpr std::uint8_t seen = 1;
    const index_t rows = mask.extent[0];
    const index_t columns = mask.extent[1];
    index_t size = 0;
    const auto visit = [&](index_t row, index_t column) {
        mask(row, column) = seen;
        region[size++] = row * columns + column;
    };
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            if (mask(row, column) != moving) continue;
            size = 0;
            visit(row, column);
            // The region grows during the loop.
            for (index_t next = 0; next < size; ++next) {
                const index_t r = region[next] / columns;
                const index_t c = region[next] % columns;
                for (index_t y = std::max<index_t>(r - 1, 0); y <= std::min(r + 1, rows - 1); ++y) {
                    for (index_t x = std::max<index_t>(c - 1, 0); x <= std::min(c + 1, columns - 1);
                         ++x) {
                        if (mask(y, x) == moving) visit(y, x);
                    }
                }
            }
            if (size >= least) continue;
            for (index_t i = 0; i < size; ++i) mask(region[i] / columns, region[i] % columns) = 0;
        }
    }
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            if (mask(row, column) == seen) mask(row, column) = moving;
        }
    }
}

}  // namespace

void validate(const MaskParameters& parameters) {
    core::expects(parameters.threshold >= 0 && parameters.noise_multiple >= 0,
                  "thresholds of a mask must not be negative, are ", parameters.threshold, " and ",
                  parameters.noise_multiple);
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

double find_masks(core::Cpu& cpu, DifferencesView<core::Host> differences,
                  const MaskParameters& parameters, MasksView<core::Host> masks) {
    validate(parameters);
    const auto& extent = differences.extent;
    core::expects_shape("masks", masks, {extent[0], extent[2], extent[3]},
                        core::Strides::unit_last);
    core::expects_shape("differences", differences, extent, core::Strides::unit_last);
    const double threshold = parameters.noise_multiple > 0
                                 ? parameters.noise_multiple * noise_deviation(differences)
                                 : parameters.threshold;
    const index_t channels = extent[1];
    const index_t rows = extent[2];
    const index_t columns = extent[3];
    // Windows are clipped at the picture's edge.
    const index_t reach = std::min<index_t>(parameters.clean / 2, std::max(rows, columns));
    const index_t region_pixels = parameters.min_area > 1 ? rows * columns : 0;
    const auto of_frame = [&](index_t frame, std::byte* block) {
        core::ScratchParts parts(block);
        const FrameScratch scratch(parts, rows, columns, reach, region_pixels);
        const Channels difference(
            differences.data + frame * differences.stride[0], {channels, rows, columns},
            {differences.stride[1], differences.stride[2], differences.stride[3]});
        const Frame mask(masks.data + frame * masks.stride[0], {rows, columns},
                         {masks.stride[1], masks.stride[2]});
        threshold_frame(difference, static_cast<float>(threshold), scratch.moves);
        clean_frame(scratch, reach, mask);
        if (parameters.min_area > 1) {
            leave_out_small_regions(mask, parameters.min_area, scratch.region);
        }
    };
    core::for_each_task(cpu, extent[0],
                        core::scratch_bytes_of<FrameScratch>(rows, columns, reach, region_pixels),
                        of_frame);
    return threshold;
}

}  // namespace aperture::rpca
