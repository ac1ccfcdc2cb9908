// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What masks have in common on all executors. Kernels and host compute a pixel with the same code
// and the same bits: no product is added to, except by fmaf.

#include <cmath>
#include <cstdint>
#include <limits>

#include "aperture/core/shape.hpp"
#include "aperture/rpca/mask.hpp"
#include "librpca/medians.hpp"

namespace aperture::rpca {

/// Scales are averaged over windows that extend so far to all sides.
inline constexpr index_t scale_reach = 2;
/// Medians of longer inputs are of 33 to 64 frames.
inline constexpr int most_scaled_frames = 64;
/// Of fewer frames all pixels have one scale.
inline constexpr index_t enough_scaled_frames = 10;

/// Of `noise_deviation`.
inline constexpr index_t most_noise_samples = 1000000;

/// From samples of |difference|; reorders.
inline double noise_deviation(float* begin, float* end) {
    return upper_median(begin, end) / median_of_normal_size;
}
/// Of all pixels, from the deviation of few frames.
inline float scale_of(double deviation) {
    return static_cast<float>(median_of_normal_size * deviation);
}

/// The frames 0, step, 2 step, ... whose median is a pixel's scale.
struct ScaledFrames {
    index_t step;
    index_t count;

    explicit ScaledFrames(index_t frames)
        : step((frames + most_scaled_frames - 1) / most_scaled_frames),
          count((frames + step - 1) / step) {}
};

/// Sizes, which are not negative, in the order of their bits. Their upper median is the largest
/// number that at most count / 2 of them are below; it is found from the highest bit on.
inline constexpr unsigned highest_size_bit = 1U << 30;

/// The larger of a size and |difference|; the size if that is NaN.
APERTURE_HD float larger_size(float size, float difference) {
    const float other = fabsf(difference);
    return size < other ? other : size;
}

/// The next scale of a pixel (follow_scales).
APERTURE_HD float followed_scale(float scale, float size, bool moves) {
    constexpr float grown = 1.02F;
    constexpr float foreground_grown = 1.0002F;
    constexpr float least = 0.1F;
    const bool grows = size > scale;
    const float still = grows ? grown : 1 / grown;
    const float moving = grows ? foreground_grown : 1 / foreground_grown;
    const float next = scale * (moves ? moving : still);
    return next < least ? least : next;
}

/// Whether around a pixel a multiple of the background fits the frame (MaskParameters). Both are
/// views [channel][row][column].
template <class Channels>
APERTURE_HD bool in_shadow(const Channels& frame, const Channels& ground, index_t row,
                           index_t column, float threshold) {
    constexpr float darkest = 0.4F;
    constexpr float brightest = 0.95F;
    float frames = 0;
    float grounds = 0;
    float products = 0;
    float ground_sum = 0;
    int values = 0;
    const index_t top = row > 0 ? row - 1 : 0;
    const index_t bottom = row + 2 < frame.extent[1] ? row + 2 : frame.extent[1];
    const index_t left = column > 0 ? column - 1 : 0;
    const index_t right = column + 2 < frame.extent[2] ? column + 2 : frame.extent[2];
    for (index_t c = 0; c < frame.extent[0]; ++c) {
        for (index_t y = top; y < bottom; ++y) {
            for (index_t x = left; x < right; ++x) {
                const float f = frame(c, y, x);
                const float g = ground(c, y, x);
                frames = fmaf(f, f, frames);
                grounds = fmaf(g, g, grounds);
                products = fmaf(f, g, products);
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

/// Pixels whose right and lower neighbours are in the picture, around one of which it is asked
/// whether a lamp lights it.
struct LightWindow {
    index_t top, bottom, left, right;

    template <class Channels>
    APERTURE_HD LightWindow(const Channels& frame, index_t row, index_t column) {
        constexpr index_t reach = 3;
        const index_t last_row = frame.extent[1] - 1;
        const index_t last_column = frame.extent[2] - 1;
        top = row > reach ? row - reach : 0;
        bottom = row + reach < last_row ? row + reach : last_row;
        left = column > reach ? column - reach : 0;
        right = column + reach < last_column ? column + reach : last_column;
    }
};

/// Sums over such pixels: first over channels and rows of a column, then over columns, which is the
/// order on all executors. T is float, or float& for sums that are kept elsewhere.
template <class T>
struct LightSums {
    T frames, grounds;
    /// Of steps to the right and down.
    T frame_steps, ground_steps, products;

    /// Views [channel][row][column].
    template <class Channels>
    APERTURE_HD void add_pixel(const Channels& frame, const Channels& ground, index_t c, index_t y,
                               index_t x) {
        const float f = frame(c, y, x);
        const float g = ground(c, y, x);
        const float f_right = frame(c, y, x + 1) - f;
        const float f_down = frame(c, y + 1, x) - f;
        const float g_right = ground(c, y, x + 1) - g;
        const float g_down = ground(c, y + 1, x) - g;
        frames += f;
        grounds += g;
        frame_steps = fmaf(f_right, f_right, fmaf(f_down, f_down, frame_steps));
        ground_steps = fmaf(g_right, g_right, fmaf(g_down, g_down, ground_steps));
        products = fmaf(f_right, g_right, fmaf(f_down, g_down, products));
    }
    template <class U>
    APERTURE_HD void add(const LightSums<U>& column) {
        frames += column.frames;
        grounds += column.grounds;
        frame_steps += column.frame_steps;
        ground_steps += column.ground_steps;
        products += column.products;
    }
    /// Whether a lamp lights the background (MaskParameters).
    APERTURE_HD bool lit() const {
        constexpr float darkest = 1.05F;
        constexpr float least_share = 0.5F;
        constexpr float most_share = 2;
        constexpr float correlation = 0.3F;
        // In light of r times the background's brightness, products are r times ground_steps.
        const float expected = frames * ground_steps;
        const float found = grounds * products;
        return frames > darkest * grounds && found > least_share * expected &&
               found < most_share * expected &&
               products * products > correlation * correlation * frame_steps * ground_steps;
    }
};

/// Where the light of lamps is looked for. A view [channel][row][column].
template <class Channels>
APERTURE_HD bool is_dark(const Channels& ground, index_t row, index_t column) {
    constexpr float dark = 50;
    float sum = 0;
    for (index_t c = 0; c < ground.extent[0]; ++c) sum += ground(c, row, column);
    return sum < dark * static_cast<float>(ground.extent[0]);
}

/// Whether a lamp lights the background at a pixel.
template <class Channels>
APERTURE_HD bool in_light(const Channels& frame, const Channels& ground, index_t row,
                          index_t column) {
    if (!is_dark(ground, row, column)) return false;
    const LightWindow window(frame, row, column);
    LightSums<float> sums{};
    for (index_t x = window.left; x < window.right; ++x) {
        LightSums<float> of_column{};
        for (index_t c = 0; c < frame.extent[0]; ++c) {
            for (index_t y = window.top; y < window.bottom; ++y) {
                of_column.add_pixel(frame, ground, c, y, x);
            }
        }
        sums.add(of_column);
    }
    return sums.lit();
}

/// What is taken out of masks because only the light on the background has changed.
struct LightChanges {
    bool shadows;
    bool lamps;

    bool any() const { return shadows || lamps; }
};

inline void expects_pixels(index_t rows, index_t columns) {
    core::expects(rows * columns <= std::numeric_limits<std::int32_t>::max(), "frames of ", rows,
                  " x ", columns, " pixels are too large for masks");
}

template <class Space>
void expects_scales(const DifferencesView<Space>& differences, const ScalesView<Space>& scales) {
    const auto& extent = differences.extent;
    core::expects(extent[0] > 0, "scales require at least 1 frame");
    expects_pixels(extent[2], extent[3]);
    core::expects_shape("scales", scales, {extent[2], extent[3]}, core::Strides::unit_last);
    core::expects_shape("differences", differences, extent, core::Strides::unit_last);
}

/// Whether what is connected with foreground becomes foreground.
inline bool connects(const MaskParameters& parameters) {
    return parameters.follows_pixels() && parameters.hysteresis < 1;
}
template <class Space>
LightChanges removed_light(const MaskInputs<Space>& inputs, const MaskParameters& parameters) {
    const bool seen = !inputs.frames.empty();
    return {seen && parameters.remove_shadows,
            seen && parameters.remove_light && parameters.follows_pixels()};
}

template <class Space>
void expects_masks(const MaskInputs<Space>& inputs, const MaskParameters& parameters,
                   const MasksView<Space>& masks) {
    validate(parameters);
    const auto& extent = inputs.differences.extent;
    expects_pixels(extent[2], extent[3]);
    core::expects_shape("masks", masks, {extent[0], extent[2], extent[3]},
                        core::Strides::unit_last);
    core::expects_shape("differences", inputs.differences, extent, core::Strides::unit_last);
    if (parameters.follows_pixels()) {
        core::expects_shape("scales", inputs.scales, {extent[2], extent[3]},
                            core::Strides::unit_last);
    }
    if (removed_light(inputs, parameters).any()) {
        core::expects_shape("frames", inputs.frames, extent);
        core::expects_shape("backgrounds", inputs.backgrounds, extent);
    }
}

/// How far the window of the median extends to all sides; it is clipped at the picture's edge.
inline index_t median_reach(const MaskParameters& parameters, index_t rows, index_t columns) {
    const index_t longer = rows < columns ? columns : rows;
    const index_t reach = parameters.clean / 2;
    return reach < longer ? reach : longer;
}

template <class Space>
void expects_backgrounds(const FramesView<const float, Space>& frames,
                         const FramesView<const float, Space>& backgrounds,
                         const FramesView<float, Space>& differences) {
    core::expects_shape("frames", frames, frames.extent, core::Strides::unit_last);
    core::expects_shape("backgrounds", backgrounds, frames.extent, core::Strides::unit_last);
    core::expects_shape("differences", differences, frames.extent, core::Strides::unit_last);
}

}  // namespace aperture::rpca
