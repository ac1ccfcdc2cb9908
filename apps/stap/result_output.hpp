// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "aperture/media/picture.hpp"
#include "aperture/media/result_file.hpp"
#include "aperture/stap/detection.hpp"
#include "apps/stap/summary.hpp"

namespace aperture::apps {

/// Writes the output file of `stap` (docs/formats.md) without committing it. With --fftshift,
/// shifts the Doppler bins of `results`.
void write_results(media::ResultFile& file, const StapOptions& options,
                   const media::RadarCube& cube, const Configuration& setup, ResultArrays& results,
                   const FactorisationHealth& health,
                   const std::vector<stap::Detection>& detections);

/// Draws the maps of one steering vector before and after adaptation side by side. Its detections
/// are marked and failures are hatched.
media::Picture draw_maps(core::Cpu& cpu, const Configuration& setup,
                         stap::CubeView<core::Host> cube, const ResultArrays& results,
                         const std::vector<stap::Detection>& detections);

}  // namespace aperture::apps
