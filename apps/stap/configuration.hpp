// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/media/cube_file.hpp"
#include "aperture/stap/parameters.hpp"
#include "aperture/stap/targets.hpp"
#include "apps/common/report.hpp"
#include "apps/stap/options.hpp"

namespace aperture::apps {

/// The parameters of a run of `stap`, from flags, attributes of the file and defaults.
struct Configuration {
    stap::Problem problem;
    core::Array<stap::cfloat, 2> steering;  ///< [vector][channel * T + tap]
    /// Elements, and the directions of the steering vectors: each elevation with all azimuths.
    /// Directions are empty for vectors from the file.
    stap::DirectionGrid grid;
    std::vector<double> azimuths;    ///< degrees
    std::vector<double> elevations;  ///< degrees; empty unless asked for
    double spacing_wavelengths = 0.5;
    bool spacing_assumed = false;  ///< neither the user nor the file said it
    std::optional<double> prf_hz;
    std::optional<double> range_bin_m;
    double range_start_m = 0;

    bool has_directions() const { return !grid.directions.empty(); }
    /// Doppler in Hz if the PRF is known, else in cycles per pulse.
    double doppler(double cycles_per_pulse) const { return prf_hz.value_or(1) * cycles_per_pulse; }
    const char* doppler_units() const { return prf_hz ? "Hz" : "cycles per pulse"; }
    /// Range in metres if the length of a cell is known, else in cells.
    double range(double cell) const { return range_start_m + range_bin_m.value_or(1) * cell; }
    const char* range_units() const { return range_bin_m ? "m" : "cells"; }
    /// Decimals that show a tenth of a cell.
    int range_decimals() const {
        const double digits = 1 - std::floor(std::log10(range_bin_m.value_or(1)));
        return static_cast<int>(std::clamp(digits, 0.0, 9.0));
    }
};

/// A flag overrides an attribute, which overrides the default. Defaults adapt to the cube (a
/// training block no longer than the cube, loading if the estimate would be singular), which the
/// console reports; requested values never change. Throws core::InvalidArgument, starting with the
/// file's name, if no sensible run remains.
Configuration configure(const StapOptions& options, media::CubeReader& reader, Console& console);

/// Names and values of everything that determined the result, for the report and the output file.
ResultParameters describe(const StapOptions& options, const media::RadarCube& cube,
                          const Configuration& setup);

}  // namespace aperture::apps
