// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"
#include "libflow/model_constants.hpp"

namespace aperture::flow {

/// Replaces derivatives that are rounding noise by zero.
inline float unless_rounding(float derivative) {
    return std::abs(derivative) > no_gradient ? derivative : 0.0F;
}

/// A row of a plane with image margins, and the two rows above and below it that the derivative
/// filter (1, -8, 0, 8, -1) / 12 reaches (Barron, Fleet & Beauchemin 1994); `across` and `down` are
/// 12 times the derivatives.
struct DerivativeRows {
    const float* row[5];

    DerivativeRows(const PaddedPlanes& planes, index_t plane, index_t y) {
        const index_t last = planes.shape().rows - 1;
        for (index_t i = 0; i < 5; ++i) {
            row[i] = planes.row(plane, std::clamp<index_t>(y + i - 2, 0, last));
        }
    }
    float across(index_t x) const {
        return 8 * (row[2][x + 1] - row[2][x - 1]) - (row[2][x + 2] - row[2][x - 2]);
    }
    float down(index_t x) const { return 8 * (row[3][x] - row[1][x]) - (row[4][x] - row[0][x]); }
    float here(index_t x) const { return row[2][x]; }
};

/// Target positions of the pixels of row y, and whether they are inside the image.
struct LandingRow {
    const float* u;
    const float* v;
    float row;
    float last_x;
    float last_y;

    LandingRow(const PaddedPlanes& flow, index_t y)
        : u(flow.row(0, y)),
          v(flow.row(1, y)),
          row(static_cast<float>(y)),
          last_x(static_cast<float>(flow.shape().columns - 1)),
          last_y(static_cast<float>(flow.shape().rows - 1)) {}
    bool inside(int x) const {
        const float at_x = static_cast<float>(x) + u[x];
        const float at_y = row + v[x];
        return at_x >= 0 && at_x <= last_x && at_y >= 0 && at_y <= last_y;
    }
};

}  // namespace aperture::flow
