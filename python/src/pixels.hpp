// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python/src/arrays.hpp"
#include "python/src/worker.hpp"

namespace aperture::python {

/// The view [plane][row][column] of an array [row][column][plane], or [row][column] for one plane.
template <class T, class Array>
core::View<T, 3, Space> planes_in(const Array& pixels) {
    const bool one = pixels.ndim() == 2;
    const auto extent = [&](std::size_t d) { return static_cast<index_t>(pixels.shape(d)); };
    const auto stride = [&](std::size_t d) { return static_cast<index_t>(pixels.stride(d)); };
    return {static_cast<T*>(pixels.data()),
            {one ? 1 : extent(2), extent(0), extent(1)},
            {one ? 0 : stride(2), stride(0), stride(1)}};
}

}  // namespace aperture::python
