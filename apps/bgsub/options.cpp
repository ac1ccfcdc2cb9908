// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "apps/common/argument_fields.hpp"
#include "apps/common/command_line.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr long long most_frames = 1'000'000'000;
constexpr double largest_side = 1 << 20;

constexpr auto example = R"(Example:
  bgsub video.avi --frames 0:200 --scale 0.5
splits the first 200 frames, at half size, into a low-rank background and a sparse foreground, and
writes video.mask.mkv (255 where something moves) and video.overlay.mp4 (the masks over the frames).

  bgsub video.avi --save background,foreground --out-format npy
writes the background and how far each pixel is from it, as arrays of NumPy.

  bgsub video.avi --window 200 --overlap 40
does the same to a video of any length by robust PCA, 200 frames at a time.

  bgsub video.avi --method online
does the same frame by frame, in constant memory.

  bgsub highway --frames 500:600 --truth highway --lambda 1e-3:1e-1:log:16
splits them with sixteen weights of the foreground, writes the masks of the best and the scores and
times of all as highway.scores.csv, and plots the scores in highway.scores.png.

  bgsub highway --frames 500:600 --truth highway --out-format png --out result/highway
reads frames from a folder in the layout of changedetection.net (input/, groundtruth/, ROI.bmp,
temporalROI.txt) and scores the masks against the true ones.)";

/// The threshold by which --until mask judges whether masks change, where pixels have their own.
constexpr double usual_threshold = 17;

constexpr std::string_view by_noise = "noise:";

/// Parses "pixel", "25" or "noise:4".
void parse_threshold(const std::string& text, rpca::MaskParameters& mask) {
    mask.threshold.reset();
    mask.noise_multiple = 0;
    if (text == "pixel") return;
    if (text.starts_with(by_noise)) {
        mask.noise_multiple =
            parse_number("--threshold noise:", text.substr(by_noise.size()), {0, 1000, true});
        return;
    }
    mask.threshold = parse_number("--threshold", text, {0, 1000});
}

void add_frame_options(CommandLine& line, BgsubOptions& options) {
    // Not "frames": CLI11 2.4 refuses a positional argument with the name of an option.
    line.files("input", "FILE", 1, -1, options.inputs,
               "A video, a folder of images (or of changedetection.net, with input/), a quoted "
               "pattern, or images")
        .required();
    line.parsed("--frames", "FIRST:LAST[:STEP]", options.frames, parse_frames,
                "Every STEP-th frame from FIRST to LAST - 1, counted from 0");
    line.parsed("--scale", "FACTOR|WxH", options.scale, parse_scale, "Resize the frames first");
    line.choice("--color", frame_colour_choices, options.colour,
                "Process luma, or red, green and blue together")
        .default_text("grey");
    line.whole_number("--window", "N", options.window, 2, most_frames,
                      "Solve N frames at a time, in bounded memory (default: all together)");
    line.whole_number("--overlap", "M", options.overlap, 0, most_frames,
                      "Frames shared by consecutive windows (default 0)");
}

void add_stabilise_option(CommandLine& line, BgsubOptions& options) {
    line.choice("--stabilise", rpca::stabilise_choices, options.stabilise,
                "Bring the frames of a camera that shakes to a common one first, by shifts, affine "
                "maps or homographies; auto: by affine maps if it shakes")
        .default_text("auto, off with --method online");
    line.file("--plot-shifts", "FILE.png|pdf|svg", options.plot_shifts,
              "Shift of each frame that was brought to a common one");
}

