// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"
#include "libflow/image_model.hpp"

namespace aperture::flow {

/// A row of a plane with image margins, and the two rows above and below it that the derivative
/// filter reaches; `across` and `down` are 12 times the derivatives.
struct DerivativeRows {
    const float* row[5];

    DerivativeRows(const PaddedPlanes& planes, index_t plane, index_t y) {
        const index_t last = planes.shape().rows - 1;
        for (index_t i = 0; i < 5; ++i) {
            row[i] = planes.row(plane, std::clamp<index_t>(y + i - 2, 0, last));
        }
    }
    float across(index_t x) const {
        return twelve_derivatives([&](int i) { return row[2][x + i]; });
    }
    float down(index_t x) const {
        return twelve_derivatives([&](int i) { return row[2 + i][x]; });
    }
    float here(index_t x) const { return row[2][x]; }
};

/// A row of the planes of Terms.
template <class Value>
struct TermRows {
    Value* row[term_planes];

    template <class Planes>
    TermRows(Planes& planes, index_t y) {
        for (int i = 0; i < term_planes; ++i) row[i] = planes.row(i, y);
    }
    Terms load(int x) const { return {row[0][x], row[1][x], row[2][x], row[3][x], row[4][x]}; }
    void store(int x, const Terms& terms) const {
        row[0][x] = terms.j11;
        row[1][x] = terms.j12;
        row[2][x] = terms.j22;
        row[3][x] = terms.b_u;
        row[4][x] = terms.b_v;
    }
};

}  // namespace aperture::flow
