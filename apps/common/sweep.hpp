// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aperture/media/plot.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/report.hpp"
#include "apps/common/sweep_axes.hpp"

/// Runs of a program with several values of its options: what the values do not reach is read and
/// prepared once, and the runs are compared by a score.
namespace aperture::apps {

/// The runs whose results are written.
enum class KeptRuns { best, all };

/// The lists and ranges of a command line, and what to do with the runs.
struct SweepOptions {
    std::vector<SweepAxis> axes;
    std::vector<std::filesystem::path> scores;  ///< tables and plots
    std::optional<KeptRuns> keep;
};

/// Also the options of every run, with one value of every axis.
template <class Options>
struct Sweep : SweepOptions {
    std::vector<Options> runs;  ///< none without axes
};

/// Adds --scores and --keep.
void add_sweep_options(CommandLine& line, SweepOptions& options);
/// Stores the axes of a parsed line, and if `keep` is not given, whether all runs are kept. Throws
/// core::InvalidArgument for --keep best without a score, which requires `score_requires`.
void settle_sweep(const CommandLine& line, bool has_score, const char* score_requires,
                  SweepOptions& options);
/// Checks the names of tables and plots; if there are none, a table and a plot have the given ones.
/// Throws core::InvalidArgument also for --scores and --keep without axes.
void settle_scores(const std::filesystem::path& table, const std::filesystem::path& plot,
                   SweepOptions& options);
void append(NamedFiles& files, const SweepOptions& options);

/// The name of an output of one run: "a.03.flo" for "a.flo" of run 3 of 32.
std::filesystem::path name_of_run(const std::filesystem::path& file, std::size_t run,
                                  std::size_t runs);

/// Parses a command line by `parse`, which calls settle_sweep, and again for every run. With
/// KeptRuns::all, `for_each_output(options, rename)` gives all outputs of a run other names.
template <class Parse, class ForEachOutput>
auto parse_runs(int argc, char** argv, const Parse& parse, const ForEachOutput& for_each_output) {
    auto options = parse(argc, argv);
    if (!options) return options;
    auto& sweep = options->sweep;
    const auto beside_output = [&](const char* suffix) {
        if constexpr (requires { options->output(suffix); }) {
            return options->output(suffix);
        } else {
            return std::filesystem::path(options->common.out).replace_extension(suffix);
        }
    };
    settle_scores(beside_output(".scores.csv"), beside_output(".scores.png"), sweep);
    const std::size_t runs = count_runs(sweep.axes);
    for (std::size_t run = 0; run < runs; ++run) {
        RunArguments arguments(argc, argv, sweep.axes, run);
        sweep.runs.push_back(*parse(arguments.count(), arguments.words()));
        sweep.runs.back().sweep.scores.clear();
        if (sweep.keep != KeptRuns::all) continue;
        for_each_output(sweep.runs.back(),
                        [&](std::filesystem::path& file) { file = name_of_run(file, run, runs); });
    }
    return options;
}

/// Throws core::InvalidArgument before the computation if the outputs of a run cannot be written.
template <class Options>
void check_run_outputs(const Options& run) {
    check_output_files(input_files(run), output_files(run), run.common);
}

/// The result that is the largest or the smallest of the best run.
struct SweepScore {
    std::string name;
    bool largest = false;
    std::string plotted{};  ///< the result that plots show; default: the score
};

/// Values, results and times of the runs so far.
class SweepTable {
  public:
    /// Without a score no run is the best.
    SweepTable(std::vector<SweepAxis> axes, std::optional<SweepScore> score)
        : axes_(std::move(axes)), score_(std::move(score)) {}

    /// Adds the next run, which took `ms`. Returns whether it is the best so far; of equal ones the
    /// first is.
    bool add(const Report& report, double ms);
    /// Adds the next run, which failed for `reason`.
    void add_failure(const std::string& reason);

    const std::optional<std::size_t>& best() const { return best_; }
    std::size_t runs() const { return rows_.size(); }
    std::size_t failures() const { return failures_; }
    /// "3 of 32 runs failed, the first at alpha 2, warps 3: REASON"
    std::string failures_text() const;
    /// "alpha 2, warps 3: epe 0.163"
    std::string best_text() const;

