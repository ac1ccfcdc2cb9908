// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"

namespace aperture::flow {

/// Brightness constancy linearised about the current flow (u0, v0), with I_t = I1(x + u0, y + v0) -
/// I0 and the gradient of the mean of both images by correlation with (1, -8, 0, 8, -1) / 12.
/// `terms` receives the tensor grad I grad I^T in planes 0 to 2 (11, 12, 22) and the right-hand
/// side in planes 3 and 4: -grad I (I_t - grad I . (u0, v0)) for the `whole` flow, -grad I I_t for
/// an increment. Terms are zero for pixels whose flow leaves the image, and for gradients that are
/// rounding noise. Source: Horn & Schunck 1981; Brox et al. 2004, section 3; the filter: Barron,
/// Fleet & Beauchemin 1994.
void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
               const PaddedPlanes& flow, bool whole, PaddedPlanes& terms);

}  // namespace aperture::flow
