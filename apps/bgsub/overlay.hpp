// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/media/picture.hpp"
#include "aperture/rpca/score.hpp"

namespace aperture::apps {

/// The mask as a picture: white where it is not 0, else black.
media::Picture draw_mask(rpca::MaskView mask);
/// The frame with what the mask marks tinted, and outlined. The mask has the frame's size.
media::Picture draw_overlay(const media::Picture& frame, rpca::MaskView mask);

}  // namespace aperture::apps
