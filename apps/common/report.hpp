// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aperture/core/timing.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/result_file.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

using ReportValue = std::variant<bool, long long, double, std::string>;
/// Names and values of everything that determined a result, in their order.
using ResultParameters = std::vector<std::pair<std::string, ReportValue>>;
/// Results by name.
using ReportValues = std::map<std::string, ReportValue>;

/// A count of any type, as a report value.
template <class Count>
long long integer(Count count) {
    return static_cast<long long>(count);
}

/// Times of a run; medians if it was repeated.
struct RunTimes {
    std::vector<core::Stage> stages;
    double compute_ms = 0;   ///< from input in the executor's memory to results there
    double transfer_ms = 0;  ///< copies to and from a device
};

/// The median of each time. Requires at least one run; throws core::InvalidArgument for runs with
/// different stages.
RunTimes median_times(const std::vector<RunTimes>& runs);

/// Calls `once`, which runs everything and returns its times: once if `repeat` is 0, otherwise
/// `repeat` times after a warm-up. Returns the medians. The console shows the number of the run.
RunTimes repeat_runs(int repeat, Console& console, const std::function<RunTimes()>& once);

/// The output of `--report`: one JSON object (docs/formats.md).
struct Report {
    std::string program;
    std::string device;
    int threads = 0;  ///< 0 on a GPU
    ResultParameters parameters;
    RunTimes times;
    double total_ms = 0;
    ReportValues accuracy;
    ReportValues sequence;              ///< of a series of inputs; omitted if empty
    std::vector<ReportValues> targets;  ///< of a truth; omitted if empty

    /// Appends a stage of the host and adds its time to the total. Adds the time to the stage of
    /// that name if there is one.
    void add_stage(const std::string& name, double ms);
    /// Inserts a stage before the others and adds its time to the total.
    void add_first_stage(const std::string& name, double ms);

    /// The JSON text; version and git commit are the library's. Non-finite numbers and work that
    /// was not counted become null; bytes that are not UTF-8, for example in file names, become
    /// U+FFFD.
    std::string json() const;
    /// Formats "stages      read 1.20 ms | ... | total 12 ms" with a line end; stages with counted
    /// work include their GFLOP/s.
    std::string stage_line() const;
};

/// The report of a run on `executor`. The total is that of its times.
template <class Executor>
Report begin_report(const std::string& program, const Executor& executor, const RunTimes& times,
                    ResultParameters parameters) {
    Report report;
    report.program = program;
    report.device = executor.name();
    if constexpr (!is_gpu<Executor>) report.threads = executor.threads();
    report.parameters = std::move(parameters);
    report.times = times;
    report.total_ms = times.compute_ms + times.transfer_ms;
    return report;
}

/// Ends a run: commits its outputs and, with --report, the report. Prints `summary` unless the
/// program is quiet.
void commit_outputs(const RunOptions& options, const Report& report, media::OutputSet& outputs,
                    const std::string& summary);

/// Writes attributes of the file: `program`, `version`, `git`, `command_line` and every parameter.
void write_parameters(media::ResultFile& file, const std::string& program,
                      const CommonOptions& options, const ResultParameters& parameters);

}  // namespace aperture::apps
