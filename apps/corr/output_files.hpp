// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/common/result_parameters.hpp"
#include "apps/corr/ensemble.hpp"

namespace aperture::apps {

/// Throws core::InvalidArgument where an output would replace one of the images or masks or another
/// output, or cannot be written where it is to be.
void check_outputs(const CorrOptions& options, const std::vector<std::filesystem::path>& images);

/// What is written about one surface.
struct SurfaceOutput {
    corr::SurfaceView surface;
    const core::Array<double, 2>& counts;
    corr::Lags lags;
    SurfaceFindings findings;
    std::vector<corr::RadialPower> spectra;  ///< with --radial, of each image or their mean
    std::string command_line;
    ResultParameters parameters;
};

/// Add the HDF5 file, the picture and the tables to `outputs`, as far as they were asked for.
void write_outputs(const CorrOptions& options, const SurfaceOutput& output,
                   const core::Array<double, 3>& planes, Console& console,
                   media::OutputSet& outputs);
void write_outputs(const CorrOptions& options, const SurfaceOutput& output,
                   const EnsembleResults& ensemble, Console& console, media::OutputSet& outputs);

}  // namespace aperture::apps
