// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "aperture/stap/simulation.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// The command line of `stap_sim`. Values are optional if --perfect may determine them.
struct SimulationOptions {
    CommonOptions common;
    std::string perfect;
    bool clutter = false;
    stap::ClutterScene scene;
    std::optional<int> doppler_bins;
    std::optional<int> training_block;
    std::optional<double> prf_hz;
};

NamedFiles input_files(const SimulationOptions& options);
NamedFiles output_files(const SimulationOptions& options);

/// Returns nothing after printing what --help or --version asks for. Throws core::InvalidArgument.
std::optional<SimulationOptions> parse_simulation_options(int argc, char** argv);

}  // namespace aperture::apps
