// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fits of a global motion as all executors share them: what a pixel contributes, and a step.

#include <cmath>
#include <cstring>
#include <type_traits>

#include "aperture/core/portable.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/signal/global_motion.hpp"

namespace aperture::signal {

/// Pixels are summed over square cells of this many rows and columns.
inline constexpr int motion_cell = 16;
/// Unknowns of a step: those of the motion, then gain and offset.
inline constexpr int most_unknowns = 10;
inline constexpr int most_products = most_unknowns * (most_unknowns + 1) / 2;

APERTURE_HD constexpr int motion_parameters(MotionModel model) {
    return 2 + 2 * static_cast<int>(model);
}
APERTURE_HD constexpr int unknowns_of(MotionModel model) { return motion_parameters(model) + 2; }
/// Elements of a symmetric matrix; (i, j), j <= i, is at i (i + 1) / 2 + j.
APERTURE_HD constexpr int products_of(MotionModel model) {
    return unknowns_of(model) * (unknowns_of(model) + 1) / 2;
}

/// Calls f(std::integral_constant) with the model.
template <class F>
void with_model(MotionModel model, const F& f) {
    switch (model) {
        case MotionModel::shift:
            return f(std::integral_constant<MotionModel, MotionModel::shift>());
        case MotionModel::similarity:
            return f(std::integral_constant<MotionModel, MotionModel::similarity>());
        case MotionModel::affine:
            return f(std::integral_constant<MotionModel, MotionModel::affine>());
        case MotionModel::homography:
            return f(std::integral_constant<MotionModel, MotionModel::homography>());
    }
}

/// A level of the reference's pyramid. Planes are [row][stride], padded to whole cells by zeros.
struct MotionLevel {
    MotionModel model;    ///< that is fitted on this level
    const float* values;  ///< at pixels, of the spline less `mean`
    const float* down;    ///< derivatives by displacements in pixels of the image
    const float* across;
    const float* products;  ///< [cell][product]: normal matrix over the sum of energies
    int rows, columns;
    int stride;
    float mean;
    float energy;               ///< mean of the squared gradient
    double down_by, across_by;  ///< pixels of the image in one of the level
    double centre_y, centre_x;  ///< half the image's extents
    double unit;                ///< s of MotionModel

    APERTURE_HD int cell_rows() const { return (rows + motion_cell - 1) / motion_cell; }
    APERTURE_HD int cell_columns() const { return stride / motion_cell; }
    APERTURE_HD int cells() const { return cell_rows() * cell_columns(); }
};

/// Steps that a level may take.
inline constexpr int most_motion_steps = 30;
/// A level's first scale is that of every so many rows of cells.
inline constexpr int first_rows = 3;

/// A fit under way.
struct MotionState {
    PixelMap map;
    double gain, offset;  ///< offset: the value where the reference has its mean
    double scale;         ///< of the residuals
    double inliers;
    int iterations;
    int steps;  ///< on this level
    bool converged, failed;
    double covariance[most_products];
    PixelMap before;  ///< this level
};

APERTURE_HD void begin_level(MotionState& state) {
    state.before = state.map;
    state.scale = 1;
    state.steps = 0;
    state.converged = state.failed = false;
}
/// What a level does not find the next one may.
APERTURE_HD void end_level(MotionState& state) {
    if (!state.failed) return;
    state.map = state.before;
    state.gain = 1;
}

/// Residuals are counted by their size, eight bins an octave.
inline constexpr int residual_bins = 320;
inline constexpr unsigned first_residual_bin = (127 - 20) * 8;

APERTURE_HD int residual_bin(float residual) {
    unsigned bits;
    std::memcpy(&bits, &residual, sizeof(bits));
    const int bin =
        static_cast<int>((bits & 0x7fffffffU) >> 20) - static_cast<int>(first_residual_bin);
    return bin < 0 ? 0 : bin < residual_bins ? bin : residual_bins - 1;
}

/// The standard deviation of normal residuals with this median, between the edges of its bin.
APERTURE_HD double residual_scale(const unsigned* counts, const MotionLevel& level) {
    // Residuals of equal images are rounding errors.
    const double least = 1e-3 * std::sqrt(static_cast<double>(level.energy));
    unsigned total = 0;
    for (int i = 0; i < residual_bins; ++i) total += counts[i];
    unsigned below = 0;
    for (int i = 0; i < residual_bins; ++i) {
        if (2 * (below + counts[i]) >= total && counts[i] > 0) {
            const auto edge = [](int bin) {
                const unsigned bits = (static_cast<unsigned>(bin) + first_residual_bin) << 20;
                float value;
                std::memcpy(&value, &bits, sizeof(value));
                return static_cast<double>(value);
            };
            const double part = (0.5 * total - below) / counts[i];
            return 1.4826 * (edge(i) + part * (edge(i + 1) - edge(i))) + least;
        }
        below += counts[i];
    }
    return least;
}

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

/// Sums of a level.
struct MotionSums {
    double normal[most_products];
    double slopes[most_products];  ///< the same with slopes as weights
    double spread[most_products];  ///< sum of the squares of the cells' gradients
    double gradient[most_unknowns];
    double inliers, inside;
};

/// Factors a positive definite matrix (Cholesky) in place; false if it is not.
APERTURE_HD bool factor(double* a, int n) {
    for (int i = 0; i < n; ++i) {
        double* const row = a + i * (i + 1) / 2;
        const double diagonal = row[i];
        for (int j = 0; j <= i; ++j) {
            const double* const other = a + j * (j + 1) / 2;
            double sum = row[j];
            for (int k = 0; k < j; ++k) sum -= row[k] * other[k];
            if (j < i) {
                row[j] = sum / other[j];
            } else {
                if (!(sum > 1e-6 * diagonal)) return false;
                row[i] = std::sqrt(sum);
            }
        }
    }
    return true;
}
APERTURE_HD void solve_factored(const double* a, int n, double* x) {
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= a[i * (i + 1) / 2 + k] * x[k];
        x[i] /= a[i * (i + 1) / 2 + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) x[i] -= a[k * (k + 1) / 2 + i] * x[k];
        x[i] /= a[i * (i + 1) / 2 + i];
    }
}

