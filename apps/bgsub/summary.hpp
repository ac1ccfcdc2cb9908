// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "apps/bgsub/run.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

/// Names and values of everything that determined the result, including values chosen by default.
/// `solved_frames` is the number of frames solved together: those of a window, or all.
ResultParameters describe(const BgsubOptions& options, const FrameShape& shape,
                          index_t solved_frames);

/// `iterations`, `residual`, `rank` and `density` of robust PCA; `threshold` if it is estimated
/// from the noise; with --truth `f_measure`, `precision`, `recall`, `fpr`, `fnr` and `pwc` by
/// changedetection.net's rules.
ReportValues accuracy_values(const BgsubOptions& options, const BgsubResults& results);

/// `frames`, `windows`, `frames_per_second` (from the first frame to the last file),
/// `scored_frames`; with --until mask also `iterations_to_mask` and `seconds_to_mask`.
ReportValues sequence_values(const BgsubOptions& options, const BgsubResults& results);

/// The lines that `bgsub` prints: frames, device, method, stages, solution, mask, accuracy, result.
std::string summary(const BgsubOptions& options, const BgsubResults& results, const Report& report);

}  // namespace aperture::apps