void add_method_options(CommandLine& line, BgsubOptions& options, bool& online) {
    rpca::Parameters& p = options.parameters;
    line.choice("--method", background_choices, options.method,
                "Robust PCA of all frames; a background that is updated frame by frame, in bounded "
                "memory; each pixel's median over the frames; or what suits the clip")
        .default_text("auto");
    line.flag("--online", online, "The same as --method online");
    line.choice("--solver", rpca::solver_choices, p.solver,
                "Inexact augmented Lagrange multipliers; alternating directions; or accelerated "
                "alternating projections, which are faster for a background of known rank")
        .default_text("ialm");
    line.whole_number("--rank", "R", p.rank, 1, most_frames,
                      "Maximum rank of the background with accaltproj (default: a tenth of the "
                      "frames, at most 10)");
    line.choice("--svd", rpca::svd_choices, p.svd,
                "Compute singular values from the Gram matrix, or from R of a QR decomposition")
        .default_text("gram");
    line.number("--lambda", "X", p.lambda, {0, 1e9, true},
                "Weight of the foreground (default: 1/sqrt(max(pixels, frames)))");
    line.number(
        "--tolerance", "X", p.tolerance, {0, 1, true},
        "Relative residual to stop at (default 1e-5); below 1e-6 requires --precision fp64");
    line.choice("--precision", solve_precision_choices, options.precision,
                "Arithmetic of the solver")
        .default_text("fp32");
    line.whole_number("--max-iterations", "N", p.max_iterations, 1, most_frames,
                      "Maximum number of iterations (default 500)");
    line.choice("--until", until_choices, options.until,
                "Stop at the tolerance, or as soon as the mask no longer changes")
        .default_text("tolerance");
}

void add_online_options(CommandLine& line, BgsubOptions& options) {
    const rpca::OnlineParameters& p = options.following;
    line.whole_number("--burn-in", "N", options.burn_in, 1, most_frames,
                      core::text("With --method online: number of first frames whose median the "
                                 "background may begin with (default ",
                                 options.burn_in, ")"));
    line.number("--memory", "N", options.following.memory, {1, 1e9},
                core::text("With --method online: age in frames at which a frame's weight is 1/e "
                           "(default ",
                           p.memory, ")"));
    line.number(
        "--patience", "N", options.following.patience, {1, 1e9},
        core::text("The same for what stands still in the foreground (default ", p.patience, ")"));
}

void add_mask_options(CommandLine& line, BgsubOptions& options) {
    line.text(
        "--threshold", "pixel|T|noise:K",
        [&](const std::string& text) { parse_threshold(text, options.mask); },
        "A pixel is foreground if it differs from the background by more than usual for this "
        "pixel, by more than T grey levels, or K standard deviations of the noise (default pixel)");
    line.number("--hysteresis", "X", options.mask.hysteresis, {0, 1},
                core::text("With --threshold pixel: what adjoins foreground is foreground, too, "
                           "above X of the threshold; 1: none (default ",
                           options.mask.hysteresis, ")"));
    line.flag("--keep-holes", options.keep_holes, "Do not fill the holes of objects");
    line.flag("--keep-shadows", options.keep_shadows,
              "Do not remove shadows: where a multiple of the background fits the frame");
    line.flag("--keep-light", options.keep_light,
              "With --threshold pixel and --method online or median: do not remove the light of "
              "lamps, where a dark background is brighter in the frame and its texture, too");
    line.whole_number("--clean", "N", options.mask.clean, 0, 255,
                      "Window width of the median filter of the mask; 0: none (default 5)");
    line.whole_number("--min-area", "PIXELS", options.mask.min_area, 0, most_frames,
                      "Remove connected regions of fewer pixels");
    line.file("--truth", "FOLDER", options.truth,
              "True masks to compare with: a folder with groundtruth/gt000001.png and, optionally, "
              "ROI.bmp and temporalROI.txt");
    line.choice("--out-format", out_format_choices, options.format,
                "Videos; folders of pictures; arrays of NumPy; or one HDF5 file")
        .default_text("mp4");
    line.parsed("--save", "CONTENT[,CONTENT...]", options.saved, parse_contents,
                core::text("What to write: ", choice_names(content_choices)))
        .default_text("mask,overlay");
    line.flag("--in-turn", options.in_turn,
              "Read, compute and write one after the other, to time each alone");
    line.flag("--resume", options.resume,
              "Keep the windows whose pictures an earlier run with the same options has written");
}

bool has_input_folder(const std::vector<path>& inputs) {
    std::error_code error;
    return is_folder(inputs) && std::filesystem::is_directory(inputs.front() / "input", error);
}

constexpr std::array only_rpca{"--solver",    "--svd",       "--lambda",
                               "--tolerance", "--precision", "--max-iterations",
                               "--until",     "--rank"};
constexpr std::array only_online{"--burn-in", "--memory", "--patience"};

void add_swept_options(CommandLine& line, BgsubOptions& options) {
    line.sweeps({"--lambda"});
    line.sweeps({"--threshold", SweptValues::numbers, std::string(by_noise), true});
    line.sweeps({"--hysteresis", SweptValues::numbers, "", true});
    line.sweeps({"--clean", SweptValues::whole_numbers, "", true});
    line.sweeps({"--min-area", SweptValues::whole_numbers, "", true});
    add_sweep_options(line, options.sweep);
}

