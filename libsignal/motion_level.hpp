// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "aperture/core/portable.hpp"
#include "aperture/signal/global_motion.hpp"

/// The levels of a reference, and a fit to one.
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

}  // namespace aperture::signal
