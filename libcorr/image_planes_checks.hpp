// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Argument checks of ImagePlanes, for every executor.

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/corr/image_planes.hpp"

namespace aperture::corr {

template <class Space>
void check_images(PlaneKind kind, const core::View<const float, 3, Space>& image,
                  const core::View<float, 3, Space>& planes) {
    const auto [channels, rows, columns] = image.extent;
    core::expects((channels == 1 || channels == 3) && rows >= 1 && columns >= 1, "image is ",
                  core::extents_text(image.extent), ", expected 1 or 3 channels with pixels");
    core::expects_shape("image", image, image.extent, core::Strides::unit_last);
    core::expects_shape("planes", planes, {plane_count(kind), rows, columns},
                        core::Strides::unit_last);
}

template <class Space>
void check_mask(const core::View<const float, 3, Space>& image,
                const core::View<const float, 2, Space>& mask) {
    core::expects_shape("mask", mask, {image.extent[1], image.extent[2]}, core::Strides::unit_last);
}

}  // namespace aperture::corr
