// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/summary.hpp"

#include <iomanip>
#include <sstream>

namespace aperture::apps {
namespace {

double direct_gflop(const corr::Problem& problem) {
    return 1e-9 * corr::direct_flops(problem.planes, problem.image, problem.lags);
}

std::string planes_from(const CorrOptions& options) {
    return options.parameters.planes ? choice_name(corr::plane_choices, *options.parameters.planes)
                                     : "file";
}

double correlate_ms(const Report& report) {
    for (const core::Stage& stage : report.times.stages) {
        if (stage.name == "correlate") return stage.ms;
    }
    return 0;
}

void describe_method(std::ostringstream& lines, const CorrOptions& options,
                     const corr::Problem& problem,
                     const std::optional<corr::MethodChoice>& choice) {
    const corr::Shape extent = problem.lags.extent();
    lines << "method      "
          << choice_name(corr::method_choices, std::optional<corr::Method>(problem.method));
    if (options.parameters.needs_direct())
        lines << ' ' << choice_name(corr::precision_choices, problem.precision);
    if (choice) {
        lines << std::setprecision(3) << " (expected: direct " << choice->direct_ms << " ms, fft "
              << choice->fft_ms << " ms)";
    }
    lines << ", " << choice_name(corr::estimator_choices, options.parameters.estimator) << "; "
          << problem.planes << " plane" << plural(problem.planes) << " from "
          << planes_from(options) << ", "
          << (options.parameters.normalized() == corr::Normalization::plane ? "" : "not ")
          << "normalized" << (options.masks.empty() ? "" : ", masked") << "; " << extent.rows << 'x'
          << extent.columns << " offsets\n";
}

void describe_compute(std::ostringstream& lines, const corr::Problem& problem, const char* of_what,
                      const Report& report) {
    const double ms = correlate_ms(report);
    lines << "compute     " << std::setprecision(4) << ms << " ms to correlate" << of_what;
    // The work of transforms depends on the library's plans and is not counted.
    if (problem.method == corr::Method::direct) {
        const double gflop = direct_gflop(problem);
        lines << "; " << std::setprecision(3) << gflop << " GFLOP";
        if (ms > 0) lines << ", " << std::setprecision(4) << gflop / ms * 1e3 << " GFLOP/s";
    }
    lines << '\n';
}

void describe_findings(std::ostringstream& lines, const CorrOptions& options,
                       const corr::SurfaceFindings& findings) {
    const auto& lengths = findings.lengths;
    const auto& peak = findings.peak;
    const auto length = [&](const std::optional<double>& pixels) {
        std::ostringstream words;
        if (pixels) {
            words << std::setprecision(4) << *pixels << " pixels";
        } else {
            words << "beyond the offsets";
        }
        return words.str();
    };
    lines << "correlation length" << (options.pair() ? " about the peak" : "") << " in x "
          << length(lengths.x) << ", in y " << length(lengths.y) << '\n';
    lines << "peak        " << (options.pair() ? "strongest" : "strongest off the centre");
    if (peak) {
        lines << std::fixed << std::setprecision(2) << " at dy " << peak->dy << ", dx " << peak->dx
              << std::defaultfloat << std::setprecision(4) << ", value " << peak->value << '\n';
    } else {
        lines << ": none\n";
    }
}

/// Reports the most similar pair of different images.
void describe_pairs(std::ostringstream& lines, const EnsembleResults& results) {
    const auto& [peaks, displacements, pairs] = results.pairs->found;
    lines << "pairs       " << pairs;
    if (pairs > 0) {
        const auto images = static_cast<core::index_t>(results.images.size());
        core::index_t a = 0;
        core::index_t b = 1;
        for (core::index_t i = 0; i < images; ++i) {
            for (core::index_t j = 0; j < images; ++j) {
                if (i != j && peaks(i, j) > peaks(a, b)) {
                    a = i;
                    b = j;
                }
            }
        }
        const auto name = [&](core::index_t i) {
            return results.images[static_cast<std::size_t>(i)];
        };
        lines << std::setprecision(3) << ", " << results.pairs->pairs_per_second()
              << " pairs/s; most similar " << name(a) << " and " << name(b) << std::setprecision(4)
              << ": " << peaks(a, b) << " at dy " << displacements(a, b, 0) << ", dx "
              << displacements(a, b, 1);
    }
    lines << '\n';
}

void describe_result(std::ostringstream& lines, const CorrOptions& options) {
    lines << "result      ";
    const char* separator = "";
    for (const NamedFile& file : output_files(options)) {
        lines << separator << file.path.string();
        separator = ", ";
    }
    lines << '\n';
}

}  // namespace

ResultParameters describe(const CorrOptions& options, const corr::Problem& problem) {
    ResultParameters list{
        {"width", integer(problem.image.columns)},
        {"height", integer(problem.image.rows)},
        {"planes_from", planes_from(options)},
        {"planes", integer(problem.planes)},
        {"normalize", choice_name(corr::normalization_choices, options.parameters.normalized())},
        {"offset_rows", integer(problem.lags.rows)},
        {"offset_columns", integer(problem.lags.columns)},
        {"signed", problem.lags.both_signs},
        {"estimator", choice_name(corr::estimator_choices, options.parameters.estimator)},
        {"method", choice_name(corr::method_choices, std::optional<corr::Method>(problem.method))},
        {"precision", choice_name(corr::precision_choices, problem.precision)},
        {"direct_gflop", direct_gflop(problem)}};
    if (options.parameters.planes == corr::PlaneKind::lab_orientation) {
        list.emplace_back("sigma", options.parameters.orientation_sigma);
    }
    if (options.all_pairs) list.emplace_back("all_pairs", true);
    return list;
}

std::string border_warning(const CorrOptions& options, const corr::Problem& problem,
                           const corr::SurfaceFindings& findings) {
    std::ostringstream words;
    words << options.inputs.front().string() << ", " << options.inputs.back().string()
          << std::setprecision(4) << ": the largest value, " << findings.on_border->value
          << " at dy " << findings.on_border->dy << ", dx " << findings.on_border->dx
          << ", is on the border of the searched displacements, and the true peak may lie "
             "beyond; try larger --offsets"
          << (problem.lags.both_signs ? "" : " or omit --unsigned");
    return words.str();
}

ReportValues finding_values(const corr::SurfaceFindings& findings) {
    const auto& lengths = findings.lengths;
    const auto& peak = findings.peak;
    ReportValues values;
    if (lengths.x) values["correlation_length_x"] = *lengths.x;
    if (lengths.y) values["correlation_length_y"] = *lengths.y;
    if (peak) {
        values["peak_dy"] = peak->dy;
        values["peak_dx"] = peak->dx;
        values["peak_value"] = peak->value;
    }
    return values;
}

ReportValues ensemble_values(const EnsembleResults& results) {
    ReportValues values{{"images", integer(results.images.size())},
                        {"skipped", integer(results.skipped)},
                        {"images_per_second", results.images_per_second()}};
    if (results.pairs) {
        values["pairs"] = integer(results.pairs->found.pairs);
        values["pairs_per_second"] = results.pairs->pairs_per_second();
    }
    return values;
}

std::string summary(const CorrOptions& options, const LoadedImage& first,
                    const corr::Problem& problem, const std::optional<corr::MethodChoice>& choice,
                    const corr::SurfaceFindings& findings, const Report& report) {
    std::ostringstream lines;
    const char* const images = options.pair() ? "images      " : "image       ";
    lines << (options.parameters.planes ? images : "planes      ")
          << options.inputs.front().string();
    if (options.pair()) lines << ", " << options.inputs.back().string();
    lines << ": " << size_text(first.shape()) << " pixels";
    if (options.parameters.planes) {
        lines << ", " << first.image.bits << " bits "
              << (first.image.planes.extent()[0] == 1 ? "grey" : "colour");
    }
    lines << '\n';
    lines << "device      " << report.device.name << '\n';
    describe_method(lines, options, problem, choice);
    lines << report.stage_line();
    describe_compute(lines, problem, "", report);
    describe_findings(lines, options, findings);
    describe_result(lines, options);
    return lines.str();
}

std::string summary(const CorrOptions& options, const EnsembleResults& results,
                    const corr::SurfaceFindings& findings, const Report& report) {
    std::ostringstream lines;
    const std::size_t images = results.images.size();
    lines << "ensemble    " << options.inputs.front().string() << ": " << images << " image"
          << plural(images) << " of " << size_text(results.problem.image) << " pixels";
    if (results.skipped > 0) lines << ", " << results.skipped << " skipped";
    lines << "; " << std::setprecision(3) << results.seconds << " s, "
          << results.images_per_second() << " images/s\n";
    lines << "device      " << report.device.name << '\n';
    describe_method(lines, options, results.problem, results.choice);
    lines << report.stage_line();
    describe_compute(lines, results.problem, " an image", report);
    describe_findings(lines, options, findings);
    if (results.pairs) describe_pairs(lines, results);
    describe_result(lines, options);
    return lines.str();
}

}  // namespace aperture::apps
