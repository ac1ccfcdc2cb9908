// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/media/picture.hpp"
#include "aperture/rpca/score.hpp"

namespace aperture::apps {

/// Draws the mask: nonzero pixels are white, all others black.
media::Picture draw_mask(rpca::MaskView mask);
/// Tints and outlines the marked pixels of the frame. The mask has the frame's size.
media::Picture draw_overlay(const media::Picture& frame, rpca::MaskView mask);

}  // namespace aperture::apps
