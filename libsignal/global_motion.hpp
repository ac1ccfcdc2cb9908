// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fits of a global motion as all executors share them: what a pixel contributes, and how passes
// follow one another.

#include <cmath>

#include "aperture/core/portable.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/signal/global_motion.hpp"
#include "libsignal/motion_level.hpp"
#include "libsignal/motion_step.hpp"

namespace aperture::signal {

/// What a pass over a level needs of the fit.
struct MotionPass {
    float map[3][3];  ///< from pixels of the level to those of the frame's
    float gain, offset;
    float inverse_width;  ///< of the biweight
    float unit_y, first_u, unit_x, first_v;

    APERTURE_HD MotionPass(const MotionLevel& level, const MotionState& state)
        : gain(static_cast<float>(state.gain)),
          offset(static_cast<float>(state.offset)),
          inverse_width(static_cast<float>(1 / (3.44 * state.scale))),
          unit_y(static_cast<float>(level.down_by / level.unit)),
          first_u(static_cast<float>((0.5 * level.down_by - level.centre_y) / level.unit)),
          unit_x(static_cast<float>(level.across_by / level.unit)),
          first_v(static_cast<float>((0.5 * level.across_by - level.centre_x) / level.unit)) {
        // Positions of the image are `by` times those of the level plus `first`.
        const double by[3] = {level.down_by, level.across_by, 1};
        const double first[2] = {0.5 * level.down_by - 0.5, 0.5 * level.across_by - 0.5};
        double at[3][3];
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) at[i][j] = state.map.at[i][j] * by[j];
            at[i][2] += state.map.at[i][0] * first[0] + state.map.at[i][1] * first[1];
        }
        for (int j = 0; j < 3; ++j) {
            for (int i = 0; i < 2; ++i) {
                map[i][j] = static_cast<float>((at[i][j] - first[i] * at[2][j]) / by[i]);
            }
            map[2][j] = static_cast<float>(at[2][j]);
        }
    }
};

/// Where a pixel of a level lies in the frame: the first of the 4 x 4 pixels about it, -1 if they
/// are not all in the frame, and the fractions of the place in their middle.
struct MotionPlace {
    int first;
    float down, across;
};

/// Of pixel (y, x) of a level, also beside its last column. `frame` is [row][column], dense, of the
/// level's extents.
[[gnu::always_inline]] APERTURE_HD MotionPlace motion_place(const MotionLevel& level,
                                                            const MotionPass& pass, int y, int x) {
    const auto fy = static_cast<float>(y);
    const auto fx = static_cast<float>(x);
    const float depth = pass.map[2][0] * fy + (pass.map[2][1] * fx + pass.map[2][2]);
    const float over = 1.0F / depth;
    const float to_y = (pass.map[0][0] * fy + (pass.map[0][1] * fx + pass.map[0][2])) * over;
    const float to_x = (pass.map[1][0] * fy + (pass.map[1][1] * fx + pass.map[1][2])) * over;
    const bool inside = (depth > 0) & (to_y >= 1) & (to_y < static_cast<float>(level.rows - 2)) &
                        (to_x >= 1) & (to_x < static_cast<float>(level.columns - 2)) &
                        (x < level.columns);
    const float safe_y = inside ? to_y : 1.0F;
    const float safe_x = inside ? to_x : 1.0F;
    const int row = static_cast<int>(safe_y);
    const int column = static_cast<int>(safe_x);
    return {inside ? (row - 1) * level.columns + column - 1 : -1, safe_y - static_cast<float>(row),
            safe_x - static_cast<float>(column)};
}

/// The residual where a pixel is not in both images or has no value.
inline constexpr float no_residual = 1e30F;
APERTURE_HD bool is_residual(float residual) { return std::fabs(residual) < no_residual; }

/// A cubic B-spline's values at the four pixels about a fraction t. Its sums over pixels are the
/// image blurred, and by the same for all t: what differs is of frequencies that aliases have. An
/// interpolation's blur depends on t instead, which draws motions to whole pixels.
struct SplineWeights {
    float of[4];
    [[gnu::always_inline]] APERTURE_HD explicit SplineWeights(float t) {
        const float s = 1 - t;
        of[0] = s * s * s / 6;
        of[3] = t * t * t / 6;
        of[1] = 2.0F / 3 - t * t * (1 - t / 2);
        of[2] = 2.0F / 3 - s * s * (1 - s / 2);
    }
};

