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

/// True masks in the layout of changedetection.net: groundtruth/gt000001.png (or .pgm) and so on,
/// ROI.bmp (frames are scored where it is not black), temporalROI.txt (number of the first frame
/// that is scored and of the last).
class CdnetTruth {
  public:
    /// `folder` holds groundtruth/, or is it. Throws core::InvalidArgument where there is no true
    /// mask, and for a damaged temporalROI.txt or ROI.bmp.
    explicit CdnetTruth(const std::filesystem::path& folder);

    /// How `mask` compares with the true one of that number; nothing where there is none or it is
    /// not to be scored. A mask of another size (`resized`) is read at the nearest pixels; without
    /// leave for that the sizes must agree, or core::InvalidArgument is thrown. A region of another
    /// size than the true mask's is not looked at, of which the console is told once.
    std::optional<rpca::Score> score(core::index_t number, rpca::MaskView mask, bool resized,
                                     Console& console);

  private:
    rpca::MaskView region_for(const core::Array<std::uint8_t, 2>& truth, Console& console);

    std::filesystem::path masks_;
    std::filesystem::path region_file_;
    core::Array<std::uint8_t, 2> region_;  ///< empty where there is none
    core::index_t first_ = 0;
    std::optional<core::index_t> last_;
};

}  // namespace aperture::apps
