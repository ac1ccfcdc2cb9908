// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/rpca/robust_pca.hpp"

namespace aperture::rpca {

/// The background that every other method is compared with: each value's median over the frames,
/// the mean of the middle two of an even number. Throws core::InvalidArgument where there is no
/// frame, or `background` has another number of values.
void temporal_median(core::Cpu& cpu, FramesView<const float, core::Host> frames,
                     core::View<float, 1, core::Host> background);

}  // namespace aperture::rpca
