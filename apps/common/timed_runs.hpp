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

/// Times of a run, medians where it was repeated.
struct RunTimes {
    std::vector<core::Stage> stages;
    double compute_ms = 0;   ///< input in the executor's memory to results there
    double transfer_ms = 0;  ///< copies to and from a device
};

/// The median of each time; the runs must be one at least, and have the same stages.
RunTimes median_times(const std::vector<RunTimes>& runs);

/// Calls `once`, which runs everything and returns its times: `repeat` times after a warm-up, or
/// once where it is 0. The console says which run it is.
RunTimes repeat_runs(int repeat, Console& console, const std::function<RunTimes()>& once);

/// "stages      read 1.20 ms | ... | total 12 ms" and a line end; stages that have work to count
/// say their GFLOP/s, too.
std::string stage_line(const core::Report& report);

}  // namespace aperture::apps
