// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// The baseline background: each value's median over the frames, for an even number the mean of the
/// middle two. Throws core::InvalidArgument if there is no frame or if `background` has another
/// number of values.
void temporal_median(core::Cpu& cpu, FramesView<const float, core::Host> frames,
                     core::View<float, 1, core::Host> background);

}  // namespace aperture::rpca
