// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/summary.hpp"

#include <iomanip>
#include <sstream>

#include "apps/common/file_names.hpp"
#include "apps/oflow/output_files.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

double percent(core::index_t part, core::index_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

core::index_t pixels(flow::Shape shape) { return shape.rows * shape.columns; }

std::string form_text(ImageForm form) {
    return core::text(form.bits, " bits ", form.channels == 1 ? "grey" : "colour");
}

void describe_images(std::ostringstream& line, const OflowOptions& options,
                     const OflowInputs& inputs) {
    line << "images      " << options.image0().string() << ", " << options.image1().string() << ": "
         << size_text(inputs.shape()) << " pixels, " << form_text(inputs.form0)
         << (inputs.form0 == inputs.form1 ? "" : " and " + form_text(inputs.form1)) << '\n';
}

void describe_compute(std::ostringstream& line, const char* of_what, double ms, flow::Shape shape) {
    line << "compute     " << std::setprecision(4) << ms << " ms" << of_what << ", "
         << std::setprecision(3) << static_cast<double>(pixels(shape)) / ms / 1e3 << " Mpixel/s\n";
}

void describe_method(std::ostringstream& line, const OflowOptions& options, flow::Shape shape) {
    const flow::Parameters& p = options.parameters;
    const auto levels = flow::pyramid_shapes(shape, p).size();
    line << "method      "
         << (p.method == flow::Method::horn_schunck ? "Horn-Schunck" : "Lucas-Kanade")
         << ", preset " << choice_name(flow::preset_choices, options.choice.preset) << ": "
         << levels << " level" << plural(static_cast<long long>(levels)) << ", " << p.warps
         << " warp" << plural(p.warps) << " each, ";
    if (p.method == flow::Method::horn_schunck) {
        line << choice_name(flow::solver_choices, p.solver.solver) << ", " << p.solver.iterations
             << " iteration" << plural(p.solver.iterations) << ", alpha " << p.alpha;
    } else {
        line << "window " << p.window << 'x' << p.window;
    }
    line << '\n';
}

void describe_motion(std::ostringstream& line, const OflowOptions& options,
                     const OflowInputs& inputs, const OflowResults& results) {
    line << "motion      largest " << std::setprecision(4) << results.largest_motion << " pixels";
    if (options.picture) {
        line << "; full saturation at " << options.max_motion.value_or(results.largest_motion);
    }
    if (options.arrows) {
        const ArrowLayout layout = arrow_layout(options, inputs.shape(), results.largest_motion);
        line << "; arrows every " << layout.spacing << " pixels, " << layout.scale
             << " times as long as the motion";
    }
    line << '\n';
}

void describe_accuracy(std::ostringstream& line, const flow::Accuracy& accuracy) {
    line << "accuracy    ";
    if (accuracy.known == 0) {
        line << "the truth is unknown at every pixel\n";
        return;
    }
    line << "AAE " << std::setprecision(3) << accuracy.aae << " degrees, EPE " << accuracy.epe
         << " pixels, RMSE " << accuracy.rmse << " pixels, R0.5 " << 100 * accuracy.r05 << " %, R1 "
         << 100 * accuracy.r1 << " %, R2 " << 100 * accuracy.r2 << " % of " << accuracy.known
         << " known pixels";
    if (accuracy.non_finite > 0) line << ", " << accuracy.non_finite << " without an estimate";
    line << '\n';
}

/// Appends the size and form of the images and the parameters of the estimation.
void append_parameters(ResultParameters& list, const OflowOptions& options, flow::Shape shape,
                       ImageForm form) {
    const flow::Parameters& p = options.parameters;
    list.insert(list.end(),
                {{"width", integer(shape.columns)},
                 {"height", integer(shape.rows)},
                 {"bits", integer(form.bits)},
                 {"channels", integer(form.channels)},
                 {"method", choice_name(flow::method_choices, p.method)},
                 {"preset", choice_name(flow::preset_choices, options.choice.preset)},
                 {"levels", integer(flow::pyramid_shapes(shape, p).size())},
                 {"level_scale", p.scale},
                 {"warps", integer(p.warps)},
                 {"median", integer(p.median)},
                 {"largest_update", p.largest_update},
                 {"interpolation", choice_name(flow::interpolation_choices, p.interpolation)},
                 {"blur", p.blur},
                 {"texture", p.texture}});
    if (p.method == flow::Method::lucas_kanade) {
        list.emplace_back("lk_window", integer(p.window));
        list.emplace_back("regularisation", p.regularisation);
    } else {
        list.emplace_back("alpha", p.alpha);
        list.emplace_back("smooth_increment", p.smooth_increment);
        list.emplace_back("solver", choice_name(flow::solver_choices, p.solver.solver));
        list.emplace_back("iterations", integer(p.solver.iterations));
        list.emplace_back("tolerance", p.solver.tolerance);
        if (p.solver.solver == flow::Solver::redblack) {
            list.emplace_back("omega", p.solver.relaxation);
        }
        const bool avoiding = p.solver.solver == flow::Solver::cacg;
        if (avoiding) {
            list.emplace_back("s_step", integer(p.solver.s_step));
            list.emplace_back("basis", choice_name(flow::basis_choices, p.solver.basis));
        }
        if (avoiding || p.solver.solver == flow::Solver::cg) {
            list.emplace_back("precondition",
                              choice_name(flow::precondition_choices, p.solver.precondition));
        }
        list.emplace_back("boundary", choice_name(flow::boundary_choices, p.boundary));
        list.emplace_back("stencil", integer(p.stencil == flow::Stencil::five ? 5 : 9));
    }
}

}  // namespace

