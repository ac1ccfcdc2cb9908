// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// Sets a flow near motion boundaries to the weighted median of its surroundings, u and v apart:
/// that of 7 x 7 pixels, every second of 13 x 13. A neighbour counts the more the closer it is, the
/// closer its grey level is, and the better it is seen in image 1, so that each side of a boundary
/// takes its flow from its own side and what is occluded from the surface that it belongs to.
/// Source: Sun, Roth & Black 2010, section 5, equations 10 to 12.
class WeightedMedian {
  public:
    WeightedMedian() = default;
    explicit WeightedMedian(Shape shape) : visibility_(1, shape), boundary_(1, shape) {}

    /// Filters `from` into those pixels of `to` that are near a motion boundary; the others are
    /// left alone. `image0` and `image1_warped`, by about this flow, are grey; the margins of
    /// `from` repeat the ends of its rows.
    void run(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& image1_warped,
             const PaddedPlanes& from, PaddedPlanes& to);

  private:
    /// Zero left and right of the image: what is there has no weight.
    PaddedPlanes visibility_;
    PaddedPlanes boundary_;  ///< 1 where the flow has a step to the right or down, else 0
};

/// In (0, 1]: that the content of a pixel is seen in image 1 where the flow says. Little where the
/// flow converges, where the grey levels differ, and where it leaves the image.
void find_visibility(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& image1_warped,
                     const PaddedPlanes& flow, PaddedPlanes& visibility);
void find_motion_boundaries(core::Cpu& cpu, const PaddedPlanes& flow, PaddedPlanes& boundary);

/// What WeightedMedian::run does between: a result is an element of its window, the least of those
/// that lie above all values with less than half of the weight below them, as far as eight
/// bisections of the window's range tell values apart.
void filter_near_boundaries(core::Cpu& cpu, const PaddedPlanes& image,
                            const PaddedPlanes& visibility, const PaddedPlanes& boundary,
                            const PaddedPlanes& from, PaddedPlanes& to);

}  // namespace aperture::flow
