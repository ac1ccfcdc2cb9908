// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/parameters.hpp"
#include "apps/common/program.hpp"
#include "apps/stap/argument_forms.hpp"

namespace aperture::apps {

/// The command line of `stap`. Values are optional if the file or its size may determine them.
struct StapOptions {
    CommonOptions common;
    RunOptions run;
    media::CubeRequest cube;
    bool allow_nan = false;

    std::optional<int> doppler_bins;
    std::optional<int> training_block;
    std::optional<stap::Training> training;
    std::optional<int> guard;
    std::optional<int> temporal_taps;
    std::optional<stap::DiagonalLoading> loading;
    signal::Taper taper;
    dense::Factorisation solver = dense::Factorisation::cholesky;
    stap::Implementation implementation = stap::Implementation::fused;
    stap::Precision precision = stap::Precision::automatic;

    std::optional<std::vector<double>> azimuths;  ///< degrees from boresight
    std::optional<double> spacing_wavelengths;
    std::optional<double> prf_hz;

    stap::Detector detector = stap::Detector::none;
    double pfa = 1e-6;
    std::optional<std::filesystem::path> truth;

    SavedResults save;
    std::optional<std::filesystem::path> plot;
};

/// The result, the report and the picture.
std::vector<std::filesystem::path> outputs_of(const StapOptions& options);

/// Parses the command line; returns nothing after printing what --help or --version asks for.
std::optional<StapOptions> parse_stap_options(int argc, char** argv);

}  // namespace aperture::apps
