// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "libsignal/motion_level.hpp"

/// Steps of a fit, from the sums of a pass over a level.
namespace aperture::signal {

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

}  // namespace aperture::signal
