// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/findings.hpp"

#include "aperture/stap/attempts.hpp"

namespace aperture::apps {

Findings find_targets(core::Cpu& cpu, const Configuration& setup, double pfa,
                      stap::CubeView<core::Host> cube, ResultArrays& results) {
    const stap::Problem& problem = setup.problem;
    Findings found;
    if (problem.parameters.detector == stap::Detector::none) return found;
    found.detections =
        stap::find_detections(problem, pfa, results.statistic.view(), setup.grid.row_length);
    const bool automatic = problem.parameters.precision == stap::Precision::automatic;
    for (const stap::Detection& d : found.detections) {
        const core::index_t set = stap::training_set_of(problem, d.range_cell);
        found.loaded.push_back(automatic &&
                               results.attempt(d.doppler_bin, set) >= stap::first_loaded_attempt);
    }
    if (!found.detections.empty()) {
        found.merged = stap::merge_detections(cpu, problem, setup.steering, setup.grid, cube,
                                              results.views(), found.detections);
    }
    return found;
}

}  // namespace aperture::apps
