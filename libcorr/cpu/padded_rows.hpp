// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/core/array.hpp"
#include "aperture/corr/lags.hpp"

namespace aperture::corr {

/// Planes with zeros on both sides of a row.
template <class T>
class PaddedRows {
  public:
    PaddedRows() = default;
    PaddedRows(index_t planes, Shape shape, index_t left, index_t right) : left_(left) {
        values_ = core::Array<T, 3>({planes, shape.rows, left + shape.columns + right});
        std::fill(values_.begin(), values_.end(), T(0));
    }

    bool empty() const { return values_.size() == 0; }
    /// The first pixel of a row; `left` zeros precede it.
    T* row(index_t plane, index_t y) { return values_.data() + offset(plane, y); }
    const T* row(index_t plane, index_t y) const { return values_.data() + offset(plane, y); }

  private:
    index_t offset(index_t plane, index_t y) const {
        return (plane * values_.extent()[1] + y) * values_.extent()[2] + left_;
    }

    core::Array<T, 3> values_;
    index_t left_ = 0;
};

}  // namespace aperture::corr
