// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"

namespace aperture::flow {

using core::index_t;

/// A grey image [row][column], scaled to 0..255 for any stored bit depth; columns are contiguous.
template <class Space>
using ImageView = core::View<const float, 2, Space>;

/// A flow [2][row][column] in pixels: plane 0 is u, to the right, plane 1 is v, down. The content
/// of image 0 at (x, y) is found in image 1 at (x + u, y + v). Columns are contiguous.
template <class Space>
using FlowView = core::View<float, 3, Space>;
template <class Space>
using ConstFlowView = core::View<const float, 3, Space>;

/// Rows and columns of an image.
struct Shape {
    index_t rows = 0;
    index_t columns = 0;
    bool operator==(const Shape&) const = default;
};

}  // namespace aperture::flow
