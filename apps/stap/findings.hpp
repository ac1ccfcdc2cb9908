// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "apps/stap/run.hpp"

namespace aperture::apps {

/// What the detector found in one CPI.
struct Findings {
    std::vector<stap::Detection> detections;  ///< strongest first
    std::vector<bool> loaded;  ///< of each detection: its covariance has automatic loading
    stap::MergedDetections merged;
};

/// Empty without a detector.
Findings find_targets(core::Cpu& cpu, const Configuration& setup, double pfa,
                      stap::CubeView<core::Host> cube, ResultArrays& results);

}  // namespace aperture::apps
