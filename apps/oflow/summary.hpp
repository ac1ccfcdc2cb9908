// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "apps/common/report.hpp"
#include "apps/oflow/run.hpp"
#include "apps/oflow/sequence.hpp"

namespace aperture::apps {

/// Names and values of everything that determined the result, for the report.
ResultParameters describe(const OflowOptions& options, const OflowInputs& inputs);
ResultParameters describe(const OflowOptions& options, const SequenceResults& results);

/// The requested ones of `aae` (degrees), `epe`, `rmse` (pixels), `r05`, `r1`, `r2` (percent of the
/// known pixels), `consistent` (percent of all pixels), `iterations` and the last `residual`.
ReportValues accuracy_values(const OflowInputs& inputs, const OflowResults& results);

/// The lines that `oflow` prints: images, device, method, stages, compute, motion, other requested
/// values, result.
std::string summary(const OflowOptions& options, const OflowInputs& inputs,
                    const OflowResults& results, const Report& report);

/// A sequence's values in the report besides the medians of its pairs: `pairs`, `pairs_per_second`
/// (from the first frame to the last file), `warm_starts`, `largest_motion` (pixels).
ReportValues sequence_values(const SequenceResults& results);

/// The lines that `oflow` prints for a sequence.
std::string summary(const OflowOptions& options, const SequenceResults& results,
                    const Report& report);

}  // namespace aperture::apps
