// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"

namespace aperture::signal {

/// Median of the size x size window around every pixel of an image [row][column]; size is 3, 5
/// or 7. Outside the image its border is replicated.
///
/// Rows may lie any number of elements apart, columns must be contiguous. `to` has the extents of
/// `from` and must not overlap it. Nothing happens where the image is empty. A result is always an
/// element of its window, except that a zero may change its sign; where a NaN is in the window,
/// which of its values, or a NaN, is unspecified. The result has the same bits for every number of
/// threads. Throws core::InvalidArgument for another size, other extents or columns apart.
/// Asynchronous on a Gpu.
///
/// Rows are sorted once per window position and then merged by odd-even merging networks (Batcher
/// 1968), of which only what the median needs is kept.
void median_filter(core::Cpu& cpu, core::View<const float, 2, core::Host> from, int size,
                   core::View<float, 2, core::Host> to);
void median_filter(core::Gpu& gpu, core::View<const float, 2, core::Device> from, int size,
                   core::View<float, 2, core::Device> to);

}  // namespace aperture::signal