[[gnu::always_inline]] APERTURE_HD float weighted_row(const SplineWeights& weights,
                                                      const float* frame, int first) {
    return weights.of[0] * frame[first] + weights.of[1] * frame[first + 1] +
           weights.of[2] * frame[first + 2] + weights.of[3] * frame[first + 3];
}
/// At a MotionPlace, whose members are passed as numbers: g++ vectorises that.
[[gnu::always_inline]] APERTURE_HD float motion_residual(const MotionPass& pass, const float* frame,
                                                         int columns, int first, float down_by,
                                                         float across_by, float value) {
    const SplineWeights down(down_by);
    const SplineWeights across(across_by);
    const int safe = first > 0 ? first : 0;
    const float sample = down.of[0] * weighted_row(across, frame, safe) +
                         down.of[1] * weighted_row(across, frame, safe + columns) +
                         down.of[2] * weighted_row(across, frame, safe + 2 * columns) +
                         down.of[3] * weighted_row(across, frame, safe + 3 * columns);
    const float residual = sample - pass.gain * value - pass.offset;
    return ((first >= 0) & is_residual(residual)) ? residual : no_residual;
}

/// Tukey's weight of a residual, and the slope of weight times residual.
struct BiweightOf {
    float weight, slope;
    [[gnu::always_inline]] APERTURE_HD explicit BiweightOf(float z) {
        const float rest = 1 - z * z;
        weight = rest > 0 ? rest * rest : 0.0F;
        slope = rest > 0 ? rest * (1 - 5 * z * z) : 0.0F;
    }
};

/// Derivatives of the model by its unknowns at (u, v), gradients given.
template <MotionModel model>
[[gnu::always_inline]] APERTURE_HD void derivatives_at(float down, float across, float value,
                                                       float u, float v,
                                                       float (&to)[unknowns_of(model)]) {
    to[0] = down;
    to[1] = across;
    if constexpr (model == MotionModel::similarity) {
        to[2] = u * down + v * across;
        to[3] = v * down - u * across;
    } else if constexpr (model != MotionModel::shift) {
        to[2] = u * down;
        to[3] = v * down;
        to[4] = u * across;
        to[5] = v * across;
    }
    if constexpr (model == MotionModel::homography) {
        const float away = u * down + v * across;
        to[6] = u * away;
        to[7] = v * away;
    }
    to[motion_parameters(model)] = value;
    to[motion_parameters(model) + 1] = 1.0F;
}

/// Without a start, shifts of the coarsest level by up to a quarter of its extents are tried. Their
/// number along an axis, and the i-th of them.
APERTURE_HD int tried_shifts(int extent) { return 2 * (extent / 4) + 1; }
APERTURE_HD int tried_shift(int i, int extent) { return i - extent / 4; }

/// Agreement of the directions of two gradients, of which weak ones count less (Fitch, Kadyrov,
/// Christmas & Kittler 2002). The largest contours may be those of an object, not of the scene.
APERTURE_HD float agreement(float down, float across, float other_down, float other_across,
                            float energy) {
    const float own = down * down + across * across + energy;
    const float other = other_down * other_down + other_across * other_across + energy;
    return (down * other_down + across * other_across) / std::sqrt(own * other);
}

/// Begins at the `tried`-th shift, of [down][across].
APERTURE_HD void start_shift(const MotionLevel& level, int tried, MotionState& state) {
    const int across = tried_shifts(level.columns);
    state.map.at[0][2] = level.down_by * tried_shift(tried / across, level.rows);
    state.map.at[1][2] = level.across_by * tried_shift(tried % across, level.columns);
}

/// What weights of a cell's pixels count by: their gradients, and flat ones a little, too.
APERTURE_HD float pixel_energy(float down, float across, float mean) {
    return down * down + across * across + mean;
}

/// Sums of a cell.
template <MotionModel model>
struct CellSums {
    float gradient[unknowns_of(model)];  ///< weighted residuals times derivatives
    float weight, slope;                 ///< sums of both, times the pixels' energies
    float inliers, inside;               ///< numbers of pixels
};

/// The blur of both images on the finest level, in pixels.
inline constexpr float motion_blur = 1.0F;

/// The levels of a reference, finest first, without planes.
std::vector<MotionLevel> motion_levels(const core::Extents<2>& extent, MotionModel model);

