// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/options.hpp"

#include <sstream>

#include "apps/common/command_line.hpp"

namespace aperture::apps {
namespace {

constexpr int max_count = 1 << 24;
constexpr std::string_view relative_prefix = "rel:";
// A larger loading leaves only the diagonal in an fp32 covariance.
constexpr NumberRange loading_range{0, 1e30};

constexpr Choices<media::Domain, 2> domain_choices{
    {{"pulse", media::Domain::pulse}, {"doppler", media::Domain::doppler}}};

constexpr Choices<int, 3> tap_choices{{{"1", 1}, {"3", 3}, {"5", 5}}};

constexpr auto example = R"(Example:
  stap flight.h5 --azimuth -30:30:13 --detector amf --pfa 1e-6 --plot map.png
reads /cube from flight.h5, adapts in 13 directions, writes flight.stap.h5 with /output, /statistic,
/detections and /targets, and draws the range-Doppler map before and after adaptation.

  stap flight.h5 --truth truth.h5 --detector amf,ace --pfa 1e-8:1e-2:log:25 --scores roc.csv
detects with both detectors at every probability, from one adaptation each, and writes how many of
the true targets they find, with how many false detections, and the results of the best.)";

void add_input_options(CommandLine& line, StapOptions& options) {
    line.text(
            "cube,--cube", "FILE",
            [&options](const std::string& text) {
                const CubeName name = parse_cube_name(text);
                options.cube.path = name.path;
                if (!name.dataset.empty()) options.cube.dataset = name.dataset;
            },
            "HDF5 file, file.h5:/dataset, or NumPy file; may be given without --cube")
        .required();
    line.parsed("--dataset", "PATH", options.cube.dataset, std::identity(),
                "Dataset (default /cube, else the only 3-D complex one)");
    line.parsed("--axes", "A,B,C", options.cube.axes, std::identity(),
                "Order of its axes, slowest first: channel,pulse,range in any order; with several "
                "CPIs also cpi");
    line.choice("--domain", domain_choices, options.cube.domain, "Domain of the second axis");
    const Option spacing =
        line.number("--spacing", "D", options.spacing_wavelengths, spacing_range,
                    "Element spacing in wavelengths (default: attribute, else 0.5)");
    line.file(
            "--positions", "FILE", options.positions,
            "Positions of the elements instead of a uniform line: a line x, y, z for each channel, "
            "in wavelengths to the right, up and towards boresight; z, or y and z, may be left out")
        .excludes(spacing);
    line.number("--prf", "HZ", options.prf_hz, prf_range,
                "Pulse repetition frequency (default: attribute)");
    line.flag("--allow-nan", options.allow_nan, "Process a cube that holds NaN or infinity");
}

void add_adaptation_options(CommandLine& line, StapOptions& options) {
    line.whole_number(
        "--doppler-bins", "K", options.doppler_bins, 1, max_count,
        "Number of bins (default: attribute, else pulses rounded up to a power of two)");
    line.parsed("--taper", "NAME", options.parameters.taper, signal::parse_taper,
                "Window along pulses: none, hann, hamming, chebyshev:dB");
    line.choice("--tdof", tap_choices, options.temporal_taps,
                "Adjacent Doppler bins in a snapshot (default 3)");
    line.whole_number(
        "--training-block", "N_R", options.training_block, 1, max_count,
        "Range cells per covariance (default: attribute, else 64 or twice its order)");
    line.choice("--training", stap::training_choices, options.training,
                "Training cells: disjoint blocks (default), a window around each cell, or all");
    line.whole_number("--guard", "G", options.guard, 0, max_count,
                      "Guard cells on either side of the cell under test");
    line.parsed("--loading", "X|rel:X", options.loading, parse_loading,
                "Diagonal loading: X, or X times trace(R)/n for rel:X (default none)");
    line.parsed(
        "--azimuth", "LIST", options.azimuths,
        [](const std::string& text) { return parse_values("--azimuth", text, azimuth_range); },
        "Directions in degrees from boresight: a,b,c or START:STOP:COUNT (default: /steering of "
        "the file, else 16 over the visible range)");
    line.parsed(
        "--elevation", "LIST", options.elevations,
        [](const std::string& text) { return parse_values("--elevation", text, azimuth_range); },
        "Elevations in degrees, each with all azimuths (default 0)");
    line.choice("--solver", stap::solver_choices, options.parameters.solver,
                "Factorisation (default cholesky)");
    line.choice(
        "--precision", stap::precision_choices, options.parameters.precision,
        "Precision of covariance and solution: fp32, mixed (fp64), or auto (default): fp32, "
        "repeated in fp64 where fp32 is unreliable");
    line.choice("--impl", stap::implementation_choices, options.parameters.implementation,
                "One kernel, a kernel per stage, or cuBLAS (default fused)");
}

void add_result_options(CommandLine& line, StapOptions& options) {
    line.choice("--detector", stap::detector_choices, options.parameters.detector,
                "Write /statistic, /detections and /targets (default none); cfar requires a "
                "--training-block of at "
                "least twice the order, channels x taps");
    line.text(
        "--pfa", "P",
        [&options](const std::string& text) { options.pfa = parse_number("--pfa", text); },
        "False-alarm probability of one cell (default 1e-6)");
    line.file("--truth", "FILE.h5", options.truth,
              "True targets to compare the detections with: table /truth as written by stap_sim "
              "(default: the cube's own). A target is found by a detection at most one range cell "
              "and one Doppler bin away; bins wrap");
    line.parsed("--save", "LIST", options.save, parse_saved_results,
                "Also write: a list of covariance, weights, info, steering");
    line.flag(
        "--fftshift", options.fftshift,
        "Write Doppler bins from the most negative frequency up (default: from 0 up, then the "
        "negative ones)");
}

void add_swept_options(CommandLine& line, StapOptions& options) {
    for (const auto* option : {"--doppler-bins", "--tdof", "--training-block", "--guard"}) {
        line.sweeps({option, SweptValues::whole_numbers});
    }
    for (const auto* option :
         {"--taper", "--training", "--solver", "--precision", "--impl", "--detector"}) {
        line.sweeps({option, SweptValues::words});
    }
    line.sweeps({"--loading", SweptValues::numbers, std::string(relative_prefix)});
    line.sweeps({"--pfa", SweptValues::numbers, "", true});
    add_sweep_options(line, options.sweep);
}

void add_figure_options(CommandLine& line, FigureOptions& figures) {
    constexpr auto form = "FILE.png|pdf|svg";
    constexpr NumberRange any_number{-1e300, 1e300};
    line.file("--plot", form, figures.maps,
              "Range-Doppler maps before and after adaptation; with a detector, the statistic over "
              "its threshold");
    line.file("--plot-angle-doppler", form, figures.angle_doppler,
              "Interference over azimuth and Doppler, by beams and by minimum variance");
    line.file("--plot-pattern", form, figures.pattern, "Adapted pattern over azimuth");
    line.file("--plot-sinr", form, figures.sinr, "SINR loss over Doppler");
    line.number("--plot-azimuth", "DEG", figures.azimuth, azimuth_range,
                "Azimuth of the figures (default: the strongest target's, else nearest to 0)");
    line.number("--plot-doppler", "F", figures.doppler, any_number,
                "Doppler of the pattern, Hz or without a PRF cycles per pulse (default: the "
                "strongest target's, else 0)");
    line.number("--plot-range", "R", figures.range, any_number,
                "Range of interference, pattern and SINR loss, metres or, where their length is "
                "unknown, cells (default: the strongest target's, else the middle)");
}

void check_figures(const CommandLine& line, const FigureOptions& figures) {
    for (const auto& [option, file] : {std::pair{"--plot", figures.maps},
                                       {"--plot-angle-doppler", figures.angle_doppler},
                                       {"--plot-pattern", figures.pattern},
                                       {"--plot-sinr", figures.sinr}}) {
        if (file) expects_figure_name(option, *file);
    }
    line.needs("--plot-azimuth", "a figure (--plot, --plot-pattern, ...)", figures.any());
    line.needs("--plot-doppler", "--plot-pattern or --plot-angle-doppler",
               figures.pattern || figures.angle_doppler);
    line.needs("--plot-range", "--plot-angle-doppler, --plot-pattern or --plot-sinr",
               figures.angle_doppler || figures.pattern || figures.sinr);
}

}  // namespace

