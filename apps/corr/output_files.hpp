// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/common/report.hpp"
#include "apps/corr/ensemble.hpp"

namespace aperture::apps {

/// Throws core::InvalidArgument if an output would replace an image, a mask or another output, or
/// cannot be written.
void check_outputs(const CorrOptions& options, const std::vector<std::filesystem::path>& images);

/// What is written about one surface.
struct SurfaceOutput {
    const core::Array<double, 3>* planes;  ///< the surface of each plane; null for an ensemble
    const EnsembleResults* ensemble;       ///< otherwise null
    corr::SurfaceView surface;
    const core::Array<std::int64_t, 2>& counts;
    corr::Lags lags;
    corr::SurfaceFindings findings;
    std::vector<corr::RadialPower> spectra;  ///< with --radial: of each image, or their mean
    ResultParameters parameters;
};

/// Adds the requested HDF5 file, picture and tables to `outputs`.
void write_outputs(const CorrOptions& options, const SurfaceOutput& output, Console& console,
                   media::OutputSet& outputs);

}  // namespace aperture::apps
