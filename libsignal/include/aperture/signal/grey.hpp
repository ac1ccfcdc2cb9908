// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"

namespace aperture::signal {

/// Computes the grey image [row][column] of `planes`, [channel][row][column] with one channel
/// (grey), whose values it has, or three (red, green, blue), of which it is the luma of ITU-R Rec.
/// BT.601: 0.299 R + 0.587 G + 0.114 B. Any strides; they must not overlap. Throws
/// core::InvalidArgument for another number of channels and for different sizes.
///
/// Samples of 8 bits and of floating point are taken as they are, those of 16 bits are divided by
/// 257: white is 255.
void to_grey(core::View<const float, 3, core::Host> planes, core::View<float, 2, core::Host> grey);
void to_grey(core::View<const double, 3, core::Host> planes, core::View<float, 2, core::Host> grey);
void to_grey(core::View<const std::uint8_t, 3, core::Host> planes,
             core::View<float, 2, core::Host> grey);
void to_grey(core::View<const std::uint16_t, 3, core::Host> planes,
             core::View<float, 2, core::Host> grey);
/// The same in a new array.
core::Array<float, 2> to_grey(core::View<const float, 3, core::Host> planes);

}  // namespace aperture::signal
