// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers that the CPU and the GPU share.

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

/// Constancy: zeta^2 of its normalisation, squared grey levels a pixel.
inline constexpr float least_slope_squared = 1;

/// Charbonnier's penalties: epsilon of the errors and of the steps of the flow, pixels.
inline constexpr float data_epsilon = 0.1F;
inline constexpr float smoothness_epsilon = 0.005F;

/// Weighted median: samples on either side of the middle of a window, and pixels between them.
inline constexpr int window_samples = 3;
inline constexpr int window_spacing = 2;
/// Standard deviations of its weights: pixels apart, grey levels, and of what is seen the shrinkage
/// of an area by the flow and the grey levels that differ.
inline constexpr float distance_sigma = 5;
inline constexpr float grey_sigma = 5;
inline constexpr float shrinkage_sigma = 0.3F;
inline constexpr float difference_sigma = 20;
inline constexpr float least_visibility = 1e-3F;
/// Pixels between neighbours at a motion boundary, and as far as the boundary reaches.
inline constexpr float boundary_step = 0.25F;
inline constexpr int boundary_reach = 2;
inline constexpr int median_bisections = 8;

constexpr float over_twice_squared(float sigma) { return 0.5F / (sigma * sigma); }

}  // namespace aperture::flow