stap::DiagonalLoading parse_loading(std::string_view text) {
    stap::DiagonalLoading loading;
    loading.relative = text.starts_with(relative_prefix);
    const auto number = loading.relative ? text.substr(relative_prefix.size()) : text;
    loading.value = parse_number("--loading", number, loading_range);
    return loading;
}

std::string to_string(const stap::DiagonalLoading& loading) {
    std::ostringstream text;
    text << (loading.relative ? relative_prefix : "") << loading.value;
    return text.str();
}

CubeName parse_cube_name(const std::string& text) {
    const auto colon = text.rfind(":/");
    if (colon == std::string::npos || colon == 0 || std::filesystem::exists(text)) {
        return {text, ""};
    }
    return {text.substr(0, colon), text.substr(colon + 1)};
}

SavedResults parse_saved_results(std::string_view text) {
    SavedResults saved;
    for (const auto name : split(text, ',')) {
        bool* const flag = name == "covariance" ? &saved.covariance
                           : name == "weights"  ? &saved.weights
                           : name == "info"     ? &saved.info
                           : name == "steering" ? &saved.steering
                                                : nullptr;
        core::expects(flag != nullptr, "--save ", name,
                      ": expected a list of covariance, weights, info, steering");
        *flag = true;
    }
    return saved;
}

