// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/view.hpp"
#include "aperture/signal/colour_map.hpp"

namespace aperture::flow {

// Here a flow is [2][row][column] with any strides, u to the right and v downwards in pixels, and a
// picture is [row][column][red, green, blue] of the flow's size, any strides, too. See accuracy.hpp
// for unknown pixels. All functions throw core::InvalidArgument for an empty flow and for operands
// of different sizes.

/// Colour of a motion on the colour wheel of the Middlebury benchmark (Baker et al. 2011):
/// direction is hue, length is saturation, white at (0, 0) and full at length 1. Longer motions are
/// darkened to 3/4. Both components must be finite.
signal::Colour flow_colour(double u, double v);

/// Length of the longest motion in pixels, over known pixels; 0 if there are none.
double largest_motion(core::View<const float, 3, core::Host> flow);

/// Draws the flow in the colours of the wheel with full saturation at `max_motion` (pixels, >= 0).
/// A common `max_motion` makes the frames of a video comparable. Unknown pixels are black; with a
/// `max_motion` of 0, known pixels at rest are white.
void draw_flow(core::View<const float, 3, core::Host> flow, double max_motion,
               core::View<std::uint8_t, 3, core::Host> picture);

/// Draws the end-point error |flow - truth| of every pixel as a colour of signal::colour_at; errors
/// of `max_error` (pixels, > 0) or more get its bright end, as do pixels with known truth and
/// unknown flow. Black where the truth is unknown.
void draw_error_map(core::View<const float, 3, core::Host> flow,
                    core::View<const float, 3, core::Host> truth, double max_error,
                    core::View<std::uint8_t, 3, core::Host> picture);

}  // namespace aperture::flow