bool stabilises(const BgsubOptions& options) {
    return options.stabilise != rpca::Stabilise::automatic &&
           options.stabilise != rpca::Stabilise::off;
}

/// Names the method that options need, if the user has not.
void infer_method(const CommandLine& line, BgsubOptions& options) {
    if (options.method != BackgroundMethod::automatic) return;
    const auto needs = [&](const char* option, BackgroundMethod method) {
        if (options.method != BackgroundMethod::automatic) return;
        options.method = method;
        options.method_reason = core::text("it is what ", option, " is for");
    };
    const auto given = [&](const auto& names, BackgroundMethod method) {
        for (const char* option : names) {
            if (line.given(option)) needs(option, method);
        }
    };
    given(only_rpca, BackgroundMethod::rpca);
    given(only_online, BackgroundMethod::online);
    given(std::array{"--window", "--repeat", "--resume"}, BackgroundMethod::rpca);
    if (stabilises(options)) needs("--stabilise", BackgroundMethod::rpca);
    if (options.method == BackgroundMethod::automatic && !line.axes().empty()) {
        options.method = BackgroundMethod::rpca;
        options.method_reason = "several values are compared on frames that are solved together";
    }
    const bool on_gpu = options.common.device.kind == DeviceKind::gpu;
    if (on_gpu) needs("--device gpu", BackgroundMethod::rpca);
}

/// Of lists and ranges of values.
void refuse_sweep_conflicts(const CommandLine& line, const BgsubOptions& options) {
    const auto& axes = line.axes();
    if (axes.empty()) return;
    core::expects(
        !options.online() && options.window == 0, axes.front().option.name,
        ": a list or a range of values requires frames that are solved together, without ",
        options.online() ? "--method online" : "--window");
    for (const char* option : {"--resume", "--plot-shifts"}) {
        core::expects(!line.given(option), option,
                      " cannot be combined with a list or a range of values");
    }
    const bool thresholds = std::any_of(axes.begin(), axes.end(), [](const SweepAxis& axis) {
        return axis.option.name == "--threshold";
    });
    core::expects(!thresholds || options.until != RunUntil::mask,
                  "--until mask cannot be combined with several values of --threshold");
}

