// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/warped_image.hpp"

namespace aperture::flow {

/// What a flow is to keep, linearised about the flow so far: for the brightness and for both
/// components of its gradient, an increment (du, dv) is to make
///
///     c_x du + c_y dv + c_t
///
/// zero. c_x and c_y are derivatives of the mean of both images, c_t the difference between image 1
/// warped by the flow so far and image 0; all are divided by sqrt(c_x^2 + c_y^2 + 1), so that the
/// sum is the distance in pixels from the line of increments that keep the quantity, wherever the
/// slope is well above a grey level. Pixels whose flow leaves the image say nothing.
/// Source: Brox et al. 2004, section 2; the normalisation: Zimmer, Bruhn & Weickert 2011,
/// section 2.3.
class Constancy {
  public:
    Constancy() = default;
    explicit Constancy(Shape shape)
        : constraints_(9, shape), mean_(1, shape), difference_(1, shape), slope_(2, shape) {}

    void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
                   const PaddedPlanes& flow);
    /// c_x, c_y, c_t of the brightness, of its derivative across and of that down.
    const PaddedPlanes& constraints() const { return constraints_; }

  private:
    void constrain_row(const PaddedPlanes& flow, index_t y);

    PaddedPlanes constraints_;
    PaddedPlanes mean_;        ///< of image 0 and image 1 warped
    PaddedPlanes difference_;  ///< of image 1 warped from image 0
    PaddedPlanes slope_;       ///< gradient of the mean
};

}  // namespace aperture::flow
