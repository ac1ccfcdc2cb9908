// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// ImagePlanes for every executor: what it checks.

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/corr/image_planes.hpp"

namespace aperture::corr {

/// The computations of ImagePlanes on one executor, constructed likewise:
///     kind
///     derive(image, mask, planes): all pixels count if the mask has no data
template <class Executor>
struct PlaneOperations;

template <class Executor>
struct ImagePlanes<Executor>::State : PlaneOperations<Executor> {
    using PlaneOperations<Executor>::PlaneOperations;
};

inline void expects_orientation_sigma(double sigma) {
    core::expects(sigma > 0 && sigma <= max_orientation_sigma, "orientation sigma is ", sigma,
                  ", expected above 0, at most ", max_orientation_sigma);
}

template <class Executor>
ImagePlanes<Executor>::ImagePlanes(Executor& executor, PlaneKind kind, Normalization normalization,
                                   double orientation_sigma) {
    expects_orientation_sigma(orientation_sigma);
    state_ = core::owned(std::make_unique<State>(executor, kind, normalization, orientation_sigma));
}

template <class Executor>
void ImagePlanes<Executor>::set_orientation_sigma(double orientation_sigma) {
    expects_orientation_sigma(orientation_sigma);
    state_->orientation_sigma = orientation_sigma;
}

template <class Executor>
void ImagePlanes<Executor>::derive(core::View<const float, 3, Space> image,
                                   core::View<float, 3, Space> planes) {
    const auto [channels, rows, columns] = image.extent;
    derive(image, {nullptr, {rows, columns}}, planes);
}

template <class Executor>
void ImagePlanes<Executor>::derive(core::View<const float, 3, Space> image,
                                   core::View<const float, 2, Space> mask,
                                   core::View<float, 3, Space> planes) {
    using core::Strides;
    const auto [channels, rows, columns] = image.extent;
    core::expects((channels == 1 || channels == 3) && rows >= 1 && columns >= 1, "image is ",
                  core::extents_text(image.extent), ", expected 1 or 3 channels with pixels");
    core::expects_shape("image", image, image.extent, Strides::unit_last);
    core::expects_shape("mask", mask, {rows, columns}, Strides::unit_last);
    core::expects_shape("planes", planes, {plane_count(state_->kind), rows, columns},
                        Strides::unit_last);
    state_->derive(image, mask, planes);
}

}  // namespace aperture::corr
