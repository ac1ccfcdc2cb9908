// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "apps/common/table.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr Choices<KeptRuns, 2> kept_choices{{{"best", KeptRuns::best}, {"all", KeptRuns::all}}};
constexpr std::size_t most_curves = 14;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

bool is_hdf5_name(const path& file) {
    return file.extension() == ".h5" || file.extension() == ".hdf5";
}

double number_of(const ReportValue& value) {
    return std::visit(
        [](const auto& v) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>) {
                return static_cast<double>(v);
            } else {
                return unknown;
            }
        },
        value);
}

double number_in(const ReportValues& row, const std::string& name) {
    const auto found = row.find(name);
    return found == row.end() ? unknown : number_of(found->second);
}

}  // namespace

void add_sweep_options(CommandLine& line, SweepOptions& options) {
    line.repeated_file(
        "--scores", "FILE.csv|h5|png|pdf|svg", options.scores,
        "Table or plot of the runs of a sweep; may be repeated (default: the output with "
        ".scores.csv and .scores.png). An option with ,.. sweeps over a list a,b,c and, if it has "
        "numbers, over START:STOP:COUNT or START:STOP:log:COUNT, both ends included; several "
        "options over all combinations");
    line.choice(
        "--keep", kept_choices, options.keep,
        "Write the results of the best run of a sweep, or of all, with their numbers in the "
        "names (default: best where there is a score, else all)");
}

void settle_sweep(const CommandLine& line, bool has_score, const char* score_requires,
                  SweepOptions& options) {
    options.axes = line.axes();
    core::expects(has_score || options.keep != KeptRuns::best, "--keep best requires ",
                  score_requires);
    if (!options.keep && !options.axes.empty()) {
        options.keep = has_score ? KeptRuns::best : KeptRuns::all;
    }
}

void settle_scores(const path& table, const path& plot, SweepOptions& options) {
    if (options.axes.empty()) {
        core::expects(options.scores.empty() && !options.keep, options.keep ? "--keep" : "--scores",
                      " requires a list or a range of values");
        return;
    }
    const bool plots = plotted_axis(options.axes).has_value();
    if (options.scores.empty()) {
        options.scores.push_back(table);
        if (plots && have_figures) options.scores.push_back(plot);
    }
    for (const path& file : options.scores) {
        if (file.extension() == ".csv" || is_hdf5_name(file)) continue;
        core::expects(is_figure_name(file), "--scores ", file.string(),
                      ": expected FILE.csv, FILE.h5, FILE.png, FILE.pdf or FILE.svg");
        expects_figure_name("--scores", file);
        core::expects(plots, "--scores ", file.string(),
                      ": a plot requires an option with several numbers, and at most ", most_curves,
                      " combinations of the others' values");
    }
}

void append(NamedFiles& files, const SweepOptions& options) {
    for (const path& file : options.scores) files.push_back({"scores", file});
}

path name_of_run(const path& file, std::size_t run, std::size_t runs) {
    std::ostringstream extension;
    extension << '.' << std::setfill('0')
              << std::setw(static_cast<int>(std::to_string(runs - 1).size())) << run
              << file.extension().string();
    return path(file).replace_extension(extension.str());
}

std::optional<std::size_t> plotted_axis(const std::vector<SweepAxis>& axes) {
    std::optional<std::size_t> longest;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const std::size_t count = axes[axis].numbers.size();
        if (count > (longest ? axes[*longest].numbers.size() : 0)) longest = axis;
    }
    if (longest && count_runs(axes) / axes[*longest].numbers.size() > most_curves) return {};
    return longest;
}

bool SweepTable::add(const Report& report, double ms) {
    ReportValues row = report.results;
    for (const auto& [name, value] : report.accuracy) row[name] = value;
    row["compute_ms"] = report.times.compute_ms;
    row["total_ms"] = ms;
    const double score = score_ ? number_in(row, score_->name) : unknown;
    const double best_score = best_ ? number_in(rows_[*best_], score_->name) : unknown;
    const bool best = std::isfinite(score) &&
                      (!best_ || (score_->largest ? score > best_score : score < best_score));
    if (best) best_ = rows_.size();
    rows_.push_back(std::move(row));
    return best;
}

