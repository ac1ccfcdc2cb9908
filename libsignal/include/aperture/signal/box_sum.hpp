// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// For every plane of [plane][row][column], the sum over the size x size window around every pixel;
/// size is odd. Outside a plane its border is replicated.
///
/// Planes and rows may have any stride; columns must be contiguous. `to` has the extents of `from`
/// and must not overlap it. Planes may be empty. The cost a pixel hardly grows with size. Sums are
/// in double precision, of the window's elements only (no running difference): the error is that of
/// rounding the result to float, and a non-finite value affects only windows that contain it. The
/// result is bitwise independent of the number of threads. Throws core::InvalidArgument for an even
/// size or one below 1, different extents or columns that are not contiguous; on a Gpu also for a
/// window too large for a block's shared memory (more than 105 pixels on an H100). Asynchronous on
/// a Gpu.
///
/// Method: partial sums outwards from the middle of a group of windows (van Herk 1992, for minima).
void box_sum(core::Cpu& cpu, core::View<const float, 3, core::Host> from, int size,
             core::View<float, 3, core::Host> to);
void box_sum(core::Gpu& gpu, core::View<const float, 3, core::Device> from, int size,
             core::View<float, 3, core::Device> to);

}  // namespace aperture::signal
