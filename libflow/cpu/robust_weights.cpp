// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/robust_weights.hpp"

#include <cmath>

#include "libflow/cpu/row_loops.hpp"
#include "libflow/model_constants.hpp"

namespace aperture::flow {
namespace {

inline float charbonnier_weight(float error_squared, float epsilon) {
    return 1.0F / std::sqrt(error_squared + epsilon * epsilon);
}

}  // namespace

void weigh_data(core::Cpu& cpu, const PaddedPlanes& constraints, const PaddedPlanes& about,
                const PaddedPlanes& now, float brightness, PaddedPlanes& terms) {
    const Shape shape = about.shape();
    for_rows(cpu, shape, [&](index_t y) {
        const float* u0 = about.row(0, y);
        const float* v0 = about.row(1, y);
        const float* u = now.row(0, y);
        const float* v = now.row(1, y);
        const float* c[9];
        for (index_t i = 0; i < 9; ++i) c[i] = constraints.row(i, y);
        float* to[5];
        for (index_t i = 0; i < 5; ++i) to[i] = terms.row(i, y);
        const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const float du = u[x] - u0[x];
            const float dv = v[x] - v0[x];
            const float of_value = c[0][x] * du + c[1][x] * dv + c[2][x];
            const float of_across = c[3][x] * du + c[4][x] * dv + c[5][x];
            const float of_down = c[6][x] * du + c[7][x] * dv + c[8][x];
            const float value = brightness * charbonnier_weight(of_value * of_value, data_epsilon);
            const float slope =
                charbonnier_weight(of_across * of_across + of_down * of_down, data_epsilon);
            const float j11 =
                value * c[0][x] * c[0][x] + slope * (c[3][x] * c[3][x] + c[6][x] * c[6][x]);
            const float j12 =
                value * c[0][x] * c[1][x] + slope * (c[3][x] * c[4][x] + c[6][x] * c[7][x]);
            const float j22 =
                value * c[1][x] * c[1][x] + slope * (c[4][x] * c[4][x] + c[7][x] * c[7][x]);
            to[0][x] = j11;
            to[1][x] = j12;
            to[2][x] = j22;
            to[3][x] =
                (j11 * u0[x] + j12 * v0[x]) -
                (value * c[0][x] * c[2][x] + slope * (c[3][x] * c[5][x] + c[6][x] * c[8][x]));
            to[4][x] =
                (j12 * u0[x] + j22 * v0[x]) -
                (value * c[1][x] * c[2][x] + slope * (c[4][x] * c[5][x] + c[7][x] * c[8][x]));
        }
    });
}

void weigh_smoothness(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& now,
                      float contrast, PaddedPlanes& coupling) {
    const Shape shape = now.shape();
    const float decay = contrast > 0 ? 0.5F / contrast : 0.0F;
    const auto weight = [=](float du, float dv, float step) {
        const float edge = 1.0F + decay * std::abs(step);
        return charbonnier_weight(du * du + dv * dv, smoothness_epsilon) / (edge * edge);
    };
    for_rows(cpu, shape, [&](index_t y) {
        const index_t next = std::min(y + 1, shape.rows - 1);
        const float* u = now.row(0, y);
        const float* v = now.row(1, y);
        const float* grey = image.row(0, y);
        const float* u_below = now.row(0, next);
        const float* v_below = now.row(1, next);
        const float* grey_below = image.row(0, next);
        float* const right = coupling.row(0, y);
        float* const below = coupling.row(1, y);
        const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            right[x] = weight(u[x + 1] - u[x], v[x + 1] - v[x], grey[x + 1] - grey[x]);
            below[x] = weight(u_below[x] - u[x], v_below[x] - v[x], grey_below[x] - grey[x]);
        }
    });
}

}  // namespace aperture::flow
