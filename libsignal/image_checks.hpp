// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Argument checks of operations on images, for every executor.

#include "aperture/core/error.hpp"
#include "aperture/core/view.hpp"

namespace aperture::signal {

/// Throws core::InvalidArgument for an image, or planes, with columns that are not contiguous.
template <class T, int Rank, class Space>
void expects_contiguous_columns(const char* operation, const char* role,
                                const core::View<T, Rank, Space>& image) {
    core::expects(image.stride[Rank - 1] == 1, operation, ": columns of '", role, "' have stride ",
                  image.stride[Rank - 1], ", expected 1");
}

template <class Space>
void expects_same_extents(const char* operation, const core::View<const float, 2, Space>& from,
                          const core::View<float, 2, Space>& to) {
    core::expects(from.extent == to.extent, operation, ": 'from' is ", from.extent[0], " x ",
                  from.extent[1], ", but 'to' is ", to.extent[0], " x ", to.extent[1]);
}

template <class Space>
void check_median(const core::View<const float, 2, Space>& from, int size,
                  const core::View<float, 2, Space>& to) {
    core::expects(size == 3 || size == 5 || size == 7, "median filter: size is ", size,
                  ", expected 3, 5 or 7");
    expects_same_extents("median filter", from, to);
    expects_contiguous_columns("median filter", "from", from);
    expects_contiguous_columns("median filter", "to", to);
}

template <class Space>
void check_resampling(const char* operation, const core::View<const float, 2, Space>& from,
                      const core::View<float, 2, Space>& to) {
    expects_contiguous_columns(operation, "from", from);
    expects_contiguous_columns(operation, "to", to);
    core::expects(!from.empty() || to.empty(), operation, ": 'from' is ", from.extent[0], " x ",
                  from.extent[1], ", but 'to' is ", to.extent[0], " x ", to.extent[1]);
}

template <class Space>
void check_blur(const core::View<const float, 2, Space>& from, float sigma,
                const core::View<float, 2, Space>& to) {
    core::expects(sigma >= 0 && sigma <= 1000, "Gaussian blur: sigma is ", sigma,
                  ", expected 0 to 1000 pixels");
    expects_same_extents("Gaussian blur", from, to);
    check_resampling("Gaussian blur", from, to);
}

template <class Space>
void check_box_sum(const core::View<const float, 3, Space>& from, int size,
                   const core::View<float, 3, Space>& to) {
    core::expects(size >= 1 && size % 2 == 1, "box sum: size is ", size,
                  ", expected an odd number of at least 1");
    core::expects(from.extent == to.extent, "box sum: 'from' is ", from.extent[0], " x ",
                  from.extent[1], " x ", from.extent[2], ", but 'to' is ", to.extent[0], " x ",
                  to.extent[1], " x ", to.extent[2]);
    expects_contiguous_columns("box sum", "from", from);
    expects_contiguous_columns("box sum", "to", to);
}

}  // namespace aperture::signal
