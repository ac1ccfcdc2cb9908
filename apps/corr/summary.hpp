// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/common/result_parameters.hpp"
#include "apps/corr/ensemble.hpp"

namespace aperture::apps {

/// Everything that decided the result, for the report and the HDF5 file. `image` is the first.
ResultParameters describe(const CorrOptions& options, const corr::Problem& problem);

/// What was found: `correlation_length_x`, `correlation_length_y`, `peak_dy`, `peak_dx` (pixels)
/// and `peak_value`, as far as they are there.
ReportValues finding_values(const SurfaceFindings& findings);

/// What to say where a pair's largest value is on the border.
std::string border_warning(const CorrOptions& options, const SurfaceFindings& findings);

/// Of an ensemble `images`, `skipped` and `images_per_second` from the first image to the last
/// surface; with --all-pairs `pairs` and `pairs_per_second`.
ReportValues ensemble_values(const EnsembleResults& results);

/// The lines that `corr` prints.
std::string summary(const CorrOptions& options, const LoadedImage& first,
                    const corr::Problem& problem, const std::optional<corr::MethodChoice>& choice,
                    const SurfaceFindings& findings, const core::Report& report);
std::string summary(const CorrOptions& options, const EnsembleResults& results,
                    const SurfaceFindings& findings, const core::Report& report);

}  // namespace aperture::apps
