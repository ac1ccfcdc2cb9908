// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/media/cube_file.hpp"
#include "aperture/stap/detection.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/words.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/program.hpp"
#include "apps/common/sweep.hpp"

namespace aperture::apps {

/// Parses "X" (absolute) or "rel:X" (times trace(R)/n), X finite and not negative.
stap::DiagonalLoading parse_loading(std::string_view text);
std::string to_string(const stap::DiagonalLoading& loading);

/// The file and, in "file.h5:/path", the dataset. The name of an existing file may contain ":/".
struct CubeName {
    std::filesystem::path path;
    std::string dataset;  ///< empty if not given
};
CubeName parse_cube_name(const std::string& text);

/// Additional results that `--save` asks for.
struct SavedResults {
    bool covariance = false;
    bool weights = false;
    bool info = false;
    bool steering = false;
};
SavedResults parse_saved_results(std::string_view text);

/// Figures, and where they look: by default at the strongest target.
struct FigureOptions {
    std::optional<std::filesystem::path> maps;
    std::optional<std::filesystem::path> angle_doppler;
    std::optional<std::filesystem::path> pattern;
    std::optional<std::filesystem::path> sinr;
    std::optional<double> azimuth;  ///< degrees
    std::optional<double> doppler;  ///< in the unit of the results: Hz or cycles per pulse
    std::optional<double> range;    ///< in the unit of the results: metres or cells

    bool any() const { return maps || angle_doppler || pattern || sinr; }
};

/// The command line of `stap`. Values are optional if the file or its size may determine them.
struct StapOptions {
    RunOptions common;
    media::CubeRequest cube;
    bool allow_nan = false;

    std::optional<int> doppler_bins;
    std::optional<int> training_block;
    std::optional<stap::Training> training;
    std::optional<int> guard;
    std::optional<int> temporal_taps;
    std::optional<stap::DiagonalLoading> loading;
    /// Taper, solver, implementation, precision and detector; the file determines the others.
    stap::Parameters parameters;

    std::optional<std::vector<double>> azimuths;    ///< degrees from boresight
    std::optional<std::vector<double>> elevations;  ///< degrees
    std::optional<double> spacing_wavelengths;
    std::optional<std::filesystem::path> positions;  ///< of the elements; else a uniform line
    std::optional<double> prf_hz;

    double pfa = stap::default_pfa;
    std::optional<std::filesystem::path> truth;

    SavedResults save;
    bool fftshift = false;  ///< write Doppler bins in ascending order
    FigureOptions figures;

    Sweep<StapOptions> sweep;

    /// Whether steering vectors in the cube's file are used: no direction is asked for.
    bool takes_steering_of_file() const { return !azimuths && !elevations && !positions; }
};

NamedFiles input_files(const StapOptions& options);
NamedFiles output_files(const StapOptions& options);

/// Parses the command line; returns nothing after printing what --help or --version asks for.
std::optional<StapOptions> parse_stap_options(int argc, char** argv);

}  // namespace aperture::apps
