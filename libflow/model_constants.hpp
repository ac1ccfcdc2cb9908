// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Constants shared by the CPU and the GPU.

namespace aperture::flow {

/// Gradients below this are rounding noise, grey levels a pixel.
inline constexpr float no_gradient = 1e-4F;

/// Planes of a linearised data term: J11, J12, J22 and both right-hand sides.
inline constexpr int term_planes = 5;

/// Windows with a smaller eigenvalue below this have no texture: squared grey levels a pixel, per
/// pixel of the window.
inline constexpr float least_eigenvalue = 0.01F;

/// Structure-texture decomposition: weight of the image, step of the dual in units of it, and
/// iterations.
inline constexpr float texture_theta = 127.5F / 8;
inline constexpr float texture_dual_step = 0.25F;
inline constexpr int texture_iterations = 100;

/// Constancy: zeta^2 of the normalisation, squared grey levels a pixel.
inline constexpr float least_slope_squared = 1;

/// Charbonnier penalties: epsilon of the data term and of flow differences, pixels.
inline constexpr float data_epsilon = 0.1F;
inline constexpr float smoothness_epsilon = 0.005F;

/// Weighted median: samples on either side of a window's centre, and their spacing in pixels.
inline constexpr int window_samples = 3;
inline constexpr int window_spacing = 2;
/// Standard deviations of its weights: distance, pixels; grey-level difference; and for visibility,
/// shrinkage of an area by the flow and grey-level difference to the warped image.
inline constexpr float distance_sigma = 5;
inline constexpr float grey_sigma = 5;
inline constexpr float shrinkage_sigma = 0.3F;
inline constexpr float difference_sigma = 20;
inline constexpr float least_visibility = 1e-3F;
/// Flow difference of neighbours at a motion boundary, and the reach of a boundary, both in pixels.
inline constexpr float boundary_step = 0.25F;
inline constexpr int boundary_reach = 2;
inline constexpr int median_bisections = 8;

constexpr float over_twice_squared(float sigma) { return 0.5F / (sigma * sigma); }

}  // namespace aperture::flow
