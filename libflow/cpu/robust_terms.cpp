// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/robust_terms.hpp"

#include "libflow/cpu/pixel_rows.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

void Constancy::linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
                          const PaddedPlanes& flow, PaddedPlanes& start) {
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
            across[x] = slope_of(mean.across(x));
            down[x] = slope_of(mean.down(x));
        }
        set_image_margins(across, shape.columns);
        set_image_margins(down, shape.columns);
    });
    for_rows(cpu, shape, [&](index_t y) { constrain_row(flow, y); });
    store_planes(cpu, flow, start.view());
}

void Constancy::weigh(core::Cpu& cpu, const PaddedPlanes& about, const PaddedPlanes& now,
                      const PaddedPlanes& image, const Parameters& p, PaddedPlanes& terms,
                      PaddedPlanes& coupling) const {
    weigh_data(cpu, constraints_, about, now, static_cast<float>(p.brightness), terms);
    weigh_smoothness(cpu, image, now, static_cast<float>(p.contrast), coupling);
}

void Constancy::constrain_row(const PaddedPlanes& flow, index_t y) {
    const DerivativeRows across(slope_, 0, y);
    const DerivativeRows down(slope_, 1, y);
    const DerivativeRows difference(difference_, 0, y);
    const auto rows = static_cast<int>(flow.shape().rows);
    const auto columns = static_cast<int>(flow.shape().columns);
    const auto row = static_cast<int>(y);
    const float* u = flow.row(0, y);
    const float* v = flow.row(1, y);
    float* c[9];
    for (index_t i = 0; i < 9; ++i) c[i] = constraints_.row(i, y);
    const auto store = [&c](int x, int plane, const Constraint& constraint) {
        c[plane][x] = constraint.x;
        c[plane + 1][x] = constraint.y;
        c[plane + 2][x] = constraint.t;
    };
#pragma omp simd
    for (int x = 0; x < columns; ++x) {
        const float weight = lands_inside(rows, columns, row, x, u[x], v[x]) ? 1.0F : 0.0F;
        const float xx = slope_of(across.across(x));
        const float yy = slope_of(down.down(x));
        // Both orders of the mixed derivative are equal: rows and columns are filtered separately.
        const float xy = slope_of(across.down(x));
        store(x, 0, normalised(weight, across.here(x), down.here(x), difference.here(x)));
        store(x, 3, normalised(weight, xx, xy, difference.across(x), twelfth));
        store(x, 6, normalised(weight, xy, yy, difference.down(x), twelfth));
    }
}

void weigh_data(core::Cpu& cpu, const PaddedPlanes& constraints, const PaddedPlanes& about,
                const PaddedPlanes& now, float brightness, PaddedPlanes& terms) {
    for_rows(cpu, about.shape(), [&](index_t y) {
        const auto columns = static_cast<int>(about.shape().columns);
        const float factor = brightness;
        const float* u0 = about.row(0, y);
        const float* v0 = about.row(1, y);
        const float* u = now.row(0, y);
        const float* v = now.row(1, y);
        const float* c[9];
        for (index_t i = 0; i < 9; ++i) c[i] = constraints.row(i, y);
        const TermRows<float> to(terms, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const Constraint value{c[0][x], c[1][x], c[2][x]};
            const Constraint across{c[3][x], c[4][x], c[5][x]};
            const Constraint down{c[6][x], c[7][x], c[8][x]};
            to.store(x, robust_terms(value, across, down, u0[x], v0[x], u[x], v[x], factor));
        }
    });
}

void weigh_smoothness(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& now,
                      float contrast, PaddedPlanes& coupling) {
    const Shape shape = now.shape();
    const float decay = edge_decay(contrast);
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
            right[x] = edge_weight(u[x + 1] - u[x], v[x + 1] - v[x], grey[x + 1] - grey[x], decay);
            below[x] =
                edge_weight(u_below[x] - u[x], v_below[x] - v[x], grey_below[x] - grey[x], decay);
        }
    });
}

}  // namespace aperture::flow