    /// A row for each run: the values of the axes, the score, all other results, `compute_ms`,
    /// `total_ms`, `best` (0 or 1) and, if any run failed, `failure`. Numbers that a run lacks are
    /// NaN.
    std::vector<media::Column> columns() const;
    /// The same, without what a run lacks.
    std::vector<ReportValues> rows() const;
    /// What the score says, or without one `compute_ms`, over the plotted axis, in a curve for each
    /// combination of the other axes' values.
    media::CurvePlot plot() const;

  private:
    std::string values_text(std::size_t run, std::optional<std::size_t> without = {}) const;
    std::vector<std::string> result_names() const;
    media::Column axis_column(std::size_t axis) const;
    media::Column result_column(const std::string& name) const;

    std::vector<SweepAxis> axes_;
    std::optional<SweepScore> score_;
    std::vector<ReportValues> rows_;  ///< without the axes
    std::optional<std::size_t> best_;
    std::size_t failures_ = 0;
    std::size_t first_failure_ = 0;
};

/// The axis of numbers with the most values; nothing if there is none, or if too many curves would
/// be over it.
std::optional<std::size_t> plotted_axis(const std::vector<SweepAxis>& axes);

/// Ends a sweep: writes its tables, plots and report, and prints the summary.
void commit_sweep(const SweepOptions& options, const SweepTable& table, const CommonOptions& common,
                  Report report, Console& console, media::OutputSet& outputs,
                  const std::string& summary);

/// Runs a sweep and writes tables, plots, the results of the runs to keep, and the report of the
/// best run, or without a score of the first, with a row for each run.
///
/// `compute(options, anew)` returns a pair of the results and the Report of a run, which is not
/// `anew` if only values of scores differ from the run before. If it throws, the run has failed,
/// which the table says; but core::UnfitDevice is passed on if the device was an automatic choice.
/// `write(options, results, outputs)` adds the files of a run, and `finish(options, results,
/// report)` completes the report of the whole and returns the lines that the program prints.
/// `read_ms` is the time before. Throws core::InvalidArgument if all runs failed.
template <class Options, class Compute, class Write, class Finish>
void run_sweep(const Options& options, const std::optional<SweepScore>& score, double read_ms,
               Console& console, const Compute& compute, const Write& write, const Finish& finish) {
    using Computed = std::optional<decltype(compute(options, true))>;
    const Sweep<Options>& sweep = options.sweep;
    if (sweep.keep == KeptRuns::all) {
        for (const Options& run : sweep.runs) check_run_outputs(run);
    }
    const bool automatic = options.common.device.kind == DeviceKind::automatic;
    const std::size_t scored_together = runs_scored_together(sweep.axes);
    SweepTable table(sweep.axes, score);
    const Options* kept_run = nullptr;
    Computed kept;
    NamedFiles files;
    const core::Stopwatch all;
    console.phase("computing");
    for (const Options& run : sweep.runs) {
        Computed computed;
        const core::Stopwatch watch;
        try {
            computed.emplace(compute(run, table.runs() % scored_together == 0));
        } catch (const std::exception& error) {
            if (automatic && dynamic_cast<const core::UnfitDevice*>(&error) != nullptr) throw;
            table.add_failure(error.what());
        }
        if (computed) {
            const bool best = table.add(computed->second, watch.ms());
            if (sweep.keep == KeptRuns::all) {
                media::OutputSet outputs;
                write(run, computed->first, outputs);
                outputs.commit();
                for (const NamedFile& file : output_files(run)) files.push_back(file);
            }
            if (best || kept_run == nullptr) {
                kept = std::move(computed);
                kept_run = &run;
            }
        }
        console.progress(
            progress_text("run", integer(table.runs()), integer(sweep.runs.size()), all.seconds()));
    }
    console.done();
    if (kept_run == nullptr) throw core::InvalidArgument(table.failures_text());
    if (table.failures() > 0) console.warn_incomplete(table.failures_text());

    auto& [results, report] = *kept;
    media::OutputSet outputs;
    if (sweep.keep == KeptRuns::best) {
        write(*kept_run, results, outputs);
        files = output_files(*kept_run);
    }
    report.add_first_stage("read", read_ms);
    report.total_ms = read_ms + all.ms();
    report.outputs = files;
    const std::string summary = finish(*kept_run, results, report);
    commit_sweep(sweep, table, options.common, std::move(report), console, outputs, summary);
}

}  // namespace aperture::apps