void SweepTable::add_failure(const std::string& reason) {
    if (failures_++ == 0) first_failure_ = rows_.size();
    rows_.push_back({{"failure", reason}});
}

std::string SweepTable::failures_text() const {
    return core::text(failures_, " of ", rows_.size(), " runs failed, the first at ",
                      values_text(first_failure_), ": ",
                      std::get<std::string>(rows_[first_failure_].at("failure")));
}

std::string SweepTable::best_text() const {
    std::ostringstream text;
    text << values_text(*best_) << ": " << score_->name << ' ' << std::setprecision(4)
         << number_in(rows_[*best_], score_->name);
    return text.str();
}

std::string SweepTable::values_text(std::size_t run, std::optional<std::size_t> without) const {
    std::ostringstream text;
    text.precision(4);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
        if (axis == without) continue;
        if (text.tellp() > 0) text << ", ";
        const std::size_t value = value_index(axes_, axis, run);
        text << axes_[axis].name() << ' ';
        if (axes_[axis].numbers.empty()) {
            text << axes_[axis].texts[value];
        } else {
            text << axes_[axis].numbers[value];
        }
    }
    return text.str();
}

std::vector<std::string> SweepTable::result_names() const {
    std::set<std::string> others;
    for (const ReportValues& row : rows_) {
        for (const auto& [name, value] : row) others.insert(name);
    }
    for (const SweepAxis& axis : axes_) others.erase(axis.name());
    std::vector<std::string> names;
    const auto move = [&](const std::string& name) {
        if (others.erase(name) > 0) names.push_back(name);
    };
    if (score_) move(score_->name);
    const std::vector<std::string> last{"compute_ms", "total_ms"};
    std::copy_if(others.begin(), others.end(), std::back_inserter(names), [&](const auto& name) {
        return name != "failure" && std::find(last.begin(), last.end(), name) == last.end();
    });
    for (const std::string& name : last) move(name);
    return names;
}

media::Column SweepTable::axis_column(std::size_t axis) const {
    const SweepAxis& of = axes_[axis];
    const auto values = [&](const auto& list, auto column) {
        for (std::size_t run = 0; run < rows_.size(); ++run) {
            column.push_back(static_cast<typename decltype(column)::value_type>(
                list[value_index(axes_, axis, run)]));
        }
        return media::Column{of.name(), std::move(column)};
    };
    if (of.numbers.empty()) return values(of.texts, std::vector<std::string>());
    if (of.option.values == SweptValues::whole_numbers) {
        return values(of.numbers, std::vector<std::int64_t>());
    }
    return values(of.numbers, std::vector<double>());
}

media::Column SweepTable::result_column(const std::string& name) const {
    bool whole = true;
    bool words = false;
    for (const ReportValues& row : rows_) {
        const auto found = row.find(name);
        whole = whole && found != row.end() && !std::holds_alternative<double>(found->second);
        words = words || (found != row.end() && std::holds_alternative<std::string>(found->second));
    }
    const auto values = [&](auto column, const auto& value_of) {
        for (const ReportValues& row : rows_) column.push_back(value_of(row));
        return media::Column{name, std::move(column)};
    };
    if (words) {
        return values(std::vector<std::string>(), [&](const ReportValues& row) {
            const auto found = row.find(name);
            return found == row.end() ? std::string() : std::get<std::string>(found->second);
        });
    }
    const auto number = [&](const ReportValues& row) { return number_in(row, name); };
    if (!whole) return values(std::vector<double>(), number);
    return values(std::vector<std::int64_t>(),
                  [&](const ReportValues& row) { return static_cast<std::int64_t>(number(row)); });
}

