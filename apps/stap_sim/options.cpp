// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/stap_sim/options.hpp"

#include <limits>

#include "apps/common/command_line.hpp"

namespace aperture::apps {
namespace {

using core::index_t;

constexpr index_t max_count = 1 << 24;
constexpr index_t max_range_cell = 1'000'000'000'000;
// Larger values would lose the noise in the fp32 samples.
constexpr NumberRange decibels{-300, 150};

constexpr stap::CubeShape default_shape{8, 32, 512, stap::Domain::pulse};

constexpr Choices<std::string_view, 3> perfect_choices{
    {{"small", "small"}, {"medium", "medium"}, {"large", "large"}}};

constexpr auto example = R"(Example:
  stap_sim --clutter --channels 8 --pulses 32 --range-cells 512 --cnr 40 --jammer 35:30
           --target 200:0.25:0:0 --target 350:-0.125:20:5 --out scene.h5
writes 40 dB of side-looking clutter, a jammer at 35 degrees and two targets at range cells 200 and
350, with /truth and /true_covariance; stap scene.h5 --detector amf finds them.)";

/// Parses "range:doppler:azimuth:snr": range cell, cycles per pulse (-0.5 to 0.5), degrees, dB.
stap::Target parse_target(std::string_view text) {
    const auto fields = split(text, ':');
    core::expects(fields.size() == 4, "--target ", text, ": expected range:doppler:azimuth:snr");
    return {parse_whole_number("--target range cell", fields[0], 0, max_range_cell),
            parse_number("--target Doppler", fields[1], {-0.5, 0.5}),
            parse_number("--target azimuth", fields[2], azimuth_range),
            parse_number("--target SNR", fields[3], decibels)};
}

/// Parses a value in dB, or "-inf".
double parse_cnr(std::string_view text) {
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return parse_number("--cnr", text, decibels);
}

/// Parses "azimuth:jnr": degrees, dB.
stap::Jammer parse_jammer(std::string_view text) {
    const auto fields = split(text, ':');
    core::expects(fields.size() == 2, "--jammer ", text, ": expected azimuth:jnr");
    return {parse_number("--jammer azimuth", fields[0], azimuth_range),
            parse_number("--jammer JNR", fields[1], decibels)};
}

void add_scene_options(CommandLine& line, const Option& perfect, const Option& clutter,
                       SimulationOptions& options) {
    stap::ClutterScene& scene = options.scene;
    const auto count = [&](const char* flag, index_t& value, const char* text) {
        line.whole_number(flag, "N", value, 1, max_count, text)
            .default_text(core::text(value))
            .excludes(perfect);
    };
    count("--channels", scene.shape.channels, "Elements of the array");
    count("--pulses", scene.shape.pulses, "Pulses");
    count("--range-cells", scene.shape.range_cells, "Range cells");
    const auto number = [&](const char* flag, double& value, const NumberRange& range,
                            const char* text) {
        line.number(flag, "X", value, range, text).default_text(core::text(value)).needs(clutter);
    };
    number("--spacing", scene.spacing_wavelengths, spacing_range, "Element spacing in wavelengths");
    line.parsed("--cnr", "X", scene.cnr_db, parse_cnr,
                "Clutter-to-noise ratio in dB per element and pulse (-inf for none)")
        .default_text(core::text(scene.cnr_db))
        .needs(clutter);
    number("--beta", scene.beta, {-1000, 1000},
           "Slope of the clutter ridge: half element spacings flown per pulse");
    number("--motion", scene.motion_std, {0, 1000},
           "Intrinsic clutter motion: standard deviation of its spectrum, cycles per pulse");
    line.whole_number("--patches", "N", scene.patches, 1, 1 << 20, "Clutter patches per range ring")
        .default_text(core::text(scene.patches))
        .needs(clutter);
    line.whole_number("--seed", "N", scene.seed, 0, std::numeric_limits<std::int64_t>::max(),
                      "Seed of the scene")
        .default_text(core::text(scene.seed))
        .needs(clutter);
    const auto repeatable = [&](const char* flag, const char* form, auto& list, auto parse,
                                const char* text) {
        line.texts(
                flag, form, 1, -1,
                [&list, parse](const std::vector<std::string>& values) {
                    for (const auto& value : values) list.push_back(parse(value));
                },
                text)
            .needs(clutter);
    };
    repeatable("--jammer", "AZIMUTH:JNR", scene.jammers, parse_jammer,
               "Barrage noise at an azimuth (degrees) with a JNR (dB); repeatable");
    repeatable("--target", "RANGE:DOPPLER:AZIMUTH:SNR", scene.targets, parse_target,
               "Range cell, Doppler (cycles per pulse), azimuth (degrees), SNR (dB); repeatable");
}

}  // namespace

NamedFiles input_files(const SimulationOptions&) { return {}; }

NamedFiles output_files(const SimulationOptions& options) { return {{"cube", options.common.out}}; }

std::optional<SimulationOptions> parse_simulation_options(int argc, char** argv) {
    SimulationOptions options;
    options.scene.shape = default_shape;
    CommandLine line("stap_sim", "Writes radar data cubes with known truth", example);
    const Option perfect =
        line.choice("--perfect", perfect_choices, options.perfect,
                    "Shape of the PERFECT suite: small, medium or large; white input "
                    "unless --clutter");
    const Option clutter =
        line.flag("--clutter", options.clutter, "Ward's side-looking clutter and noise");
    add_scene_options(line, perfect, clutter, options);
    line.whole_number("--doppler-bins", "K", options.doppler_bins, 1, 1 << 24,
                      "Doppler bins for stap (attribute doppler_bins)");
    line.whole_number("--training-block", "N_R", options.training_block, 1, 1 << 24,
                      "Range cells per covariance for stap (attribute training_block)");
    line.number("--prf", "HZ", options.prf_hz, prf_range,
                "Pulse repetition frequency in Hz (attribute prf_hz)");
    add_common_options(line, "FILE", " (required)", options.common);
    if (!line.parse(argc, argv)) return std::nullopt;
    core::expects(options.clutter || !options.perfect.empty(),
                  "expected --perfect small|medium|large or --clutter (see stap_sim --help)");
    core::expects(!options.common.out.empty(), "--out is required (see stap_sim --help)");
    return options;
}

}  // namespace aperture::apps
