// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/detection.hpp"
#include "apps/stap/options.hpp"

namespace aperture::apps {

/// The targets that were planted in a cube, and how they compare with the detections.
struct Truth {
    std::vector<stap::Target> targets;  ///< range cell and Doppler; the rest is not read
    stap::DetectionScore score;         ///< empty before there are detections
};

/// The table /truth of --truth or else of the cube's own file. Nothing without a detector and where
/// the cube has none. Throws core::InvalidArgument, starting with the file's name, for a truth that
/// does not fit the cube.
std::optional<Truth> read_truth(const StapOptions& options, const media::RadarCube& cube);

}  // namespace aperture::apps
