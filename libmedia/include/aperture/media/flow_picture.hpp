// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"
#include "aperture/media/picture.hpp"

namespace aperture::media {

// A flow is [2][row][column], u to the right and v downwards in pixels, of any strides; see
// flow_file.hpp for unknown pixels. Every function throws core::InvalidArgument for an empty flow
// and for operands whose sizes differ.

/// Colour of a motion on the colour wheel of the Middlebury benchmark (Baker et al. 2011): the
/// direction gives the hue, the length the saturation, white at (0, 0) and full at length 1. Longer
/// ones are darkened to 3/4. Both must be finite.
Colour flow_colour(double u, double v);

/// Length of the longest motion in pixels, over known pixels; 0 where there is none.
double largest_motion(core::View<const float, 3, core::Host> flow);

/// The flow in the colours of the wheel, a pixel for a pixel, `max_motion` (pixels, 0 or more)
/// being of full saturation. One `max_motion` makes the frames of a video comparable. Unknown
/// pixels are black; with a `max_motion` of 0 known ones at rest are white.
Picture draw_flow(core::View<const float, 3, core::Host> flow, double max_motion);

/// The key to `draw_flow`: the wheel on white, `size` pixels wide and high, its rim of full
/// saturation.
Picture draw_flow_key(int size);

/// Lays the wheel, `size` pixels wide, over the lower right corner of `picture`.
void add_flow_key(Picture& picture, int size);

/// Arrows over the image, darkened and grey: one from the middle of every tile of `spacing` x
/// `spacing` pixels whose middle is in the picture and known, `scale` (above 0, up to 1e6) times as
/// long as the motion there, in the colours of the wheel with the flow's largest motion at full
/// saturation. `image` is [channel][row][column] in 0..255 with 1 or 3 channels, of any strides.
Picture draw_arrows(core::View<const float, 3, core::Host> image,
                    core::View<const float, 3, core::Host> flow, int spacing, double scale = 1);

/// The end-point error |flow - truth| of every pixel as a colour of `colour_at`, `max_error`
/// (pixels, above 0) and more at its bright end; so is a pixel whose truth is known and whose flow
/// is not. Black where the truth is unknown.
Picture draw_error_map(core::View<const float, 3, core::Host> flow,
                       core::View<const float, 3, core::Host> truth, double max_error);

}  // namespace aperture::media
