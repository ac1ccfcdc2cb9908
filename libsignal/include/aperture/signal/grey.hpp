// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// Computes the grey image [row][column] of `planes`, [channel][row][column] with one channel
/// (grey), whose values it has, or three (red, green, blue), of which it is the luma of ITU-R Rec.
/// BT.601: 0.299 R + 0.587 G + 0.114 B. Samples of 8 bits and of floating point are taken as they
/// are, those of 16 bits are divided by 257: white is 255.
///
/// Any strides; `grey` must not overlap `planes`. Throws core::InvalidArgument for another number
/// of channels and for different sizes. Asynchronous on a Gpu.
void to_grey(core::Cpu& cpu, core::View<const float, 3, core::Host> planes,
             core::View<float, 2, core::Host> grey);
void to_grey(core::Cpu& cpu, core::View<const std::uint8_t, 3, core::Host> planes,
             core::View<float, 2, core::Host> grey);
void to_grey(core::Cpu& cpu, core::View<const std::uint16_t, 3, core::Host> planes,
             core::View<float, 2, core::Host> grey);
void to_grey(core::Gpu& gpu, core::View<const float, 3, core::Device> planes,
             core::View<float, 2, core::Device> grey);
void to_grey(core::Gpu& gpu, core::View<const std::uint8_t, 3, core::Device> planes,
             core::View<float, 2, core::Device> grey);
void to_grey(core::Gpu& gpu, core::View<const std::uint16_t, 3, core::Device> planes,
             core::View<float, 2, core::Device> grey);

/// The same in a new array, on one thread.
core::Array<float, 2> to_grey(core::View<const float, 3, core::Host> planes);

}  // namespace aperture::signal
