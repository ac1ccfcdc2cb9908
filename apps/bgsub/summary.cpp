// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/summary.hpp"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "aperture/media/plot.hpp"

namespace aperture::apps {
namespace {

bool by_rpca(const BgsubOptions& options) { return options.method == BackgroundMethod::rpca; }

double solve_seconds(const BgsubResults& results) {
    const auto& stages = results.times.stages;
    const auto rpca = std::find_if(stages.begin(), stages.end(),
                                   [](const core::Stage& stage) { return stage.name == "rpca"; });
    return rpca == stages.end() ? 0 : rpca->ms / 1e3;
}

void describe_frames(std::ostringstream& line, const BgsubOptions& options,
                     const BgsubResults& results) {
    line << "frames      " << options.inputs.front().string() << ": " << results.frames << " frame"
         << plural(results.frames) << " of " << size_text(results.shape.size()) << " pixels, "
         << (results.shape.channels == 1 ? "grey" : "colour");
    if (options.window > 0) {
        line << ", " << results.windows << " window" << plural(results.windows);
    }
    if (options.resume) {
        line << ", " << results.kept_windows << " of an earlier run kept";
    }
    line << '\n';
}

void describe_motion(std::ostringstream& line, const BgsubResults& results) {
    if (results.stabilised_windows == 0) return;
    line << "camera      shakes by " << std::setprecision(3) << results.shake
         << " pixels (root of the mean square); stabilised\n";
}

void describe_method(std::ostringstream& line, const BgsubOptions& options,
                     const BgsubResults& results) {
    if (!options.method_reason.empty()) {
        line << "choice      " << choice_name(background_choices, options.method) << ": "
             << options.method_reason << '\n';
    }
    const rpca::Parameters& p = options.parameters;
    if (!by_rpca(options)) {
        line << "method      "
             << (options.online()
                     ? core::text("frame by frame, memory of ", options.following.memory,
                                  " frames, ", options.following.patience, " for foreground")
                     : "temporal median")
             << '\n';
        return;
    }
    line << "method      robust PCA, " << choice_name(rpca::solver_choices, p.solver);
    if (p.solver == rpca::Solver::accaltproj) {
        line << ", rank up to " << rpca::rank_of(p, results.solved_frames, results.shape.values());
    } else {
        line << ", lambda " << std::setprecision(3)
             << rpca::lambda_of(p, results.solved_frames, results.shape.values());
    }
    line << ", to a residual of " << p.tolerance
         << (options.until == RunUntil::mask ? " or the final mask, " : ", ")
         << choice_name(solve_precision_choices, options.precision) << '\n';
}

void describe_solution(std::ostringstream& line, const BgsubOptions& options,
                       const BgsubResults& results) {
    const double seconds = solve_seconds(results);
    if (options.online()) {
        line << "solution    " << std::setprecision(3)
             << static_cast<double>(results.frames) / seconds
             << " frames/s without reading, masks and writing\n";
    }
    if (!by_rpca(options) || results.kept_windows == results.windows) return;
    const rpca::Outcome& outcome = results.outcome;
    line << "solution    " << outcome.iterations << " iteration" << plural(outcome.iterations);
    if (seconds > 0) {
        line << ", " << std::setprecision(3) << outcome.iterations / seconds << " per second";
    }
    line << "; residual " << std::setprecision(2) << outcome.residual;
    if (!outcome.converged) line << " (not converged)";
    line << ", rank " << outcome.rank << "; S is nonzero in " << std::setprecision(3)
         << 100 * outcome.density << " % of the values";
    if (outcome.iterations_to_mask > 0) {
        line << "; the mask was final after " << outcome.iterations_to_mask << " iterations, "
             << outcome.seconds_to_mask << " s";
    }
    line << '\n';
}

void describe_accuracy(std::ostringstream& line, const BgsubResults& results) {
    if (!results.score) return;
    const rpca::Score& score = *results.score;
    line << "accuracy    ";
    if (results.scored_frames == 0) {
        line << "no frame has a true mask\n";
        return;
    }
    line << std::setprecision(4) << "F " << score.f_measure() << ", precision " << score.precision()
         << ", recall " << score.recall() << ", FPR " << score.false_positive_rate() << ", FNR "
         << score.false_negative_rate() << ", PWC " << score.percentage_of_wrong() << " % of "
         << results.scored_frames << " frame" << plural(results.scored_frames) << '\n';
}

}  // namespace

media::Figure shift_plot(const std::vector<std::optional<std::array<double, 2>>>& shifts) {
    media::CurvePlot plot;
    plot.title = "motion of the camera";
    plot.x_label = "frame";
    plot.y_label = "shift (pixels)";
    plot.logarithmic = false;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [name, axis] :
         {std::pair<const char*, std::size_t>("down", 0), {"right", 1}}) {
        media::Curve curve{name, std::vector<double>(shifts.size()), {}};
        std::iota(curve.x.begin(), curve.x.end(), 0.0);
        for (const auto& shift : shifts) curve.y.push_back(shift ? shift->at(axis) : none);
        plot.curves.push_back(std::move(curve));
    }
    return media::plot(plot);
}

