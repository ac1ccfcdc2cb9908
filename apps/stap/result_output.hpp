// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aperture/media/result_file.hpp"
#include "aperture/stap/detection.hpp"
#include "apps/stap/run.hpp"

namespace aperture::apps {

/// Fills the output file of `stap` (docs/formats.md) without committing it.
void write_results(media::ResultFile& file, const StapOptions& options,
                   const media::RadarCube& cube, const Configuration& setup,
                   const ResultArrays<core::Host>& results,
                   const std::vector<stap::Detection>& detections, const std::string& command_line);

/// Draws the maps of one steering vector before and after adaptation side by side, with the
/// detections of that vector marked; returns where the picture was put.
std::filesystem::path draw_maps(core::Cpu& cpu, const std::filesystem::path& target,
                                const Configuration& setup, stap::CubeView<core::Host> cube,
                                const ResultArrays<core::Host>& results,
                                const std::vector<stap::Detection>& detections);

}  // namespace aperture::apps
