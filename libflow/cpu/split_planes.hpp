// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// Planes with each row split into even and odd columns: the pixels that Gauss-Seidel updates
/// together are contiguous, and so are the neighbours it reads.
class SplitPlanes {
  public:
    SplitPlanes() = default;
    SplitPlanes(index_t planes, Shape shape)
        : half_(2 * planes, Shape{shape.rows, (shape.columns + 1) / 2}) {}

    /// Entry k is column 2 k + parity of row y.
    float* row(index_t plane, int parity, index_t y) { return half_.row(2 * plane + parity, y); }
    const float* row(index_t plane, int parity, index_t y) const {
        return half_.row(2 * plane + parity, y);
    }

    bool empty() const { return half_.shape().rows == 0; }
    void load_row(index_t plane, index_t y, const float* from, index_t columns);
    void store_row(index_t plane, index_t y, float* to, index_t columns) const;

  private:
    PaddedPlanes half_;
};

/// A quarter of the sums of 2x2 pixels of two rows of `fine` columns, with even and odd ones stored
/// apart; see is_alone for a block that lacks a column.
void average_rows(const float* even0, const float* odd0, const float* even1, const float* odd1,
                  index_t fine, float* to_even, float* to_odd);

}  // namespace aperture::flow
