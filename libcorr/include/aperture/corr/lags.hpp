// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"

namespace aperture::corr {

using core::index_t;

/// Planes of an image [plane][row][column]; columns are contiguous.
template <class Space>
using PlanesView = core::View<const float, 3, Space>;

/// Whether both views of one shape are one image.
template <class Space>
bool same_planes(const PlanesView<Space>& a, const PlanesView<Space>& b) {
    return a.data == b.data && a.stride == b.stride;
}

/// The image that displacements lead to (A), or the one that they start from (B).
enum class Side { a, b };

/// Rows and columns.
struct Shape {
    index_t rows = 0;
    index_t columns = 0;
    bool operator==(const Shape&) const = default;
};

/// The displacements (dy, dx) of a surface: dy in 0 .. rows-1 and dx in 0 .. columns-1, or with
/// both signs from 1-rows and 1-columns on. Entry (i, j) of the surface is the displacement
/// (first_row() + i, first_column() + j).
struct Lags {
    index_t rows = 1;
    index_t columns = 1;
    bool both_signs = false;

    APERTURE_HD index_t first_row() const { return both_signs ? 1 - rows : 0; }
    APERTURE_HD index_t first_column() const { return both_signs ? 1 - columns : 0; }
    Shape extent() const {
        return both_signs ? Shape{2 * rows - 1, 2 * columns - 1} : Shape{rows, columns};
    }
};

/// Number of pixels along an axis of `extent` pixels with a partner at a displacement of `lag`; the
/// first is max(0, -lag).
APERTURE_HD index_t overlap(index_t extent, index_t lag) { return extent - (lag < 0 ? -lag : lag); }

/// Flops of all sums of products at all displacements: 70.5e9 for four planes of 500 x 500 pixels
/// and 250 x 250 displacements.
inline double direct_flops(index_t planes, Shape image, const Lags& lags) {
    const auto all = [](index_t extent, index_t count, bool both_signs) {
        const auto n = static_cast<double>(count);
        const auto size = static_cast<double>(extent);
        const double positive = n * size - n * (n - 1) / 2;
        return both_signs ? 2 * positive - size : positive;
    };
    return 2 * static_cast<double>(planes) * all(image.rows, lags.rows, lags.both_signs) *
           all(image.columns, lags.columns, lags.both_signs);
}

}  // namespace aperture::corr
