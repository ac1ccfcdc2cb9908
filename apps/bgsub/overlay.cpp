// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/overlay.hpp"

namespace aperture::apps {
namespace {

using core::index_t;

constexpr media::Colour tint{255, 64, 0};
constexpr float tint_opacity = 0.35F;

bool marked(rpca::MaskView mask, index_t row, index_t column) {
    return row >= 0 && row < mask.extent[0] && column >= 0 && column < mask.extent[1] &&
           mask(row, column) != 0;
}

/// Whether one of the four neighbours is unmarked; pixels beyond the border count as unmarked.
bool on_outline(rpca::MaskView mask, index_t row, index_t column) {
    return !marked(mask, row - 1, column) || !marked(mask, row + 1, column) ||
           !marked(mask, row, column - 1) || !marked(mask, row, column + 1);
}

}  // namespace

media::Picture draw_mask(rpca::MaskView mask) {
    const auto [rows, columns] = mask.extent;
    media::Picture picture(static_cast<int>(columns), static_cast<int>(rows), {0, 0, 0});
    for (index_t row = 0; row < rows; ++row) {
        for (index_t column = 0; column < columns; ++column) {
            if (marked(mask, row, column)) {
                picture.at(static_cast<int>(column), static_cast<int>(row)) = {255, 255, 255};
            }
        }
    }
    return picture;
}

media::Picture draw_overlay(const media::Picture& frame, rpca::MaskView mask) {
    media::Picture picture = frame;
    for (index_t row = 0; row < mask.extent[0]; ++row) {
        for (index_t column = 0; column < mask.extent[1]; ++column) {
            if (!marked(mask, row, column)) continue;
            picture.blend(static_cast<int>(column), static_cast<int>(row), tint,
                          on_outline(mask, row, column) ? 1.0F : tint_opacity);
        }
    }
    return picture;
}

}  // namespace aperture::apps
