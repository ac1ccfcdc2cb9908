// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aperture/core/timing.hpp"
#include "aperture/media/atomic_file.hpp"
#include "aperture/media/result_file.hpp"
#include "apps/common/file_names.hpp"
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

    /// Appends a stage of the host, or adds its time to the stage of that name.
    void add_stage(const std::string& name, double ms);
};

/// The median of each time. Requires at least one run; throws core::InvalidArgument for runs with
/// different stages.
RunTimes median_times(const std::vector<RunTimes>& runs);

/// Calls `once`, which runs everything and returns its times: once if `repeat` is 0, otherwise
/// `repeat` times after a warm-up. Returns the medians. The console shows the number of the run.
RunTimes repeat_runs(int repeat, Console& console, const std::function<RunTimes()>& once);

/// The device that computed.
struct ReportDevice {
    std::string name;
    int threads = 0;     ///< 0 on a GPU
    std::string reason;  ///< why an automatic choice was the CPU
};

/// The output of `--report`: one JSON object (docs/formats.md, docs/report.schema.json).
struct Report {
    Invocation invocation;
    ReportDevice device;
    NamedFiles inputs;
    NamedFiles outputs;
    ResultParameters parameters;
    RunTimes times;
    double total_ms = 0;
    ReportValues results;
    ReportValues accuracy;              ///< against a truth; empty without one
    std::vector<ReportValues> targets;  ///< of a truth, part of the accuracy
    /// Of each frame, (dy, dx) in pixels or none; part of the results unless empty.
    std::vector<std::optional<std::array<double, 2>>> shifts;
    std::vector<ReportValues> sweep;  ///< of each run; empty without a sweep

    /// Appends a stage of the host, or adds to the stage of that name, and adds its time to the
    /// total.
    void add_stage(const std::string& name, double ms);
    /// Inserts a stage before the others and adds its time to the total.
    void add_first_stage(const std::string& name, double ms);

    /// The JSON text; version, git commit and the counts of kernels made at run time are the
    /// library's. Non-finite numbers and work that was not counted become null; bytes that are not
    /// UTF-8, for example in file names, become U+FFFD.
    std::string json(const std::vector<std::string>& warnings) const;
    /// Formats "stages      read 1.20 ms | ... | total 12 ms" with a line end; stages with counted
    /// work include their GFLOP/s.
    std::string stage_line() const;
};

/// The report of a run of a program with `options` on `executor`, with its input_files and
/// output_files. The total is that of its times.
template <class Executor, class Options>
Report begin_report(const Executor& executor, const Options& options, const RunTimes& times,
                    ResultParameters parameters) {
    Report report;
    report.invocation = options.common.invocation;
    report.inputs = input_files(options);
    report.outputs = output_files(options);
    report.device.name = executor.name();
    if constexpr (!is_gpu<Executor>) {
        report.device.threads = executor.threads();
        if constexpr (requires { options.common.device; }) {
            const bool automatic = options.common.device == DeviceChoice{};
            if (automatic) report.device.reason = core::gpu_status().reason;
        }
    }
    report.parameters = std::move(parameters);
    report.times = times;
    report.total_ms = times.compute_ms + times.transfer_ms;
    return report;
}

/// Ends a run: commits its outputs and, with --report, the report, which has the console's
/// warnings. Prints `summary` unless the program is quiet, on stderr if the report is on stdout.
void commit_outputs(const CommonOptions& options, const Report& report, const Console& console,
                    media::OutputSet& outputs, const std::string& summary);

/// Writes attributes of the file: `program`, `version`, `git`, `command_line`, `started`, `inputs`
/// and every parameter.
void write_parameters(media::ResultFile& file, const CommonOptions& options,
                      const NamedFiles& inputs, const ResultParameters& parameters);

}  // namespace aperture::apps
