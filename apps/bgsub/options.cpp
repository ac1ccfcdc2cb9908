// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/options.hpp"

#include <cmath>

#include "apps/common/argument_fields.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/image_list.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr long long most_frames = 1'000'000'000;
constexpr double largest_side = 1 << 20;
constexpr double fp32_tolerance = 1e-6;

constexpr auto example = R"(Example:
  bgsub video.avi --frames 0:200 --scale 0.5
takes the first 200 frames at half the size, splits them into a background of low rank and a sparse
foreground, and writes video.background.mp4, video.foreground.mp4 (how far each pixel is from the
background), video.mask.mkv (255 where something moves) and video.overlay.mp4 (the masks over the
frames).

  bgsub video.avi --window 200 --overlap 40
does the same to a video of any length, 200 frames at a time.

  bgsub video.avi --online
does so frame by frame after the first 100, in memory that does not grow.

  bgsub highway --frames 500:600 --truth highway --out-format png --out result/highway
takes frames of a folder in the layout of changedetection.net (input/, groundtruth/, ROI.bmp,
temporalROI.txt) and says how well the masks agree with the true ones.)";

/// Parses "25" or "noise:4".
void parse_threshold(const std::string& text, rpca::MaskParameters& mask) {
    constexpr std::string_view by_noise = "noise:";
    if (text.starts_with(by_noise)) {
        mask.noise_multiple =
            parse_number("--threshold noise:", text.substr(by_noise.size()), {0, 1000, true});
        return;
    }
    mask.threshold = parse_number("--threshold", text, {0, 1000});
}

void add_frame_options(CommandLine& line, BgsubOptions& options) {
    line.files("frames", "FILE", 1, -1, options.inputs,
               "A video; a folder of images, also one with input/ as of changedetection.net; a "
               "quoted pattern; images")
        .required();
    line.text(
        "--frames", "FIRST:LAST[:STEP]",
        [&](const std::string& text) { options.frames = parse_frames(text); },
        "Frames FIRST to LAST - 1, counted from 0, every STEP-th");
    line.text(
        "--scale", "FACTOR|WxH",
        [&](const std::string& text) { options.scale = parse_scale(text); },
        "Work on frames of another size");
    line.choice("--color", frame_colour_choices, options.colour,
                "Work on luma, or on red, green and blue together")
        .default_text("gray");
    line.whole_number("--window", "N", options.window, 2, most_frames,
                      "Solve N frames at a time, in bounded memory (default: all together)");
    line.whole_number("--overlap", "M", options.overlap, 0, most_frames,
                      "Frames that a window has in common with the one before (default 0)");
}

void add_solver_options(CommandLine& line, BgsubOptions& options) {
    rpca::Parameters& p = options.parameters;
    line.choice("--method", background_choices, options.method,
                "Robust PCA, or each pixel's median over the frames")
        .default_text("rpca");
    line.choice("--solver", rpca_solver_choices, p.solver,
                "Inexact augmented Lagrange multipliers; alternating directions; or accelerated "
                "alternating projections, which take less time for a background of a given rank")
        .default_text("ialm");
    line.whole_number("--rank", "R", p.rank, 1, most_frames,
                      "Most that the background may have with accaltproj (default: a tenth of the "
                      "frames, at most 10) and with --online (default 2)");
    line.choice("--svd", svd_choices, p.svd,
                "Where singular values come from: the Gram matrix, or R of a QR decomposition")
        .default_text("gram");
    line.number("--lambda", "X", p.lambda, {0, 1e9, true},
                "Weight of the foreground (default: 1/sqrt(max(pixels, frames)))");
    line.number("--tolerance", "X", p.tolerance, {0, 1, true},
                "Relative residual to stop at (default 1e-5); below 1e-6 with --precision fp64");
    line.choice("--precision", solve_precision_choices, options.precision,
                "Arithmetic of the solver")
        .default_text("fp32");
    line.whole_number("--max-iterations", "N", p.max_iterations, 1, most_frames,
                      "At most so many (default 500)");
    line.choice("--until", until_choices, options.until,
                "Stop at the tolerance, or as soon as the mask no longer changes")
        .default_text("tolerance");
}

void add_online_options(CommandLine& line, BgsubOptions& options) {
    line.flag("--online", options.online,
              "Follow the background frame by frame, in bounded memory, as it was in the first "
              "frames");
    line.whole_number(
        "--burn-in", "N", options.burn_in, 1, most_frames,
        core::text("First frames that --online solves together (default ", options.burn_in, ")"));
    line.number("--memory", "N", options.following.memory, {1, 1e9},
                core::text("Frames after which --online has forgotten most of one (default ",
                           options.following.memory, ")"));
}

void add_mask_options(CommandLine& line, BgsubOptions& options) {
    line.text(
        "--threshold", "T|noise:K",
        [&](const std::string& text) { parse_threshold(text, options.mask); },
        core::text("Something moves where frame and background differ by more, in grey levels "
                   "or in deviations of the noise (default ",
                   options.mask.threshold, ")"));
    line.whole_number("--clean", "N", options.mask.clean, 0, 255,
                      "Side of the window of a median over the mask; 0: none (default 5)");
    line.whole_number("--min-area", "PIXELS", options.mask.min_area, 0, most_frames,
                      "Leave out connected regions of fewer pixels");
    line.file("--truth", "FOLDER", options.truth,
              "True masks to compare with: a folder with groundtruth/gt000001.png and, where "
              "there are, ROI.bmp and temporalROI.txt");
    line.choice("--out-format", out_format_choices, options.format,
                "Videos; folders of pictures; arrays of NumPy; or one HDF5 file")
        .default_text("mp4");
}

