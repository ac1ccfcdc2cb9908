// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

// Robust penalties by lagged diffusivity: a penalty Psi(s^2) of an error s is replaced by Psi'(s^2)
// s^2 with the weight Psi' of the current flow, so that every step is a linear system. Here Psi is
// Charbonnier's sqrt(s^2 + epsilon^2), and weights are twice its derivative, 1 / sqrt(s^2 +
// epsilon^2). Source: Brox et al. 2004, section 3.

/// Tensors (planes 0 to 2 of `terms`) and right-hand sides (3 and 4) for the whole flow, from
/// Constancy's constraints about the flow `about`. Each is weighted by its error at the flow `now`;
/// both components of the gradient share a weight, and brightness has the factor `brightness`.
/// Epsilon is 0.1 pixel.
void weigh_data(core::Cpu& cpu, const PaddedPlanes& constraints, const PaddedPlanes& about,
                const PaddedPlanes& now, float brightness, PaddedPlanes& terms);

/// Weights between a pixel and its right neighbour (plane 0 of `coupling`) and its lower one (plane
/// 1), from the difference of the flow `now` between them; epsilon is 0.005 pixel. A grey-level
/// step of d multiplies a weight by (1 + d / (2 contrast))^-2, about exp(-d / contrast), because
/// motion changes at image edges (Werlberger et al. 2009); a contrast of zero disables this.
/// Weights across the image border are unspecified.
void weigh_smoothness(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& now,
                      float contrast, PaddedPlanes& coupling);

}  // namespace aperture::flow
