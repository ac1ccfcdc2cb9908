// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libflow/cpu/padded_planes.hpp"

namespace aperture::flow {

/// Replaces a flow near motion boundaries by the weighted median of its surroundings, u and v
/// separately: 7 x 7 pixels, every second of 13 x 13. A neighbour's weight grows with its
/// proximity, the similarity of its grey level and its visibility in image 1. So each side of a
/// boundary gets the flow of its own side, and occluded pixels that of their own surface.
/// Source: Sun, Roth & Black 2010, section 5, equations 10 to 12.
class WeightedMedian {
  public:
    WeightedMedian() = default;
    explicit WeightedMedian(Shape shape) : visibility_(1, shape), boundary_(1, shape) {}

    /// Filters `from` into those pixels of `to` that are near a motion boundary; the others keep
    /// their values. `image0` and `image1_warped`, by about this flow, are grey; the margins of
    /// `from` must repeat the ends of its rows.
    void run(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& image1_warped,
             const PaddedPlanes& from, FlowView<core::Host> to);

  private:
    /// Zero left and right of the image: pixels there have no weight.
    PaddedPlanes visibility_;
    PaddedPlanes boundary_;  ///< 1 where the flow has a step to the right or down, else 0
};

/// In (0, 1]: the visibility in image 1 of a pixel's content, moved by the flow. It is low where
/// the flow converges, where the grey levels differ, and where the flow leaves the image.
void find_visibility(core::Cpu& cpu, const PaddedPlanes& image0, const PaddedPlanes& image1_warped,
                     const PaddedPlanes& flow, PaddedPlanes& visibility);
void find_motion_boundaries(core::Cpu& cpu, const PaddedPlanes& flow, PaddedPlanes& boundary);

/// The filter of WeightedMedian::run. A result is an element of its window: the least of those
/// above all values with less than half of the weight below them, as far as eight bisections of the
/// window's range separate values.
void filter_near_boundaries(core::Cpu& cpu, const PaddedPlanes& image,
                            const PaddedPlanes& visibility, const PaddedPlanes& boundary,
                            const PaddedPlanes& from, FlowView<core::Host> to);

}  // namespace aperture::flow
