// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"

namespace aperture::rpca::cpu {

using core::index_t;
using ConstPicture = core::View<const float, 3, core::Host>;      ///< [channel][row][column]
using ConstMask = core::View<const std::uint8_t, 2, core::Host>;  ///< not 0 in regions

/// The 8-connected regions of a mask, and which of two pictures has an object there: an object
/// differs from what is around it, and its background does not. Compared are pixels in the region
/// with those outside, three pixels away in eight directions, after means over 3 x 3 pixels.
class BorderEdges {
  public:
    /// Allocates only if the mask has more pixels than those before.
    void find(const ConstMask& mask, const ConstPicture& one, const ConstPicture& other);
    /// Whether a pixel is in a region that in `one` differs from what is around it, in the sum,
    /// more than `factor` times as much as in `other`.
    bool stronger(index_t pixel, float factor) {
        if (parents_(pixel) == outside) return false;
        const std::int32_t root = root_of(static_cast<std::int32_t>(pixel));
        return of_one_(root) > factor * of_other_(root);
    }

  private:
    static constexpr std::int32_t outside = -1;
    std::int32_t root_of(std::int32_t pixel);

    core::Array<std::int32_t, 1> parents_;  ///< of a pixel in a region: one nearer to the root
    core::Array<float, 1> of_one_;          ///< sums of differences, at the root
    core::Array<float, 1> of_other_;
};

}  // namespace aperture::rpca::cpu
