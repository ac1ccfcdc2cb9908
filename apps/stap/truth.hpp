// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/detection.hpp"
#include "apps/common/console.hpp"
#include "apps/stap/options.hpp"

namespace aperture::apps {

/// The targets planted in a cube, and their comparison with the detections.
struct Truth {
    std::vector<stap::Target> targets;  ///< only range cell and Doppler are read
    stap::DetectionScore score;         ///< empty before the detection
};

/// Reads /truth of --truth, or else of the cube's file. Returns nothing without a detector, and if
/// the cube's file has none or one that does not fit; a note on the console says the latter. Throws
/// core::InvalidArgument, starting with the file's name, if that of --truth does not fit the cube.
std::optional<Truth> read_truth(const StapOptions& options, const media::RadarCube& cube,
                                Console& console);

}  // namespace aperture::apps
