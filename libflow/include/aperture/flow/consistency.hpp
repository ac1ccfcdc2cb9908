// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/executor.hpp"
#include "aperture/flow/field.hpp"

namespace aperture::flow {

/// Forward-backward check of two flows. With f the forward flow at x and b the backward flow at x +
/// f, bilinearly sampled, a pixel is consistent if
///
///     |f + b|^2 < 0.01 (|f|^2 + |b|^2) + 0.5
///
/// in pixels. Otherwise its content is occluded, or one of the two flows is wrong. A pixel is also
/// inconsistent if its target x + f is outside the image, or if f or b is not finite. Writes 255
/// for consistent pixels and 0 for the others into `consistent` [row][column] and returns the
/// number of consistent pixels. Throws core::InvalidArgument if extents differ.
/// Source: Sundaram, Brox & Keutzer 2010, section 3.
index_t check_consistency(core::Cpu& cpu, ConstFlowView<core::Host> forward,
                          ConstFlowView<core::Host> backward,
                          core::View<std::uint8_t, 2, core::Host> consistent);

}  // namespace aperture::flow
