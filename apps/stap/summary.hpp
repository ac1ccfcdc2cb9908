// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/core/report.hpp"
#include "aperture/stap/detection.hpp"
#include "apps/stap/run.hpp"

namespace aperture::apps {

/// How well the covariances of a run could be factored.
struct FactorisationHealth {
    long long matrices = 0;
    long long failed = 0;
    double worst_pivot_ratio = 1;  ///< over the matrices that did not fail
    int worst_doppler_bin = 0;     ///< of the first failed matrix, else of the worst pivot ratio
    long long worst_training_set = 0;
};
FactorisationHealth factorisation_health(const ResultArrays<core::Host>& results);

/// The five lines that `stap` prints: cube, device, stages, covariance, results.
std::string summary(const StapOptions& options, const media::RadarCube& cube,
                    const Configuration& setup, const core::Report& report,
                    const FactorisationHealth& health,
                    const std::vector<stap::Detection>& detections);

}  // namespace aperture::apps
