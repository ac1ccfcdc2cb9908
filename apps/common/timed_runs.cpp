// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/timed_runs.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "aperture/core/error.hpp"

namespace aperture::apps {
namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

RunTimes median_times(const std::vector<RunTimes>& runs) {
    std::vector<std::vector<core::Stage>> stages;
    std::vector<double> compute;
    std::vector<double> transfer;
    for (const RunTimes& run : runs) {
        stages.push_back(run.stages);
        compute.push_back(run.compute_ms);
        transfer.push_back(run.transfer_ms);
    }
    return {core::median_stages(stages), median(compute), median(transfer)};
}

RunTimes repeat_runs(int repeat, Console& console, const std::function<RunTimes()>& once) {
    if (repeat > 0) {
        console.phase("warming up");
        once();
    }
    std::vector<RunTimes> times;
    const int runs = std::max(repeat, 1);
    for (int run = 0; run < runs; ++run) {
        console.phase(runs == 1 ? "computing" : core::text("run ", run + 1, " of ", runs));
        times.push_back(once());
    }
    console.done();
    return median_times(times);
}

std::string stage_line(const core::Report& report) {
    std::ostringstream line;
    line << "stages      " << std::fixed;
    const char* separator = "";
    for (const auto& stage : report.stages) {
        line << separator << stage.name << ' ' << std::setprecision(stage.ms < 10 ? 2 : 0)
             << stage.ms << " ms";
        separator = " | ";
        if (stage.gflop > 0 && stage.ms > 0) {
            const double rate = stage.gflop / stage.ms * 1e3;
            line << ' ' << std::setprecision(rate < 10 ? 1 : 0) << rate << " GFLOP/s";
        }
    }
    line << " | total " << std::setprecision(report.total_ms < 10 ? 2 : 0) << report.total_ms
         << " ms\n";
    return line.str();
}

}  // namespace aperture::apps
