// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/constancy.hpp"

#include <cmath>

#include "libflow/cpu/derivative_rows.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {
namespace {

constexpr float twelfth = 1.0F / 12.0F;

inline float normalisation(float c_x, float c_y) {
    return 1.0F / std::sqrt(c_x * c_x + c_y * c_y + least_slope_squared);
}

}  // namespace

void Constancy::linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
                          const PaddedPlanes& flow) {
    const Shape shape = flow.shape();
    const auto columns = static_cast<int>(shape.columns);
    for_rows(cpu, shape, [&](index_t y) {
        const float* zero = image0.row(0, y);
        const float* one = warped1.row(0, y);
        float* const mean = mean_.row(0, y);
        float* const difference = difference_.row(0, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            mean[x] = 0.5F * (zero[x] + one[x]);
            difference[x] = one[x] - zero[x];
        }
        set_image_margins(mean, shape.columns);
        set_image_margins(difference, shape.columns);
    });
    for_rows(cpu, shape, [&](index_t y) {
        const DerivativeRows mean(mean_, 0, y);
        float* const across = slope_.row(0, y);
        float* const down = slope_.row(1, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            across[x] = unless_rounding(twelfth * mean.across(x));
            down[x] = unless_rounding(twelfth * mean.down(x));
        }
        set_image_margins(across, shape.columns);
        set_image_margins(down, shape.columns);
    });
    for_rows(cpu, shape, [&](index_t y) { constrain_row(flow, y); });
}

void Constancy::constrain_row(const PaddedPlanes& flow, index_t y) {
    const DerivativeRows across(slope_, 0, y);
    const DerivativeRows down(slope_, 1, y);
    const DerivativeRows difference(difference_, 0, y);
    const LandingRow landing(flow, y);
    float* c[9];
    for (index_t i = 0; i < 9; ++i) c[i] = constraints_.row(i, y);
    const auto columns = static_cast<int>(flow.shape().columns);
#pragma omp simd
    for (int x = 0; x < columns; ++x) {
        const float weight = landing.inside(x) ? 1.0F : 0.0F;
        const float xx = unless_rounding(twelfth * across.across(x));
        const float yy = unless_rounding(twelfth * down.down(x));
        // Both orders of the mixed derivative are equal: rows and columns are filtered separately.
        const float xy = unless_rounding(twelfth * across.down(x));
        const float of_value = weight * normalisation(across.here(x), down.here(x));
        const float of_across = weight * normalisation(xx, xy);
        const float of_down = weight * normalisation(xy, yy);
        c[0][x] = of_value * across.here(x);
        c[1][x] = of_value * down.here(x);
        c[2][x] = of_value * difference.here(x);
        c[3][x] = of_across * xx;
        c[4][x] = of_across * xy;
        c[5][x] = of_across * twelfth * difference.across(x);
        c[6][x] = of_down * xy;
        c[7][x] = of_down * yy;
        c[8][x] = of_down * twelfth * difference.down(x);
    }
}

}  // namespace aperture::flow
