// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"

namespace aperture::flow {

/// Brightness constancy linearised about the flow so far (u0, v0), with I_t = I1(x + u0, y + v0) -
/// I0 and the gradient of the mean of both by correlation with (1, -8, 0, 8, -1) / 12: the tensor
/// grad I grad I^T in planes 0 to 2 of `terms` (11, 12, 22), and in planes 3 and 4 the right-hand
/// side -grad I (I_t - grad I . (u0, v0)), or for `increment`, which is solved for what is to be
/// added, -grad I I_t. Pixels whose flow leaves the image say nothing, nor do gradients that
/// rounding leaves of a constant image. Source: Horn & Schunck 1981; Brox et al. 2004, section 3;
/// the filter: Barron, Fleet & Beauchemin 1994.
void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
               const PaddedPlanes& flow, bool increment, PaddedPlanes& terms);

}  // namespace aperture::flow
