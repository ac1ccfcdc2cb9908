// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// Median of the size x size window around every pixel of an image [row][column]; size is 3, 5
/// or 7. Outside the image its border is replicated.
///
/// Rows may have any stride; columns must be contiguous. `to` has the extents of `from` and must
/// not overlap it. The image may be empty. A result is always an element of its window, except that
/// a zero may change its sign. For a window with a NaN the result is an unspecified element of it
/// or a NaN. The result is bitwise independent of the number of threads. Throws
/// core::InvalidArgument for another size, different extents or columns that are not contiguous.
/// Asynchronous on a Gpu.
///
/// Rows are sorted once per window position and merged by odd-even merging networks (Batcher 1968),
/// pruned to what the median needs.
void median_filter(core::Cpu& cpu, core::View<const float, 2, core::Host> from, int size,
                   core::View<float, 2, core::Host> to);
void median_filter(core::Gpu& gpu, core::View<const float, 2, core::Device> from, int size,
                   core::View<float, 2, core::Device> to);

}  // namespace aperture::signal
