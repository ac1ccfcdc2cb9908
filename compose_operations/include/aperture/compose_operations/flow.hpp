// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/compose/operation.hpp"

namespace aperture::compose {

/// Adds operations on images, arrays f32[row, column], and flows: u to the right and v down, arrays
/// of an image's extents, in pixels. Borders are replicated.
///
/// Their calls join others in a kernel:
///     warp(image, u, v): the image at (x + u, y + v), bilinear; see flow::warp. The same bits,
///     where
///         the processor has multiply-adds.
///     lands_inside(u, v): bool, whether (x + u, y + v) is in the image.
///     lk_least_squares<window, regularisation>(error, across, down): two results, the u and v that
///         explain the error, image 0 - warped image 1, best in a window, by the gradients of the
///         image to the right and down (Anderson 2014, program 16). `window` is odd, 3 to 11, 9 by
///         default; `regularisation` is as in flow::Parameters, 0.1 by default. As Lucas-Kanade of
///         flow::Estimator, but for sums in fp32.
void add_flow(Registry& registry);

}  // namespace aperture::compose
