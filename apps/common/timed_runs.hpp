// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aperture/core/report.hpp"
#include "aperture/core/timing.hpp"
#include "apps/common/console.hpp"

namespace aperture::apps {

/// Times of a run; medians if it was repeated.
struct RunTimes {
    std::vector<core::Stage> stages;
    double compute_ms = 0;   ///< from input in the executor's memory to results there
    double transfer_ms = 0;  ///< copies to and from a device
};

/// The median of each time. Requires at least one run and the same stages in all runs.
RunTimes median_times(const std::vector<RunTimes>& runs);

/// Calls `once`, which runs everything and returns its times: `repeat` times after a warm-up, or
/// once if `repeat` is 0. The console shows the number of the run.
RunTimes repeat_runs(int repeat, Console& console, const std::function<RunTimes()>& once);

/// Formats "stages      read 1.20 ms | ... | total 12 ms" with a line end; stages with counted work
/// include their GFLOP/s.
std::string stage_line(const core::Report& report);

}  // namespace aperture::apps
