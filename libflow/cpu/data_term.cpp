// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/data_term.hpp"

#include <cmath>

#include "libflow/cpu/row_loops.hpp"
#include "libflow/model_constants.hpp"

namespace aperture::flow {
namespace {

/// A row of both images, and the rows that the filter reaches above and below it.
struct ImageRows {
    const float* row[5];

    ImageRows(const PaddedPlanes& image, index_t y) {
        for (index_t i = 0; i < 5; ++i) {
            row[i] = image.row(0, std::clamp<index_t>(y + i - 2, 0, image.shape().rows - 1));
        }
    }
    float across(index_t x) const {
        return 8 * (row[2][x + 1] - row[2][x - 1]) - (row[2][x + 2] - row[2][x - 2]);
    }
    float down(index_t x) const { return 8 * (row[3][x] - row[1][x]) - (row[4][x] - row[0][x]); }
    float here(index_t x) const { return row[2][x]; }
};

}  // namespace

void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
               const PaddedPlanes& flow, bool increment, PaddedPlanes& terms) {
    const Shape shape = image0.shape();
    const auto last_x = static_cast<float>(shape.columns - 1);
    const auto last_y = static_cast<float>(shape.rows - 1);
    const float about = increment ? 0.0F : 1.0F;
    for_rows(cpu, shape, [&](index_t y) {
        const ImageRows zero(image0, y);
        const ImageRows one(warped1, y);
        const float* u = flow.row(0, y);
        const float* v = flow.row(1, y);
        float* const j11 = terms.row(0, y);
        float* const j12 = terms.row(1, y);
        float* const j22 = terms.row(2, y);
        float* const b_u = terms.row(3, y);
        float* const b_v = terms.row(4, y);
        const auto row = static_cast<float>(y);
        const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const float at_x = static_cast<float>(x) + u[x];
            const float at_y = row + v[x];
            const bool inside = at_x >= 0 && at_x <= last_x && at_y >= 0 && at_y <= last_y;
            const float weight = inside ? 1.0F / 24.0F : 0.0F;
            const float across = weight * (zero.across(x) + one.across(x));
            const float down = weight * (zero.down(x) + one.down(x));
            const float gx = std::abs(across) > no_gradient ? across : 0.0F;
            const float gy = std::abs(down) > no_gradient ? down : 0.0F;
            const float gt = one.here(x) - zero.here(x);
            const float c = gt - about * (gx * u[x] + gy * v[x]);
            j11[x] = gx * gx;
            j12[x] = gx * gy;
            j22[x] = gy * gy;
            b_u[x] = -gx * c;
            b_v[x] = -gy * c;
        }
    });
}

}  // namespace aperture::flow
