// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"

namespace aperture::flow {

/// Constraints on a flow, linearised about the current flow. For the brightness and for both
/// components of its gradient, an increment (du, dv) should make
///
///     c_x du + c_y dv + c_t
///
/// zero. c_x and c_y are derivatives of the mean of both images; c_t is image 1, warped by the
/// current flow, minus image 0. All are divided by sqrt(c_x^2 + c_y^2 + 1). For slopes well above a
/// grey level, the sum is then the distance in pixels from the line of increments that preserve the
/// quantity. Constraints of pixels whose flow leaves the image are zero.
/// Source: Brox et al. 2004, section 2; the normalisation: Zimmer, Bruhn & Weickert 2011,
/// section 2.3.
class Constancy {
  public:
    Constancy() = default;
    explicit Constancy(Shape shape)
        : constraints_(9, shape), mean_(1, shape), difference_(1, shape), slope_(2, shape) {}

    void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
                   const PaddedPlanes& flow);
    /// c_x, c_y, c_t of the brightness, of its x derivative and of its y derivative.
    const PaddedPlanes& constraints() const { return constraints_; }

  private:
    void constrain_row(const PaddedPlanes& flow, index_t y);

    PaddedPlanes constraints_;
    PaddedPlanes mean_;        ///< of image 0 and image 1 warped
    PaddedPlanes difference_;  ///< image 1 warped minus image 0
    PaddedPlanes slope_;       ///< gradient of the mean
};

}  // namespace aperture::flow