/// What the planes of a level have at a pixel.
struct SplinePixel {
    float value, down, across;
};
/// The spline of `image`, which has (row, column), less `mean`, and its derivatives.
template <class Image>
APERTURE_HD SplinePixel spline_pixel(const MotionLevel& level, const Image& image, float mean,
                                     int y, int x) {
    constexpr float smooth[3] = {1.0F / 6, 2.0F / 3, 1.0F / 6};
    constexpr float slope[3] = {-0.5F, 0, 0.5F};
    const auto inside = [](int i, int extent) { return i < 0 ? 0 : i < extent ? i : extent - 1; };
    float value = 0, by_y = 0, by_x = 0;
    for (int j = 0; j < 3; ++j) {
        const int row = inside(y + j - 1, level.rows);
        for (int i = 0; i < 3; ++i) {
            const float pixel = image(row, inside(x + i - 1, level.columns)) - mean;
            value += smooth[j] * smooth[i] * pixel;
            by_y += slope[j] * smooth[i] * pixel;
            by_x += smooth[j] * slope[i] * pixel;
        }
    }
    return {value, by_y / static_cast<float>(level.down_by),
            by_x / static_cast<float>(level.across_by)};
}

/// `energy` of a level from the sum of its squared gradients; 0 for a flat image, whose gradients
/// are rounding errors. Its planes are 0 then.
APERTURE_HD float level_energy(const MotionLevel& level, double sum, double mean) {
    const double energy = sum / (static_cast<double>(level.rows) * level.columns);
    return energy > 1e-10 * mean * mean ? static_cast<float>(energy) : 0.0F;
}

/// The result of a fit that began at `start`.
GlobalMotion motion_of(const MotionState& state, MotionModel model, double mean,
                       const PixelMap& start);

/// Fits motions to frames on one executor.
///
///     MotionFrames(Executor&, std::vector<MotionLevel>)
///     double set(Image)                   makes the reference; returns its mean
///     void run(frames, search, states)    fits every frame from its state on; with `search`,
///                                         from the shift that the coarsest level has
template <class Executor>
class MotionFrames;

template <class Executor>
class MotionFit<Executor>::State {
  public:
    State(Executor& executor, const core::Extents<2>& extent, MotionModel model)
        : model_(model), extent_(extent), frames_(executor, motion_levels(extent, model)) {}

    void set(Image image) {
        expects_extent("reference", image.extent);
        mean_ = frames_.set(image);
        ready_ = true;
    }

    std::vector<GlobalMotion> run(Frames frames, const std::vector<PixelMap>& starts) {
        expects_extent("frames", {frames.extent[1], frames.extent[2]});
        const auto count = static_cast<std::size_t>(frames.extent[0]);
        core::expects(ready_, "motion fit: no reference was set");
        core::expects(starts.empty() || starts.size() == count, "motion fit: ", starts.size(),
                      " starts for ", count, " frames");
        std::vector<MotionState> states(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (!starts.empty()) states[i].map = starts[i];
            states[i].gain = 1;
            states[i].offset = mean_;
        }
        frames_.run(frames, starts.empty(), states);
        std::vector<GlobalMotion> motions;
        for (std::size_t i = 0; i < count; ++i) {
            motions.push_back(
                motion_of(states[i], model_, mean_, starts.empty() ? PixelMap() : starts[i]));
        }
        return motions;
    }

  private:
    void expects_extent(const char* role, const core::Extents<2>& extent) const {
        core::expects(extent == extent_, "motion fit: ", role, " of ", core::extents_text(extent),
                      ", expected ", core::extents_text(extent_));
    }

    MotionModel model_;
    core::Extents<2> extent_;
    MotionFrames<Executor> frames_;
    double mean_ = 0;  ///< of the reference
    bool ready_ = false;
};

template <class Executor>
MotionFit<Executor>::MotionFit(Executor& executor, core::Extents<2> extent, MotionModel model)
    : state_(core::owned(std::make_unique<State>(executor, extent, model))) {}
template <class Executor>
void MotionFit<Executor>::set_reference(Image reference) {
    state_->set(reference);
}
template <class Executor>
std::vector<GlobalMotion> MotionFit<Executor>::run(Frames frames,
                                                   const std::vector<PixelMap>& starts) {
    return state_->run(frames, starts);
}

}  // namespace aperture::signal
