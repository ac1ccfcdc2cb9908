// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/view.hpp"
#include "aperture/media/figure.hpp"

namespace aperture::media {

// Pictures of a flow (aperture/flow/picture.hpp) with their keys to the right. They throw
// core::InvalidArgument as those do, and for more than `largest_figure` rows or columns with the
// key.

/// Width of the key beside a picture of a flow.
inline constexpr int flow_key_columns = 110;

/// The flow in the colours of the wheel (flow::draw_flow) and the wheel, with an arrow of
/// `max_motion` pixels, the motion of full saturation (1 if it is 0).
Figure flow_figure(core::View<const float, 3, core::Host> flow, double max_motion);

/// Arrows over the image, which is darkened and grey: one from the centre of every tile of
/// `spacing` x `spacing` pixels with a centre that is inside the picture and known. Arrows are
/// `scale` (> 0, up to 1e6) times the motion, in the colours of the wheel with full saturation at
/// the flow's largest motion. `image` is [channel][row][column] in 0..255 with 1 or 3 channels, any
/// strides. The key is the wheel, and an arrow of a round motion.
Figure arrow_figure(core::View<const float, 3, core::Host> image,
                    core::View<const float, 3, core::Host> flow, int spacing, double scale = 1);

/// The end-point error (flow::draw_error_map) and its colour bar.
Figure error_figure(core::View<const float, 3, core::Host> flow,
                    core::View<const float, 3, core::Host> truth, double max_error);

}  // namespace aperture::media