ResultParameters describe(const OflowOptions& options, const OflowInputs& inputs) {
    ResultParameters list;
    append_parameters(list, options, inputs.shape(), inputs.form0);
    return list;
}

ResultParameters describe(const OflowOptions& options, const SequenceResults& results) {
    ResultParameters list{{"first", integer(options.frames.first)},
                          {"step", integer(options.frames.step)}};
    append_parameters(list, options, results.shape, results.form);
    return list;
}

ReportValues result_values(const OflowInputs& inputs, const OflowResults& results) {
    ReportValues values{{"largest_motion", results.largest_motion}};
    if (results.consistent_pixels) {
        values["consistent"] = percent(*results.consistent_pixels, pixels(inputs.shape()));
    }
    if (!results.residuals.empty()) {
        values["iterations"] = integer(results.residuals.size() - 1);
        values["residual"] = results.residuals.back();
    }
    return values;
}

ReportValues accuracy_values(const flow::Accuracy& accuracy) {
    return {{"aae", accuracy.aae},
            {"epe", accuracy.epe},
            {"rmse", accuracy.rmse},
            {"r05", 100 * accuracy.r05},
            {"r1", 100 * accuracy.r1},
            {"r2", 100 * accuracy.r2},
            {"known", integer(accuracy.known)}};
}

std::string summary(const OflowOptions& options, const OflowInputs& inputs,
                    const OflowResults& results, const Report& report) {
    std::ostringstream lines;
    describe_images(lines, options, inputs);
    lines << "device      " << report.device.name << '\n';
    describe_method(lines, options, inputs.shape());
    lines << report.stage_line();
    describe_compute(lines, "", report.times.compute_ms, inputs.shape());
    describe_motion(lines, options, inputs, results);
    if (results.accuracy) describe_accuracy(lines, *results.accuracy);
    if (results.consistent_pixels) {
        lines << "consistent  " << std::setprecision(4)
              << percent(*results.consistent_pixels, pixels(inputs.shape()))
              << " % of the pixels\n";
    }
    if (!results.residuals.empty()) {
        lines << "convergence relative residual " << std::setprecision(3)
              << results.residuals.back() << " after " << results.residuals.size() - 1
              << " iteration" << plural(static_cast<long long>(results.residuals.size()) - 1)
              << '\n';
    }
    lines << "result      " << options.common.out.string();
    if (options.picture) lines << ", " << options.picture->string();
    lines << '\n';
    return lines.str();
}

std::string summary(const OflowOptions& options, const GivenFlow& given, const Report& report) {
    std::ostringstream lines;
    lines << "flow        " << options.inputs.front().string() << ": " << size_text(given.shape)
          << " pixels\n";
    lines << report.stage_line();
    lines << "motion      largest " << std::setprecision(4) << given.largest_motion
          << " pixels; full saturation at " << options.max_motion.value_or(given.largest_motion)
          << '\n';
    if (given.accuracy) describe_accuracy(lines, *given.accuracy);
    lines << "result      " << options.common.out.string() << '\n';
    return lines.str();
}

ReportValues result_values(const SequenceResults& results) {
    ReportValues values{{"pairs", integer(results.pairs())},
                        {"pairs_per_second", results.pairs_per_second()},
                        {"warm_starts", integer(results.warm_starts)},
                        {"largest_motion", results.largest_motion}};
    if (results.consistent) values["consistent"] = *results.consistent;
    return values;
}

std::string summary(const OflowOptions& options, const SequenceResults& results,
                    const Report& report) {
    std::ostringstream lines;
    const path& out = options.common.out;
    lines << "frames      " << options.inputs.front().string() << ": " << results.pairs() + 1
          << " frames, " << size_text(results.shape) << " pixels, " << form_text(results.form)
          << '\n';
    lines << "device      " << report.device.name << '\n';
    describe_method(lines, options, results.shape);
    lines << report.stage_line();
    describe_compute(lines, " a pair", report.times.compute_ms, results.shape);
    lines << "sequence    " << results.pairs() << " pair" << plural(results.pairs()) << " in "
          << std::setprecision(3) << results.seconds << " s, " << results.pairs_per_second()
          << " pairs/s; " << results.warm_starts << " started from the previous flow\n";
    lines << "motion      largest " << std::setprecision(4) << results.largest_motion << " pixels";
    if (options.picture) lines << "; full saturation at " << results.max_motion;
    lines << '\n';
    if (results.consistent) {
        lines << "consistent  " << std::setprecision(4) << *results.consistent
              << " % of the pixels on average\n";
    }
    lines << "result      " << numbered_file(out, results.numbers.front(), ".flo").string();
    if (results.pairs() > 1) {
        lines << " to " << numbered_file(out, results.numbers.back(), ".flo").string();
    }
    if (options.picture) lines << ", and pictures beside them";
    lines << '\n';
    return lines.str();
}

}  // namespace aperture::apps
