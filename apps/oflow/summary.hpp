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

/// `largest_motion` (pixels) and the requested ones of `consistent` (percent of all pixels),
/// `iterations` and the last `residual`.
ReportValues result_values(const OflowInputs& inputs, const OflowResults& results);
/// `aae` (degrees), `epe`, `rmse` (pixels), `r05`, `r1`, `r2` (percent of the `known` pixels).
ReportValues accuracy_values(const flow::Accuracy& accuracy);

/// The lines that `oflow` prints: images, device, method, stages, compute, motion, other requested
/// values, result.
std::string summary(const OflowOptions& options, const OflowInputs& inputs,
                    const OflowResults& results, const Report& report);

/// `pairs`, `pairs_per_second` (from the first frame to the last file), `warm_starts`,
/// `largest_motion` (pixels), with --consistency `consistent` (percent, on average).
ReportValues result_values(const SequenceResults& results);

/// A flow that is only drawn.
struct GivenFlow {
    flow::Shape shape;
    double largest_motion = 0;               ///< pixels
    std::optional<flow::Accuracy> accuracy;  ///< with a true flow
};
/// The lines that `oflow` prints for it.
std::string summary(const OflowOptions& options, const GivenFlow& given, const Report& report);

/// The lines that `oflow` prints for a sequence.
std::string summary(const OflowOptions& options, const SequenceResults& results,
                    const Report& report);

}  // namespace aperture::apps
