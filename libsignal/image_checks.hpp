// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Argument checks of operations on images, for every executor.

#include "aperture/core/shape.hpp"

namespace aperture::signal {

/// Throws core::InvalidArgument for images, or planes, with columns that are not contiguous, and
/// with extents that do not `fit`.
template <int Rank, class Space>
void expects_images(const char* operation, const core::View<const float, Rank, Space>& from,
                    const core::View<float, Rank, Space>& to, bool fit) {
    const auto expects_contiguous = [&](const char* role, core::index_t stride) {
        core::expects(stride == 1, operation, ": columns of '", role, "' have stride ", stride,
                      ", expected 1");
    };
    expects_contiguous("from", from.stride[Rank - 1]);
    expects_contiguous("to", to.stride[Rank - 1]);
    if (fit) return;
    throw core::InvalidArgument(core::text(operation, ": 'from' is ",
                                           core::extents_text(from.extent), ", but 'to' is ",
                                           core::extents_text(to.extent)));
}

template <class Space>
void check_median(const core::View<const float, 2, Space>& from, int size,
                  const core::View<float, 2, Space>& to) {
    core::expects(size == 3 || size == 5 || size == 7, "median filter: size is ", size,
                  ", expected 3, 5 or 7");
    expects_images("median filter", from, to, from.extent == to.extent);
}

template <class Space>
void check_resampling(const char* operation, const core::View<const float, 2, Space>& from,
                      const core::View<float, 2, Space>& to) {
    expects_images(operation, from, to, !from.empty() || to.empty());
}

template <class Space>
void check_blur(const core::View<const float, 2, Space>& from, float sigma,
                const core::View<float, 2, Space>& to) {
    core::expects(sigma >= 0 && sigma <= 1000, "Gaussian blur: sigma is ", sigma,
                  ", expected 0 to 1000 pixels");
    expects_images("Gaussian blur", from, to, from.extent == to.extent);
}

template <class Space>
void check_box_sum(const core::View<const float, 3, Space>& from, int size,
                   const core::View<float, 3, Space>& to) {
    core::expects(size >= 1 && size % 2 == 1, "box sum: size is ", size,
                  ", expected an odd number of at least 1");
    expects_images("box sum", from, to, from.extent == to.extent);
}

}  // namespace aperture::signal
