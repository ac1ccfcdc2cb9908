// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "aperture/core/array.hpp"
#include "aperture/rpca/score.hpp"
#include "apps/common/console.hpp"

namespace aperture::apps {

/// What the pixels of a frame are: 255 moving, 50 in shadow, 0 still; others are not scored.
using TrueMask = core::Array<std::uint8_t, 2>;

/// Resamples a plane by the nearest pixels.
template <class T>
core::Array<T, 2> nearest_at(const core::View<const T, 2, core::Host>& plane,
                             const core::Extents<2>& extent) {
    core::Array<T, 2> fitted(extent);
    const auto nearest = [](core::index_t i, core::index_t from, core::index_t to) {
        return (2 * i + 1) * to / (2 * from);
    };
    for (core::index_t row = 0; row < extent[0]; ++row) {
        for (core::index_t column = 0; column < extent[1]; ++column) {
            fitted(row, column) = plane(nearest(row, extent[0], plane.extent[0]),
                                        nearest(column, extent[1], plane.extent[1]));
        }
    }
    return fitted;
}

/// Scores a mask; one of another size is resampled.
rpca::Score score(rpca::MaskView mask, const TrueMask& truth);

/// True masks in the layout of changedetection.net: groundtruth/gt000001.png (or .pgm) and so on;
/// ROI.bmp, whose black pixels are not scored; temporalROI.txt, the numbers of the first and the
/// last scored frame.
class CdnetTruth {
  public:
    /// `folder` contains groundtruth/ or is that folder. Throws core::InvalidArgument if it has no
    /// true mask or if temporalROI.txt or ROI.bmp is damaged.
    explicit CdnetTruth(const std::filesystem::path& folder);

    /// The true mask of that number, without what lies outside the region. Returns nothing if there
    /// is none or the frame is not scored. Throws core::InvalidArgument if it has another size than
    /// the frames, unless these are `resized`. A region whose size differs from the true mask's is
    /// ignored, which the console reports once.
    std::optional<TrueMask> mask(core::index_t number, const core::Extents<2>& frames, bool resized,
                                 Console& console);

  private:
    void leave_out_region(TrueMask& truth, Console& console);

    std::filesystem::path masks_;
    std::filesystem::path region_file_;
    TrueMask region_;  ///< empty if there is none
    core::index_t first_ = 0;
    std::optional<core::index_t> last_;
};

}  // namespace aperture::apps
