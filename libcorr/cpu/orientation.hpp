// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>

#include "aperture/core/executor.hpp"
#include "aperture/corr/lags.hpp"
#include "libcore/cpu/simd.hpp"
#include "libcorr/plane_formulas.hpp"

namespace aperture::corr {

/// A plane with a border replicated by the reach of derivatives, and to the right for whole packs,
/// too.
class BorderedPlane {
  public:
    void reshape(Shape shape) {
        shape_ = shape;
        values_.reshape({shape.rows, shape.columns + 2 * derivative_reach + core::lanes<float>});
    }

    Shape shape() const { return shape_; }
    /// The nearest existing row, from its first pixel on.
    float* row(index_t y) { return values_.data() + offset(y); }
    const float* row(index_t y) const { return values_.data() + offset(y); }
    /// Must be called once the row's pixels are stored.
    void replicate_border(index_t y) {
        float* const first = row(y);
        std::fill_n(first - derivative_reach, derivative_reach, first[0]);
        std::fill_n(first + shape_.columns, derivative_reach + core::lanes<float>,
                    first[shape_.columns - 1]);
    }

  private:
    index_t offset(index_t y) const {
        return std::clamp<index_t>(y, 0, shape_.rows - 1) * values_.extent()[1] + derivative_reach;
    }

    core::Array<float, 2> values_;
    Shape shape_;
};

/// A row of a plane and the rows that its derivatives by y need.
class DerivativeRows {
  public:
    DerivativeRows(const BorderedPlane& plane, index_t y) {
        for (index_t i = 0; i < 5; ++i) row_[i] = plane.row(y + i - derivative_reach);
    }
    float by_x(index_t x) const {
        const float* const at = row_[2] + x;
        return derivative(at[-2], at[-1], at[1], at[2]);
    }
    float by_y(index_t x) const {
        return derivative(row_[0][x], row_[1][x], row_[3][x], row_[4][x]);
    }

  private:
    const float* row_[5];
};

/// Computes orientations (PlaneKind::lab_orientation) from the lightness, [cosine, sine][row]
/// [column], and calls row_stored(row) after each row. `tensor` is workspace.
void compute_orientations(core::Cpu& cpu, const BorderedPlane& lightness, double sigma,
                          core::Array<float, 4>& tensor,
                          const core::View<float, 3, core::Host>& planes,
                          const std::function<void(index_t)>& row_stored);

}  // namespace aperture::corr
