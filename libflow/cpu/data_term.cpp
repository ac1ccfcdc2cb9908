// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/data_term.hpp"

#include "libflow/cpu/pixel_rows.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
               const PaddedPlanes& flow, bool whole, PaddedPlanes& terms) {
    const auto rows = static_cast<int>(image0.shape().rows);
    const auto columns = static_cast<int>(image0.shape().columns);
    const float part_of_flow = whole ? 1.0F : 0.0F;
    for_rows(cpu, image0.shape(), [&](index_t y) {
        const auto row = static_cast<int>(y);
        const DerivativeRows zero(image0, 0, y);
        const DerivativeRows one(warped1, 0, y);
        const float* u = flow.row(0, y);
        const float* v = flow.row(1, y);
        const TermRows<float> to(terms, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const bool inside = lands_inside(rows, columns, row, x, u[x], v[x]);
            to.store(x, brightness_terms(inside, zero.across(x) + one.across(x),
                                         zero.down(x) + one.down(x), one.here(x) - zero.here(x),
                                         u[x], v[x], part_of_flow));
        }
    });
}

}  // namespace aperture::flow
