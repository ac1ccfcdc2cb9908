// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>

#include "aperture/core/array.hpp"
#include "aperture/flow/field.hpp"
#include "aperture/flow/linear_system.hpp"
#include "libcore/cpu/simd.hpp"

namespace aperture::flow {

/// Floats before the first and after the last pixel of a row. A pack may begin at any pixel of the
/// row, or one to its left.
inline constexpr index_t row_margin = 16;
static_assert(core::lanes<float> <= row_margin);

/// Columns rounded up to whole packs.
inline index_t whole_packs(index_t columns) {
    return (columns + core::lanes<float> - 1) / core::lanes<float> * core::lanes<float>;
}

/// Planes [plane][row][column] with margins on both sides of a row, so that neighbours and whole
/// packs are loaded and stored without bounds checks. Initialised to zero.
class PaddedPlanes {
  public:
    PaddedPlanes() = default;
    PaddedPlanes(index_t planes, Shape shape) : shape_(shape) {
        pitch_ =
            row_margin + (shape.columns + row_margin - 1) / row_margin * row_margin + row_margin;
        // Rows 4 KiB apart would share their cache sets.
        if (pitch_ % 256 == 0) pitch_ += row_margin;
        storage_ = core::Array<float, 3>({planes, shape.rows, pitch_});
        std::fill(storage_.begin(), storage_.end(), 0.0F);
    }

    Shape shape() const { return shape_; }
    float* row(index_t plane, index_t y) { return storage_.data() + offset(plane, y); }
    const float* row(index_t plane, index_t y) const { return storage_.data() + offset(plane, y); }

    /// Copies the values, margins included, of planes of the same shape.
    void copy(const PaddedPlanes& from) {
        assert(storage_.extent() == from.storage_.extent());
        std::copy(from.storage_.begin(), from.storage_.end(), storage_.begin());
    }

    core::View<float, 3, core::Host> view() {
        return {row(0, 0), {storage_.extent()[0], shape_.rows, shape_.columns}, strides()};
    }
    core::View<const float, 3, core::Host> view() const {
        return {row(0, 0), {storage_.extent()[0], shape_.rows, shape_.columns}, strides()};
    }

  private:
    index_t offset(index_t plane, index_t y) const {
        assert(plane >= 0 && plane < storage_.extent()[0] && y >= 0 && y < shape_.rows);
        return (plane * shape_.rows + y) * pitch_ + row_margin;
    }
    core::Extents<3> strides() const { return {shape_.rows * pitch_, pitch_, 1}; }

    core::Array<float, 3> storage_;
    Shape shape_;
    index_t pitch_ = 0;
};

/// Sets the pixels left and right of a row according to the boundary.
inline void set_margins(float* row, index_t columns, Boundary boundary) {
    row[-1] = boundary == Boundary::replicate ? row[0] : 0.0F;
    row[columns] = boundary == Boundary::replicate ? row[columns - 1] : 0.0F;
}
/// The same for row y of planes 0 and 1.
inline void set_margins(PaddedPlanes& flow, index_t y, Boundary boundary) {
    for (index_t i : {0, 1}) set_margins(flow.row(i, y), flow.shape().columns, boundary);
}

}  // namespace aperture::flow