std::vector<media::Column> SweepTable::columns() const {
    std::vector<media::Column> columns;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) columns.push_back(axis_column(axis));
    for (const std::string& name : result_names()) columns.push_back(result_column(name));
    std::vector<std::int64_t> marks(rows_.size());
    if (best_) marks[*best_] = 1;
    columns.push_back({"best", std::move(marks)});
    if (failures_ > 0) columns.push_back(result_column("failure"));
    return columns;
}

std::vector<ReportValues> SweepTable::rows() const {
    std::vector<ReportValues> rows = rows_;
    for (std::size_t run = 0; run < rows.size(); ++run) {
        rows[run]["best"] = run == best_;
        for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
            const SweepAxis& of = axes_[axis];
            const std::size_t value = value_index(axes_, axis, run);
            rows[run][of.name()] =
                of.numbers.empty() ? ReportValue(of.texts[value]) : ReportValue(of.numbers[value]);
        }
    }
    return rows;
}

media::CurvePlot SweepTable::plot() const {
    const std::size_t across = *plotted_axis(axes_);
    const SweepAxis& axis = axes_[across];
    const std::string shown = !score_                   ? "compute_ms"
                              : score_->plotted.empty() ? score_->name
                                                        : score_->plotted;
    media::CurvePlot plot;
    if (best_) plot.title = best_text();
    plot.x_label = axis.name();
    plot.y_label = shown;
    plot.logarithmic = false;
    plot.logarithmic_x = axis.logarithmic;
    std::vector<std::size_t> order(axis.numbers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return axis.numbers[a] < axis.numbers[b]; });
    // Runs between neighbours along the axis.
    const std::vector<SweepAxis> later(axes_.begin() + static_cast<std::ptrdiff_t>(across) + 1,
                                       axes_.end());
    const std::size_t stride = std::max<std::size_t>(count_runs(later), 1);
    for (std::size_t first = 0; first < rows_.size(); ++first) {
        if (value_index(axes_, across, first) != 0) continue;
        media::Curve curve{values_text(first, across), {}, {}};
        for (const std::size_t value : order) {
            curve.x.push_back(axis.numbers[value]);
            curve.y.push_back(number_in(rows_[first + value * stride], shown));
        }
        plot.curves.push_back(std::move(curve));
    }
    if (best_) plot.marked_x.push_back(axis.numbers[value_index(axes_, across, *best_)]);
    return plot;
}

namespace {

void add_scores(const SweepOptions& options, const SweepTable& table, const CommonOptions& common,
                const Report& report, media::OutputSet& outputs) {
    for (const path& file : options.scores) {
        if (is_figure_name(file)) {
            outputs.add(media::new_figure(file, media::plot(table.plot())));
        } else if (is_hdf5_name(file)) {
            media::ResultFile result(file);
            result.table("/scores", table.columns());
            write_parameters(result, common, report.inputs, report.parameters);
            outputs.add(result.finish());
        } else {
            outputs.add(media::new_file(file, csv_text(table.columns())));
        }
    }
}

std::string sweep_summary(const SweepOptions& options, const SweepTable& table) {
    std::ostringstream lines;
    lines << "sweep       " << table.runs() << " run" << plural(integer(table.runs())) << " over ";
    const char* separator = "";
    for (const SweepAxis& axis : options.axes) {
        lines << separator << axis.name();
        separator = ", ";
    }
    if (table.best()) lines << "; best at " << table.best_text();
    lines << "\nscores      ";
    separator = "";
    for (const path& file : options.scores) {
        lines << separator << file.string();
        separator = ", ";
    }
    lines << '\n';
    return lines.str();
}

}  // namespace

void commit_sweep(const SweepOptions& options, const SweepTable& table, const CommonOptions& common,
                  Report report, Console& console, media::OutputSet& outputs,
                  const std::string& summary) {
    console.phase("writing " + options.scores.front().string());
    append(report.outputs, options);
    add_scores(options, table, common, report, outputs);
    report.sweep = table.rows();
    console.done();
    commit_outputs(common, report, console, outputs, summary + sweep_summary(options, table));
}

}  // namespace aperture::apps
