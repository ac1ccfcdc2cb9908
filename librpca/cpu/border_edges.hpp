// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/array.hpp"
#include "librpca/cpu/regions.hpp"

namespace aperture::rpca::cpu {

using ConstPicture = core::View<const float, 3, core::Host>;      ///< [channel][row][column]
using ConstMask = core::View<const std::uint8_t, 2, core::Host>;  ///< not 0 in regions

/// The 8-connected regions of a mask, and which of two pictures has an object there: an object
/// differs from what is around it, and its background does not. Compared are pixels in the region
/// with those outside, three pixels away in eight directions, after means over 3 x 3 pixels.
class BorderEdges {
  public:
    /// Finds regions that in `one` differ from what is around them, in the sum, more than `factor`
    /// times as much as in `other`. Allocates only if the mask has more pixels than those before.
    void find(const ConstMask& mask, const ConstPicture& one, const ConstPicture& other,
              float factor);
    /// Whether pixels are in such regions: not 0. [row][column], dense
    const std::uint8_t* stronger() const { return pixels_.data(); }

  private:
    core::Array<std::uint8_t, 1> pixels_;  ///< 1 in regions, at the end in those found
    core::Array<Run, 1> runs_;
    core::Array<float, 1> of_one_;  ///< sums of differences, at the region's root
    core::Array<float, 1> of_other_;
};

}  // namespace aperture::rpca::cpu