ResultParameters describe(const BgsubOptions& options, const FrameShape& shape,
                          index_t solved_frames) {
    const rpca::Parameters& p = options.parameters;
    const rpca::MaskParameters& mask = options.mask;
    ResultParameters list{{"first", integer(options.frames.first)},
                          {"step", integer(options.frames.step)},
                          {"width", integer(shape.columns)},
                          {"height", integer(shape.rows)},
                          {"channels", integer(shape.channels)},
                          {"method", choice_name(background_choices, options.method)},
                          {"stabilise", choice_name(rpca::stabilise_choices, options.stabilise)}};
    if (!options.method_reason.empty()) list.emplace_back("chosen_because", options.method_reason);
    if (options.online()) {
        list.insert(list.end(), {{"burn_in", integer(solved_frames)},
                                 {"clip", options.following.clip},
                                 {"memory", options.following.memory},
                                 {"patience", options.following.patience}});
    } else if (by_rpca(options)) {
        list.emplace_back("solver", choice_name(rpca::solver_choices, p.solver));
        if (p.solver == rpca::Solver::accaltproj) {
            list.emplace_back("rank", integer(rpca::rank_of(p, solved_frames, shape.values())));
        } else {
            list.insert(list.end(),
                        {{"svd", choice_name(rpca::svd_choices, p.svd)},
                         {"lambda", rpca::lambda_of(p, solved_frames, shape.values())}});
        }
        list.insert(list.end(),
                    {{"tolerance", p.tolerance},
                     {"max_iterations", integer(p.max_iterations)},
                     {"precision", choice_name(solve_precision_choices, options.precision)},
                     {"until", choice_name(until_choices, options.until)}});
    }
    if (!options.online()) {
        list.insert(list.end(),
                    {{"window", integer(solved_frames)}, {"overlap", integer(options.overlap)}});
    }
    if (mask.noise_multiple > 0) {
        list.emplace_back("noise_multiple", mask.noise_multiple);
    } else if (mask.threshold) {
        list.emplace_back("threshold", *mask.threshold);
    } else {
        list.insert(list.end(), {{"threshold", "pixel"}, {"hysteresis", mask.hysteresis}});
    }
    list.emplace_back("clean", integer(mask.clean));
    list.emplace_back("min_area", integer(mask.min_area));
    list.emplace_back("fill_holes", mask.fill_holes);
    list.emplace_back("remove_shadows", mask.remove_shadows);
    list.emplace_back("remove_light", mask.remove_light);
    return list;
}

ReportValues result_values(const BgsubOptions& options, const BgsubResults& results) {
    ReportValues values{{"frames", integer(results.frames)},
                        {"moving", 100 * results.moving_share}};
    if (results.total_ms > 0) {
        values["frames_per_second"] = 1e3 * static_cast<double>(results.frames) / results.total_ms;
    }
    if (!options.online()) values["windows"] = integer(results.windows);
    if (options.resume) values["kept_windows"] = integer(results.kept_windows);
    if (results.kept_windows == results.windows) return values;
    values["threshold"] = results.threshold;
    if (options.stabilise != rpca::Stabilise::off) {
        values["stabilised_windows"] = integer(results.stabilised_windows);
        values["lost_frames"] = integer(results.lost_frames);
        values["shake"] = results.shake;
    }
    if (by_rpca(options)) {
        values["rank"] = integer(results.outcome.rank);
        values["iterations"] = integer(results.outcome.iterations);
        values["residual"] = results.outcome.residual;
        values["converged"] = results.outcome.converged;
        values["density"] = results.outcome.density;
    }
    if (options.until == RunUntil::mask) {
        values["iterations_to_mask"] = integer(results.outcome.iterations_to_mask);
        values["seconds_to_mask"] = results.outcome.seconds_to_mask;
    }
    return values;
}

ReportValues accuracy_values(const BgsubResults& results) {
    if (!results.score) return {};
    const rpca::Score& score = *results.score;
    return {{"f_measure", score.f_measure()},
            {"precision", score.precision()},
            {"recall", score.recall()},
            {"fpr", score.false_positive_rate()},
            {"fnr", score.false_negative_rate()},
            {"pwc", score.percentage_of_wrong()},
            {"scored_frames", integer(results.scored_frames)}};
}

void report_problems(const BgsubOptions& options, const FrameReader& source,
                     const BgsubResults& results, Console& console) {
    if (results.covered_frames > 0) {
        console.warn(core::text("the masks of ", results.covered_frames, " of ", results.frames,
                                " frames cover more than half of the picture, as after a cut or a "
                                "flash; they mean nothing"));
    }
    if (results.lost_frames > 0) {
        console.warn(core::text(results.lost_frames, " of ", results.frames,
                                " frames cannot be registered with the others; nothing moves in "
                                "their masks"));
    }
    if (const std::string loss = source.loss(); !loss.empty()) {
        console.warn_incomplete(core::text(source.name(), ": ", loss));
    } else if (options.frames.last && results.frames < source.expected()) {
        console.warn_incomplete(core::text(source.name(), ": --frames selects ", source.expected(),
                                           " frames, but ", results.frames, " were read"));
    }
    if (options.truth && results.scored_frames == 0) {
        console.warn_incomplete(
            core::text("--truth ", options.truth->string(), ": no true mask for any frame"));
    }
}

std::string summary(const BgsubOptions& options, const BgsubResults& results,
                    const Report& report) {
    std::ostringstream lines;
    describe_frames(lines, options, results);
    lines << "device      " << report.device.name << '\n';
    describe_motion(lines, results);
    describe_method(lines, options, results);
    lines << report.stage_line();
    describe_solution(lines, options, results);
    lines << "mask        " << std::setprecision(3) << 100 * results.moving_share
          << " % of the pixels move";
    if (results.kept_windows < results.windows) {
        lines << " (threshold " << results.threshold << " grey levels"
              << (options.mask.follows_pixels() ? " on average)" : ")");
    }
    lines << '\n';
    describe_accuracy(lines, results);
    lines << "result      ";
    const char* separator = "";
    for (const NamedFile& file : output_files(options)) {
        lines << separator << file.path.string();
        separator = ", ";
    }
    lines << '\n';
    return lines.str();
}

}  // namespace aperture::apps
