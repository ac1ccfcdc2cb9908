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

/// True masks in the layout of changedetection.net: groundtruth/gt000001.png (or .pgm) and so on;
/// ROI.bmp, whose black pixels are not scored; temporalROI.txt, the numbers of the first and the
/// last scored frame.
class CdnetTruth {
  public:
    /// `folder` contains groundtruth/ or is that folder. Throws core::InvalidArgument if it has no
    /// true mask or if temporalROI.txt or ROI.bmp is damaged.
    explicit CdnetTruth(const std::filesystem::path& folder);

    /// Compares `mask` with the true mask of that number. Returns nothing if there is no true mask
    /// or the frame is not scored. If `resized`, a mask of another size is sampled at the nearest
    /// pixels; otherwise different sizes throw core::InvalidArgument. A region whose size differs
    /// from the true mask's is ignored, which the console reports once.
    std::optional<rpca::Score> score(core::index_t number, rpca::MaskView mask, bool resized,
                                     Console& console);

  private:
    rpca::MaskView region_for(const core::Array<std::uint8_t, 2>& truth, Console& console);

    std::filesystem::path masks_;
    std::filesystem::path region_file_;
    core::Array<std::uint8_t, 2> region_;  ///< empty if there is none
    core::index_t first_ = 0;
    std::optional<core::index_t> last_;
};

}  // namespace aperture::apps
