// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers of the data term that the CPU and the GPU share.

namespace aperture::flow {

/// Gradients below this, in grey levels a pixel, are what rounding leaves of none.
inline constexpr float no_gradient = 1e-4F;

/// Windows whose smaller eigenvalue is below this have no texture: squared grey levels a pixel, per
/// pixel of the window.
inline constexpr float least_eigenvalue = 0.01F;

/// Structure-texture decomposition: weight of the image, step of the dual in units of it, and
/// iterations.
inline constexpr float texture_theta = 127.5F / 8;
inline constexpr float texture_dual_step = 0.25F;
inline constexpr int texture_iterations = 100;

}  // namespace aperture::flow
