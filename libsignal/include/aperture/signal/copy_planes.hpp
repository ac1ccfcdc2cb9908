// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// Copies [plane][row][column] between any strides, for example from planes to [row][column][plane]
/// in memory and back. The views must not overlap. Throws core::InvalidArgument if extents differ.
/// Asynchronous on a Gpu.
void copy_planes(core::Cpu& cpu, core::View<const float, 3, core::Host> from,
                 core::View<float, 3, core::Host> to);
void copy_planes(core::Gpu& gpu, core::View<const float, 3, core::Device> from,
                 core::View<float, 3, core::Device> to);

}  // namespace aperture::signal
