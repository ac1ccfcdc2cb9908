// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/data_term.hpp"

#include <cmath>

#include "libflow/cpu/derivative_rows.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
               const PaddedPlanes& flow, bool increment, PaddedPlanes& terms) {
    const Shape shape = image0.shape();
    const float about = increment ? 0.0F : 1.0F;
    for_rows(cpu, shape, [&](index_t y) {
        const DerivativeRows zero(image0, 0, y);
        const DerivativeRows one(warped1, 0, y);
        const LandingRow landing(flow, y);
        float* const j11 = terms.row(0, y);
        float* const j12 = terms.row(1, y);
        float* const j22 = terms.row(2, y);
        float* const b_u = terms.row(3, y);
        float* const b_v = terms.row(4, y);
        const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const float weight = landing.inside(x) ? 1.0F / 24.0F : 0.0F;
            const float gx = unless_rounding(weight * (zero.across(x) + one.across(x)));
            const float gy = unless_rounding(weight * (zero.down(x) + one.down(x)));
            const float gt = one.here(x) - zero.here(x);
            const float c = gt - about * (gx * landing.u[x] + gy * landing.v[x]);
            j11[x] = gx * gx;
            j12[x] = gx * gy;
            j22[x] = gy * gy;
            b_u[x] = -gx * c;
            b_v[x] = -gy * c;
        }
    });
}

}  // namespace aperture::flow
