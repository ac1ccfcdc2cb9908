// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/detection.hpp"
#include "apps/stap/options.hpp"

namespace aperture::apps {

/// The targets planted in a cube, and their comparison with the detections.
struct Truth {
    std::vector<stap::Target> targets;  ///< only range cell and Doppler are read
    stap::DetectionScore score;         ///< empty before the detection
};

/// Reads the table /truth of --truth or of the cube's own file. Returns nothing without a detector
/// or if the cube has no table. Throws core::InvalidArgument, starting with the file's name, if the
/// truth does not fit the cube.
std::optional<Truth> read_truth(const StapOptions& options, const media::RadarCube& cube);

}  // namespace aperture::apps
