// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"

namespace aperture::flow {

/// Structure-texture decomposition: subtracts `share` of the structure u from an image f. u
/// minimises its total variation plus |u - f|^2 / (2 theta) (Rudin, Osher & Fatemi 1992), by 100
/// iterations of projected gradients of the dual (Chambolle 2004). The remainder varies little with
/// illumination. Source: Wedel et al. 2009, section 3.3; theta is an eighth of half the grey range.
class TextureFilter {
  public:
    TextureFilter() = default;
    explicit TextureFilter(Shape shape) : dual_(2, shape), structure_(1, shape) {}

    /// In place; the margins of `image` are set.
    void run(core::Cpu& cpu, float share, PaddedPlanes& image);

  private:
    PaddedPlanes dual_;
    PaddedPlanes structure_;
};

}  // namespace aperture::flow
