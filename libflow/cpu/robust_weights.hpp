// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

// Robust penalties by lagged diffusivity: a penalty Psi(s^2) of an error s is replaced by
// Psi'(s^2) s^2 with the weight Psi' taken from the flow so far, which makes a linear system of its
// own of every step. Here Psi is Charbonnier's sqrt(s^2 + epsilon^2), and weights are twice its
// derivative, 1 / sqrt(s^2 + epsilon^2). Source: Brox et al. 2004, section 3.

/// Tensors (planes 0 to 2 of `terms`) and right-hand sides (3 and 4) for the whole flow, of what
/// Constancy found about the flow `about`, each weighted by its error at the flow `now`; both
/// components of the gradient share a weight, brightness counts `brightness` times.
/// Epsilon is 0.1 pixel.
void weigh_data(core::Cpu& cpu, const PaddedPlanes& constraints, const PaddedPlanes& about,
                const PaddedPlanes& now, float brightness, PaddedPlanes& terms);

/// Weights between a pixel and the one to its right (plane 0 of `coupling`) and the one below
/// (plane 1) from the step of the flow `now` between them; epsilon is 0.005 pixel. Where the image
/// has a step of d grey levels, a weight is (1 + d / (2 contrast))^-2 times that, about
/// exp(-d / contrast), or the same for a contrast of zero: motion changes where images do
/// (Werlberger et al. 2009). What leaves the image is unspecified.
void weigh_smoothness(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& now,
                      float contrast, PaddedPlanes& coupling);

}  // namespace aperture::flow
