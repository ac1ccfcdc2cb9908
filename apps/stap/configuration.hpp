// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/report.hpp"
#include "aperture/media/cube_file.hpp"
#include "aperture/stap/parameters.hpp"
#include "apps/common/console.hpp"
#include "apps/stap/options.hpp"

namespace aperture::apps {

/// What a run of `stap` does, once flags, attributes of the file and defaults have been weighed.
struct Configuration {
    stap::Problem problem;
    core::Array<stap::cfloat, 2> steering;  ///< [vector][channel * T + tap]
    std::vector<double> azimuths;           ///< degrees, one per vector; empty: the file's vectors
    double spacing_wavelengths = 0.5;
    std::optional<double> prf_hz;
};

/// A flag overrides an attribute, which overrides the default. Defaults yield to what the cube can
/// bear (a training block no longer than the cube, loading where the estimate would be singular),
/// and the console says so; what was asked for is never changed. Throws core::InvalidArgument,
/// starting with the file's name, where no sensible run remains.
Configuration configure(const StapOptions& options, media::CubeReader& reader, Console& console);

/// Name and value of everything that decided the result, for the report and the output file.
std::vector<std::pair<std::string, core::Report::Value>> describe(const StapOptions& options,
                                                                  const media::RadarCube& cube,
                                                                  const Configuration& setup);

}  // namespace aperture::apps
