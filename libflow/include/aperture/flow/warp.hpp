// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/flow/field.hpp"
#include "aperture/signal/resample.hpp"

namespace aperture::flow {

/// Computes `to` (x, y) = `image` (x + u, y + v). With the flow from image 0 to `image`, `to`
/// approximates image 0. Borders are replicated; a non-finite flow samples the pixel itself.
/// `to` must not overlap the others. Throws core::InvalidArgument if extents differ or columns are
/// not contiguous. Asynchronous on a Gpu.
void warp(core::Cpu& cpu, ImageView<core::Host> image, ConstFlowView<core::Host> flow,
          signal::Interpolation interpolation, core::View<float, 2, core::Host> to);
void warp(core::Gpu& gpu, ImageView<core::Device> image, ConstFlowView<core::Device> flow,
          signal::Interpolation interpolation, core::View<float, 2, core::Device> to);

}  // namespace aperture::flow
