// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/media/cube_file.hpp"
#include "apps/stap/options.hpp"
#include "apps/stap/truth.hpp"

namespace aperture::apps {

/// Throws core::InvalidArgument, starting with the file's name, for a cube of several CPIs, and
/// without true targets if the best run is to be kept.
void expects_comparable(const StapOptions& options, const media::RadarCube& cube,
                        const std::optional<Truth>& truth);

/// Runs a sweep over a cube that is in memory. Runs that differ in --pfa alone share the adaptation
/// and the search for detections.
template <class Executor>
void run_sweep_of_cube(Executor& executor, core::Cpu& cpu, const StapOptions& options,
                       media::CubeReader& reader, const core::Array<stap::cfloat, 3>& cube,
                       const std::optional<Truth>& truth, double read_ms, Console& console);

}  // namespace aperture::apps