bool has_input_folder(const std::vector<path>& inputs) {
    std::error_code error;
    return is_folder(inputs) && std::filesystem::is_directory(inputs.front() / "input", error);
}

void refuse_what_disagrees(const CommandLine& line, const BgsubOptions& options) {
    const auto needs = [&](const char* option, const char* other, bool there) {
        core::expects(!line.given(option) || there, option, " needs ", other);
    };
    const rpca::Parameters& p = options.parameters;
    const bool rpca = options.method == BackgroundMethod::rpca;
    for (const auto* option : {"--solver", "--svd", "--lambda", "--tolerance", "--precision",
                               "--max-iterations", "--until"}) {
        needs(option, "--method rpca", rpca);
    }
    const bool projects = p.solver == rpca::Solver::accaltproj;
    needs("--rank", "--solver accaltproj or --online", projects || options.online);
    needs("--burn-in", "--online", options.online);
    needs("--memory", "--online", options.online);
    needs("--online", "--method rpca", rpca);
    for (const auto* option : {"--window", "--repeat", "--solver", "--svd", "--lambda",
                               "--tolerance", "--precision", "--max-iterations", "--until"}) {
        core::expects(!line.given(option) || !options.online, option,
                      " has no meaning with --online");
    }
    for (const auto* option : {"--svd", "--lambda"}) {
        needs(option, "--solver ialm or admm", !projects);
    }
    needs("--overlap", "--window", options.window > 0);
    core::expects(options.window == 0 || options.overlap < options.window, "--overlap ",
                  options.overlap, ": expected less than the window's ", options.window);
    core::expects(!line.given("--repeat") || options.window == 0,
                  "--repeat has no meaning with --window");
    core::expects(options.precision == SolvePrecision::fp64 || p.tolerance >= fp32_tolerance,
                  "--tolerance ", p.tolerance, " needs --precision fp64: in fp32 the residual ",
                  "stays above some 4e-7");
    core::expects(options.until == RunUntil::tolerance || options.mask.noise_multiple == 0,
                  "--until mask needs a fixed --threshold");
    core::expects(options.mask.clean == 0 || options.mask.clean % 2 == 1, "--clean ",
                  options.mask.clean, ": expected an odd number or 0");
#if !APERTURE_OPENCV
    core::expects(options.format != OutFormat::mp4,
                  "videos need a build with OpenCV; --out-format png, npy and h5 do not");
#endif
}

}  // namespace

FrameScale parse_scale(const std::string& text) {
    FrameScale scale;
    const auto fields = split(text, 'x');
    const auto number = [&](std::string_view field) {
        const double value = parse_number("--scale", field);
        core::expects(value > 0 && value <= largest_side, "--scale ", text,
                      ": expected a factor or WIDTHxHEIGHT");
        return value;
    };
    if (fields.size() == 1) {
        scale.factor = number(fields[0]);
        return scale;
    }
    const auto side = [&](std::string_view field) {
        const double value = number(field);
        core::expects(value == std::floor(value), "--scale ", text, ": expected whole pixels");
        return static_cast<index_t>(value);
    };
    core::expects(fields.size() == 2, "--scale ", text, ": expected a factor or WIDTHxHEIGHT");
    scale.width = side(fields[0]);
    scale.height = side(fields[1]);
    return scale;
}

std::vector<path> BgsubOptions::frame_inputs() const {
    if (has_input_folder(inputs)) return {inputs.front() / "input"};
    return inputs;
}

path BgsubOptions::output(const std::string& suffix) const {
    if (common.out.empty()) return default_output(inputs, suffix);
    std::error_code error;
    if (!common.out.has_filename() || std::filesystem::is_directory(common.out, error)) {
        return common.out / suffix.substr(1);
    }
    return path(common.out) += suffix;
}

std::optional<BgsubOptions> parse_bgsub_options(int argc, char** argv) {
    BgsubOptions options;
    CommandLine line("bgsub", "Background and moving foreground of a video, by robust PCA",
                     example);
    add_frame_options(line, options);
    add_solver_options(line, options);
    add_online_options(line, options);
    add_mask_options(line, options);
    add_common_options(line, "PREFIX",
                       "s begin with this; with a final / they go into a folder (default: the name "
                       "of the video or folder, beside it)",
                       options.common);
    add_run_options(line, options.run);
    if (!line.parse(argc, argv)) return std::nullopt;
    refuse_what_disagrees(line, options);
    if (options.online && line.given("--rank")) options.following.rank = options.parameters.rank;
    if (options.online) rpca::validate(options.following);
    if (options.until == RunUntil::mask) options.parameters.mask_threshold = options.mask.threshold;
    return options;
}

}  // namespace aperture::apps
