// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// For every plane of [plane][row][column], the sum over the size x size window around every pixel;
/// size is odd. Outside a plane its border is replicated.
///
/// Planes and rows may lie any number of elements apart, columns must be contiguous. `to` has the
/// extents of `from` and must not overlap it. Nothing happens where there are no pixels. The cost
/// for a pixel hardly grows with size. Sums are taken in double precision and only of what is in
/// the window (no running difference), so that the error is that of rounding the result to float,
/// and a value that is not finite spoils only windows that hold it. The result has the same bits
/// for every number of threads. Throws core::InvalidArgument for an even size or one below 1, other
/// extents or columns apart; on a Gpu also where a window is too large for a block's shared memory
/// (of more than 105 pixels on an H100). Asynchronous on a Gpu.
///
/// Method: sums from the middle of a group of windows outwards (van Herk 1992, there for minima).
void box_sum(core::Cpu& cpu, core::View<const float, 3, core::Host> from, int size,
             core::View<float, 3, core::Host> to);
void box_sum(core::Gpu& gpu, core::View<const float, 3, core::Device> from, int size,
             core::View<float, 3, core::Device> to);

}  // namespace aperture::signal