NamedFiles input_files(const StapOptions& options) {
    NamedFiles files{{"cube", options.cube.path}};
    append(files, "positions", options.positions);
    append(files, "truth", options.truth);
    return files;
}

NamedFiles output_files(const StapOptions& options) {
    NamedFiles files{{"result", options.common.out}};
    append(files, "range-Doppler maps", options.figures.maps);
    append(files, "angle-Doppler map", options.figures.angle_doppler);
    append(files, "adapted pattern", options.figures.pattern);
    append(files, "SINR loss", options.figures.sinr);
    append(files, options.sweep);
    return files;
}

namespace {

std::optional<StapOptions> parse_run(int argc, char** argv) {
    StapOptions options;
    CommandLine line("stap", "Space-time adaptive processing of a radar data cube", example);
    add_input_options(line, options);
    add_adaptation_options(line, options);
    add_result_options(line, options);
    add_figure_options(line, options.figures);
    add_swept_options(line, options);
    add_run_options(line, "FILE", " (default: CUBE with .stap.h5 in place of its extension)",
                    options.common);
    if (!line.parse(argc, argv)) return std::nullopt;

    core::expects(options.pfa > 0 && options.pfa < 1, "--pfa ", options.pfa,
                  ": expected a probability between 0 and 1");
    for (const auto* option : {"--pfa", "--truth"}) {
        line.needs(option, "a detector (--detector amf, ace, glrt or cfar)",
                   options.parameters.detector != stap::Detector::none);
    }
    if (options.common.out.empty()) {
        options.common.out = options.cube.path;
        options.common.out.replace_extension(".stap.h5");
    }
    check_figures(line, options.figures);
    settle_sweep(line, options.parameters.detector != stap::Detector::none, "a detector",
                 options.sweep);
    return options;
}

template <class Rename>
void for_each_output(StapOptions& options, const Rename& rename) {
    rename(options.common.out);
    FigureOptions& figures = options.figures;
    for (auto* file : {&figures.maps, &figures.angle_doppler, &figures.pattern, &figures.sinr}) {
        if (*file) rename(**file);
    }
}

}  // namespace

std::optional<StapOptions> parse_stap_options(int argc, char** argv) {
    return parse_runs(argc, argv, parse_run,
                      [](auto& run, const auto& rename) { for_each_output(run, rename); });
}

}  // namespace aperture::apps
