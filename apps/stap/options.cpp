// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap/options.hpp"

#include "apps/common/command_line.hpp"
#include "apps/common/output_names.hpp"

namespace aperture::apps {
namespace {

constexpr int max_count = 1 << 24;

constexpr Choices<media::Domain, 2> domain_choices{
    {{"pulse", media::Domain::pulse}, {"doppler", media::Domain::doppler}}};

constexpr Choices<int, 3> tap_choices{{{"1", 1}, {"3", 3}, {"5", 5}}};

constexpr auto example = R"(Example:
  stap --cube flight.h5 --azimuth -30:30:13 --detector amf --pfa 1e-6 --plot map.png
reads /cube from flight.h5, adapts in 13 directions, writes flight.stap.h5 with /output, /statistic
and /detections, and draws the range-Doppler map before and after adaptation.)";

void add_input_options(CommandLine& line, StapOptions& options) {
    line.text(
            "--cube", "FILE",
            [&options](const std::string& text) {
                const CubeName name = parse_cube_name(text);
                options.cube.path = name.path;
                if (!name.dataset.empty()) options.cube.dataset = name.dataset;
            },
            "HDF5 file, or file.h5:/dataset")
        .required();
    line.text(
        "--dataset", "PATH", [&options](const std::string& text) { options.cube.dataset = text; },
        "Dataset (default /cube, else the only 3-D complex one)");
    line.text(
        "--axes", "A,B,C", [&options](const std::string& text) { options.cube.axes = text; },
        "Order of its axes, slowest first: channel,pulse,range in any order");
    line.choice("--domain", domain_choices, options.cube.domain, "Domain of the second axis");
    line.number("--spacing", "D", options.spacing_wavelengths, spacing_range,
                "Element spacing in wavelengths (default: attribute, else 0.5)");
    line.number("--prf", "HZ", options.prf_hz, prf_range,
                "Pulse repetition frequency (default: attribute)");
    line.flag("--allow-nan", options.allow_nan, "Process a cube that holds NaN or infinity");
}

void add_adaptation_options(CommandLine& line, StapOptions& options) {
    line.whole_number(
        "--doppler-bins", "K", options.doppler_bins, 1, max_count,
        "Number of bins (default: attribute, else pulses rounded up to a power of two)");
    line.text(
        "--taper", "NAME",
        [&options](const std::string& text) { options.taper = signal::parse_taper(text); },
        "Window along pulses: none, hann, hamming, chebyshev:dB");
    line.choice("--tdof", tap_choices, options.temporal_taps,
                "Adjacent Doppler bins in a snapshot (default 3)");
    line.whole_number(
        "--training-block", "N_R", options.training_block, 1, max_count,
        "Range cells per covariance (default: attribute, else 64 or twice its order)");
    line.choice("--training", training_choices, options.training,
                "Training cells: disjoint blocks (default), a window around each cell, or all");
    line.whole_number("--guard", "G", options.guard, 0, max_count,
                      "Guard cells on either side of the cell under test");
    line.text(
        "--loading", "X|rel:X",
        [&options](const std::string& text) { options.loading = parse_loading(text); },
        "Diagonal loading: X, or X times trace(R)/n for rel:X (default none)");
    line.text(
        "--azimuth", "LIST",
        [&options](const std::string& text) { options.azimuths = parse_azimuths(text); },
        "Directions in degrees from boresight: a,b,c or start:stop:count (default: /steering of "
        "the file, else 16 over the visible range)");
    line.choice("--solver", solver_choices, options.solver, "Factorisation (default cholesky)");
    line.choice(
        "--precision", precision_choices, options.precision,
        "Precision of covariance and solution: fp32, mixed (fp64), or auto (default): fp32, "
        "repeated in fp64 where fp32 is unreliable");
    line.choice("--impl", implementation_choices, options.implementation,
                "One kernel, a kernel per stage, or cuBLAS (default fused)");
}

void add_result_options(CommandLine& line, StapOptions& options) {
    line.choice(
        "--detector", detector_choices, options.detector,
        "Write /statistic and /detections (default none); cfar requires a --training-block of at "
        "least twice the order, channels x taps");
    line.text(
        "--pfa", "P",
        [&options](const std::string& text) { options.pfa = parse_number("--pfa", text); },
        "False-alarm probability of one cell (default 1e-6)");
    line.file("--truth", "FILE.h5", options.truth,
              "True targets to compare the detections with: table /truth as written by stap_sim "
              "(default: the cube's own). A target is found by a detection at most one range cell "
              "and one Doppler bin away; bins wrap");
    line.text(
        "--save", "LIST",
        [&options](const std::string& text) { options.save = parse_saved_results(text); },
        "Also write: a list of covariance, weights, info, steering");
    line.file("--plot", "FILE.png", options.plot,
              "Picture of the range-Doppler maps before and after adaptation, in dB");
}

}  // namespace

std::vector<std::filesystem::path> outputs_of(const StapOptions& options) {
    std::vector<std::filesystem::path> files{options.common.out};
    if (options.run.report) files.push_back(*options.run.report);
    if (options.plot) files.push_back(*options.plot);
    return files;
}

std::optional<StapOptions> parse_stap_options(int argc, char** argv) {
    StapOptions options;
    CommandLine line("stap", "Space-time adaptive processing of a radar data cube", example);
    add_input_options(line, options);
    add_adaptation_options(line, options);
    add_result_options(line, options);
    add_common_options(line, "FILE", " (default: CUBE with .stap.h5 in place of .h5)",
                       options.common);
    add_run_options(line, options.run);
    if (!line.parse(argc, argv)) return std::nullopt;

    core::expects(options.pfa > 0 && options.pfa < 1, "--pfa ", options.pfa,
                  ": expected a probability between 0 and 1");
    core::expects(!line.given("--pfa") || options.detector != stap::Detector::none,
                  "--pfa requires a detector (--detector amf, ace, glrt or cfar)");
    core::expects(!options.truth || options.detector != stap::Detector::none,
                  "--truth requires a detector (--detector amf, ace, glrt or cfar)");
    if (options.common.out.empty()) {
        options.common.out = options.cube.path;
        options.common.out.replace_extension(".stap.h5");
    }
    if (options.plot) options.plot = picture_name("--plot", *options.plot);
    return options;
}

}  // namespace aperture::apps
