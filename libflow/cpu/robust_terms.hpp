// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/flow/parameters.hpp"
#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

// Robust penalties by lagged diffusivity: a penalty Psi(s^2) of an error s is replaced by Psi'(s^2)
// s^2 with the weight Psi' of the current flow, so that every step is a linear system. Here Psi is
// Charbonnier's sqrt(s^2 + epsilon^2), and weights are twice its derivative, 1 / sqrt(s^2 +
// epsilon^2). Source: Brox et al. 2004, section 3.

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

    /// Computes the constraints about `flow`, which is copied to `start`.
    void linearise(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& warped1,
                   const PaddedPlanes& flow, PaddedPlanes& start);
    /// Computes weigh_data and weigh_smoothness.
    void weigh(core::Cpu& cpu, const PaddedPlanes& about, const PaddedPlanes& now,
               const PaddedPlanes& image, const Parameters& p, PaddedPlanes& terms,
               PaddedPlanes& coupling) const;
    /// c_x, c_y, c_t of the brightness, of its x derivative and of its y derivative.
    const PaddedPlanes& constraints() const { return constraints_; }

  private:
    void constrain_row(const PaddedPlanes& flow, index_t y);

    PaddedPlanes constraints_;
    PaddedPlanes mean_;        ///< of image 0 and image 1 warped
    PaddedPlanes difference_;  ///< image 1 warped minus image 0
    PaddedPlanes slope_;       ///< gradient of the mean
};

/// Tensors (planes 0 to 2 of `terms`) and right-hand sides (3 and 4) for the whole flow, from
/// Constancy's constraints about the flow `about`. Each is weighted by its error at the flow `now`;
/// both components of the gradient share a weight, and brightness has the factor `brightness`.
/// Epsilon is 0.1 pixel.
void weigh_data(core::Cpu& cpu, const PaddedPlanes& constraints, const PaddedPlanes& about,
                const PaddedPlanes& now, float brightness, PaddedPlanes& terms);

/// Weights between a pixel and its right neighbour (plane 0 of `coupling`) and its lower one (plane
/// 1), from the difference of the flow `now` between them; epsilon is 0.005 pixel. A grey-level
/// step of d multiplies a weight by (1 + d / (2 contrast))^-2, about exp(-d / contrast), because
/// motion changes at image edges (Werlberger et al. 2009); a contrast of zero disables this.
/// Weights across the image border are unspecified.
void weigh_smoothness(core::Cpu& cpu, const PaddedPlanes& image, const PaddedPlanes& now,
                      float contrast, PaddedPlanes& coupling);

}  // namespace aperture::flow
