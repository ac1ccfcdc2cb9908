// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/common/report.hpp"
#include "apps/corr/ensemble.hpp"

namespace aperture::apps {

/// Everything that determined the result, for report and HDF5 file. `image` is the first image.
ResultParameters describe(const CorrOptions& options, const corr::Problem& problem);

/// The results that exist: `correlation_length_x`, `correlation_length_y`, `peak_dy`, `peak_dx`
/// (pixels) and `peak_value`.
ReportValues finding_values(const corr::SurfaceFindings& findings);

/// The warning for a pair whose largest value is on the border.
std::string border_warning(const CorrOptions& options, const corr::Problem& problem,
                           const corr::SurfaceFindings& findings);

/// For an ensemble: `images`, `skipped` and `images_per_second` (from the first image to the last
/// surface); with --all-pairs also `pairs` and `pairs_per_second`.
ReportValues ensemble_values(const EnsembleResults& results);

/// The lines that `corr` prints.
std::string summary(const CorrOptions& options, const LoadedImage& first,
                    const corr::Problem& problem, const std::optional<corr::MethodChoice>& choice,
                    const corr::SurfaceFindings& findings, const Report& report);
std::string summary(const CorrOptions& options, const EnsembleResults& results,
                    const corr::SurfaceFindings& findings, const Report& report);

}  // namespace aperture::apps