void refuse_conflicts(const CommandLine& line, const BgsubOptions& options) {
    const rpca::Parameters& p = options.parameters;
    const bool rpca = options.method == BackgroundMethod::rpca;
    for (const char* option : only_rpca) line.needs(option, "--method rpca", rpca);
    for (const char* option : only_online) line.needs(option, "--method online", options.online());
    const bool projects = p.solver == rpca::Solver::accaltproj;
    line.needs("--rank", "--solver accaltproj", projects);
    for (const char* option : {"--window", "--repeat", "--resume"}) {
        core::expects(!line.given(option) || !options.online(), option,
                      " cannot be combined with --method online");
    }
    for (const auto* option : {"--svd", "--lambda"}) {
        line.needs(option, "--solver ialm or admm", !projects);
    }
    line.needs("--overlap", "--window", options.window > 0);
    core::expects(options.window == 0 || options.overlap < options.window, "--overlap ",
                  options.overlap, ": expected less than --window ", options.window);
    core::expects(!line.given("--repeat") || options.window == 0,
                  "--repeat cannot be combined with --window");
    line.needs("--resume", "--out-format png: other files appear when all frames are done",
               options.format == OutFormat::png);
    line.needs("--resume", "the mask among --save", options.saves(Content::mask));
    core::expects(!stabilises(options) || !options.online(),
                  "--stabilise cannot be combined with --method online");
    if (options.plot_shifts) expects_figure_name("--plot-shifts", *options.plot_shifts);
    line.needs("--plot-shifts", "stabilised frames: no --stabilise off, no --method online",
               options.stabilise != rpca::Stabilise::off && !options.online());
    core::expects(
        options.precision == SolvePrecision::fp64 || p.tolerance >= rpca::least_fp32_tolerance,
        "--tolerance ", p.tolerance, " requires --precision fp64: in fp32 the residual ",
        "stays above about 4e-7");
    core::expects(options.until == RunUntil::tolerance || options.mask.noise_multiple == 0,
                  "--until mask cannot be combined with --threshold noise:K");
    for (const char* option : {"--hysteresis", "--keep-light"}) {
        line.needs(option, "--threshold pixel", options.mask.follows_pixels());
    }
    core::expects(options.mask.clean == 0 || options.mask.clean % 2 == 1, "--clean ",
                  options.mask.clean, ": expected an odd number or 0");
#if !APERTURE_OPENCV
    core::expects(options.format != OutFormat::mp4,
                  "--out-format mp4 requires a build with OpenCV; png, npy and h5 do not");
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

std::vector<Content> parse_contents(const std::string& text) {
    std::set<Content> contents;
    for (const std::string_view word : split(text, ',')) {
        const Content content = parse_choice("--save", content_choices, word);
        core::expects(contents.insert(content).second, "--save ", text, ": ", word,
                      " is there twice");
    }
    return {contents.begin(), contents.end()};
}

std::vector<path> BgsubOptions::frame_inputs() const {
    if (has_input_folder(inputs)) return {inputs.front() / "input"};
    return inputs;
}

path BgsubOptions::output(const std::string& extension) const {
    const std::string suffix = run_number + extension;
    if (common.out.empty()) return default_output(inputs, suffix);
    std::error_code error;
    if (!common.out.has_filename() || std::filesystem::is_directory(common.out, error)) {
        return common.out / suffix.substr(1);
    }
    return path(common.out) += suffix;
}

NamedFiles input_files(const BgsubOptions& options) {
    NamedFiles files = named_files("frames", options.inputs);
    append(files, "truth", options.truth);
    return files;
}

NamedFiles output_files(const BgsubOptions& options) {
    if (options.format == OutFormat::h5) return {{"result", options.output(".bgsub.h5")}};
    NamedFiles files;
    for (const Content content : options.saved) {
        const char* extension = options.format == OutFormat::npy   ? ".npy"
                                : options.format == OutFormat::png ? ""
                                : content == Content::mask         ? ".mkv"
                                                                   : ".mp4";
        const std::string name = choice_name(content_choices, content);
        files.push_back({name, options.output(core::text('.', name, extension))});
    }
    return files;
}

namespace {

std::optional<BgsubOptions> parse_run(int argc, char** argv) {
    BgsubOptions options;
    CommandLine line("bgsub", "Background and moving foreground of a video, by robust PCA",
                     example);
    add_frame_options(line, options);
    add_stabilise_option(line, options);
    bool online = false;
    add_method_options(line, options, online);
    add_online_options(line, options);
    add_mask_options(line, options);
    add_swept_options(line, options);
    add_run_options(line, "PREFIX",
                    "s begin with PREFIX; a final / makes it a folder (default: the name of the "
                    "video or folder, beside it)",
                    options.common);
    if (!line.parse(argc, argv)) return std::nullopt;
    if (online) {
        core::expects(!line.given("--method") || options.online(),
                      "--online cannot be combined with --method ",
                      choice_name(background_choices, options.method));
        options.method = BackgroundMethod::online;
    }
    infer_method(line, options);
    refuse_conflicts(line, options);
    refuse_sweep_conflicts(line, options);
    rpca::OnlineParameters& following = options.following;
    if (!line.given("--patience"))
        following.patience = std::max(following.patience, following.memory);
    if (options.online()) rpca::validate(following);
    options.mask.fill_holes = !options.keep_holes;
    options.mask.remove_shadows = !options.keep_shadows;
    options.mask.remove_light = !options.keep_light;
    if (options.until == RunUntil::mask) {
        options.parameters.mask_threshold = options.mask.threshold.value_or(usual_threshold);
    }
    settle_sweep(line, options.truth.has_value(), "--truth", options.sweep);
    return options;
}

}  // namespace

std::optional<BgsubOptions> parse_bgsub_options(int argc, char** argv) {
    auto options = parse_runs(argc, argv, parse_run, [](BgsubOptions& run, const auto& rename) {
        path number;
        rename(number);
        run.run_number = number.string();
    });
    if (!options) return options;
    for (BgsubOptions& run : options->sweep.runs) {
        // Which only the whole line needs.
        run.method = options->method;
        run.method_reason = options->method_reason;
    }
    return options;
}

}  // namespace aperture::apps
