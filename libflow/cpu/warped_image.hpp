// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/flow/warp.hpp"
#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// Margin pixels on either side of an image row, which repeat its ends: the reach of the derivative
/// filter and of cubic interpolation.
inline constexpr index_t image_margin = 3;
static_assert(image_margin <= row_margin);

/// Copies an image into plane 0 and sets the margins of its rows.
void load_image(core::Cpu& cpu, ImageView<core::Host> from, PaddedPlanes& to);
void set_image_margins(float* row, index_t columns);
/// Of all rows of plane 0.
void set_image_margins(core::Cpu& cpu, PaddedPlanes& image);

/// flow::warp from and to padded images; the margins of `to` are set.
void warp_padded(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& flow,
                 signal::Interpolation interpolation, PaddedPlanes& to);

}  // namespace aperture::flow
