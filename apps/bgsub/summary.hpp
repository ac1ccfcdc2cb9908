// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "aperture/media/figure.hpp"
#include "apps/bgsub/run.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

/// Names and values of everything that determined the result, including values chosen by default.
/// `solved_frames` is the number of frames solved together: those of a window, or all.
ResultParameters describe(const BgsubOptions& options, const FrameShape& shape,
                          index_t solved_frames);

/// `frames`, `windows`, with --resume `kept_windows`, `frames_per_second` (from the first frame to
/// the last file; not of a run of a sweep), `moving` (percent of the pixels), `threshold`; of
/// robust PCA `rank`, `iterations`, `residual`, `converged`, `density`; with --until mask
/// `iterations_to_mask`, `seconds_to_mask`.
ReportValues result_values(const BgsubOptions& options, const BgsubResults& results);
/// With --truth `f_measure`, `precision`, `recall`, `fpr`, `fnr` and `pwc` by
/// changedetection.net's rules, `scored_frames`; otherwise empty.
ReportValues accuracy_values(const BgsubResults& results);

/// BgsubResults::shifts over the frames, with gaps where a frame has none.
media::Figure shift_plot(const std::vector<std::optional<std::array<double, 2>>>& shifts);

/// Warns of frames whose masks mean nothing, of frames that could not be read, and of a truth that
/// is of none.
void report_problems(const BgsubOptions& options, const FrameReader& source,
                     const BgsubResults& results, Console& console);

/// The lines that `bgsub` prints: frames, device, method, stages, solution, mask, accuracy, result.
std::string summary(const BgsubOptions& options, const BgsubResults& results, const Report& report);

}  // namespace aperture::apps