/// The motion by parameters p in coordinates of the image.
APERTURE_HD void motion_matrix(MotionModel model, const double* p, const MotionLevel& level,
                               double (&to)[3][3]) {
    double n[3][3] = {{1, 0, p[0]}, {0, 1, p[1]}, {0, 0, 1}};
    const double s = level.unit;
    if (model == MotionModel::similarity) {
        n[0][0] += p[2] / s;
        n[0][1] += p[3] / s;
        n[1][0] -= p[3] / s;
        n[1][1] += p[2] / s;
    } else if (model != MotionModel::shift) {
        n[0][0] += p[2] / s;
        n[0][1] += p[3] / s;
        n[1][0] += p[4] / s;
        n[1][1] += p[5] / s;
    }
    if (model == MotionModel::homography) {
        n[2][0] = -p[6] / (s * s);
        n[2][1] = -p[7] / (s * s);
    }
    const double centre[3] = {level.centre_y - 0.5, level.centre_x - 0.5, 1};
    for (int i = 0; i < 3; ++i) {
        const double away = n[i][2] - n[i][0] * centre[0] - n[i][1] * centre[1];
        for (int j = 0; j < 3; ++j) to[i][j] = j < 2 ? n[i][j] : away;
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) to[i][j] += centre[i] * to[2][j];
    }
}

/// map = map * inverse(step), scaled to a last element of 1; false if that is not possible.
APERTURE_HD bool compose_inverse(const double (&step)[3][3], PixelMap& map) {
    double inverse[3][3];
    double determinant = 0;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            inverse[i][j] = step[a][c] * step[b][d] - step[a][d] * step[b][c];
        }
    }
    for (int j = 0; j < 3; ++j) determinant += step[0][j] * inverse[j][0];
    if (!(determinant > 0.1)) return false;
    double product[3][3];
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            product[i][j] = 0;
            for (int k = 0; k < 3; ++k) product[i][j] += map.at[i][k] * inverse[k][j];
        }
    }
    if (!(product[2][2] > 0)) return false;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) map.at[i][j] = product[i][j] / product[2][2];
    }
    return true;
}

/// A step from the sums of a pass, whose normal matrix it overwrites. Returns whether more steps
/// are needed on this level.
APERTURE_HD bool take_step(const MotionLevel& level, MotionSums& sums, MotionState& state) {
    const int n = unknowns_of(level.model);
    const int parameters = motion_parameters(level.model);
    ++state.iterations;
    ++state.steps;
    state.failed = true;
    state.converged = false;
    // A quarter of the reference must be seen.
    if (!(4 * sums.inside > static_cast<double>(level.rows) * level.columns)) return false;
    if (!factor(sums.normal, n)) return false;
    double step[most_unknowns];
    for (int i = 0; i < n; ++i) step[i] = sums.gradient[i];
    solve_factored(sums.normal, n, step);
    // The square of the step in standard deviations that it had if residuals were independent.
    double squared = 0;
    for (int i = 0; i < n; ++i) squared += step[i] * sums.gradient[i];
    squared /= state.scale * state.scale;
    state.gain += step[parameters];
    state.offset += step[parameters + 1];
    // Without gain the frame has nothing of the reference.
    if (!(state.gain > 0.05)) return false;
    double distance = 0;
    for (int i = 0; i < parameters; ++i) {
        step[i] /= state.gain;
        distance += std::fabs(step[i]);
    }
    if (!(distance < level.centre_y + level.centre_x)) return false;
    double matrix[3][3];
    motion_matrix(level.model, step, level, matrix);
    if (!compose_inverse(matrix, state.map)) return false;
    state.failed = false;
    const bool finest = level.down_by == 1;
    const bool small = distance < (finest ? 2e-3 : 0.1 * level.down_by) &&
                       std::fabs(step[parameters]) < 0.01 * state.gain;
    state.converged = small || squared < 0.05;
    return !state.converged && state.steps < most_motion_steps;
}

/// Covariance and share of inliers from the sums of the last pass. Overwrites their slopes.
APERTURE_HD void finish_motion(const MotionLevel& level, MotionSums& sums, MotionState& state) {
    const int n = unknowns_of(level.model);
    const int parameters = motion_parameters(level.model);
    const double cells = level.cells();
    state.inliers = sums.inliers / sums.inside;
    if (!factor(sums.slopes, n) || !(cells > n)) {
        state.failed = true;
        return;
    }
    const auto at = [](int i, int j) { return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j; };
    for (int j = 0; j < parameters; ++j) {
        double column[most_unknowns] = {};
        column[j] = 1;
        solve_factored(sums.slopes, n, column);
        double half[most_unknowns];
        for (int i = 0; i < n; ++i) {
            half[i] = 0;
            for (int k = 0; k < n; ++k) half[i] += sums.spread[at(i, k)] * column[k];
        }
        solve_factored(sums.slopes, n, half);
        for (int i = j; i < parameters; ++i) {
            state.covariance[at(i, j)] = half[i] * cells / ((cells - n) * state.gain * state.gain);
        }
    }
}

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
