// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/options.hpp"

#include "apps/common/command_line.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr int max_spacing = 1 << 20;

constexpr auto example = R"(Example:
  oflow frame10.png frame11.png --truth flow10.flo --warped warped.png
estimates the motion from frame10.png to frame11.png, writes frame10.flo and, in the colours of the
Middlebury benchmark, frame10.flow.png, warps frame11.png back to frame10.png, and prints the times
and the errors against flow10.flo.

  oflow video.avi --out flow/ --frames 0:100
estimates the flow between consecutive frames among the first 100 of a video and writes
flow/000000.flo, flow/000000.flow.png and so on, with one colour scale for all pictures. A folder of
images, a quoted pattern ('frames/*.png') and three or more images are also sequences, as are two
images if --out names a folder. --warped, --arrows and --consistency then name folders.

  oflow frame10.flo --max-motion 5 --out motion.pdf
draws a given flow.

  oflow frame10.png frame11.png --truth flow10.flo --alpha 1:64:log:32 --warps 3,5,10
estimates with every pair of these values, writes the flow with the smallest error, all errors and
times as frame10.scores.csv, and plots the errors in frame10.scores.png.)";

// A larger flow counts as unknown.
constexpr NumberRange motion_range{0, 1e9, true};

void add_result_options(CommandLine& line, OflowOptions& options, bool& no_picture) {
    line.flag("--no-picture", no_picture, "Do not draw the flow");
    line.number("--max-motion", "PX", options.max_motion, motion_range,
                "Motion drawn at full saturation (default: the maximum; for a sequence, the 95th "
                "percentile of the pairs' maxima)");
    line.file("--truth", "FILE", options.truth, "True flow to compare with, .flo or KITTI .png");
    line.file("--error-map", "FILE.png|pdf|svg", options.error_map,
              "Figure of the error; requires --truth");
    line.number("--max-error", "PX", options.max_error, motion_range,
                "Error drawn at full brightness (default 2)");
    line.file("--warped", "FILE.png|FOLDER", options.warped, "Image 1 warped back by the flow");
    line.file("--arrows", "FILE.png|pdf|svg|FOLDER", options.arrows, "Arrows over image 0");
    line.whole_number("--arrow-spacing", "N", options.arrow_spacing, 1, max_spacing,
                      "Pixels between arrows (default: from the image size)");
    line.file("--consistency", "FILE.png|FOLDER", options.consistency,
              "Mask, 255 where the forward and backward flows agree");
    line.repeated_file(
        "--convergence", "FILE.csv|png|pdf|svg", options.convergence,
        "hs: residual of each iteration of the finest level's first warp, as a table or "
        "a plot; may be repeated");
}

bool names_folder(const path& out) {
    std::error_code error;
    return !out.empty() && (!out.has_filename() || std::filesystem::is_directory(out, error));
}

/// Removes the final slash: "frames" for "frames/".
path folder_name(const std::string& option, const path& folder) {
    core::expects(
        !is_picture_name(folder) && !is_figure_name(folder) && folder.extension() != ".flo", option,
        ' ', folder.string(), ": expected a folder for a sequence");
    return folder.has_filename() ? folder : folder.parent_path();
}

void settle_flow_name(OflowOptions& options) {
    path& out = options.common.out;
    if (options.sequence) {
        if (out.empty()) out = default_output(options.inputs, ".flow");
        out = folder_name("--out", out);
        return;
    }
    if (out.empty()) out = path(options.image0()).replace_extension(".flo");
    const std::string extension = out.extension().string();
    core::expects(extension == ".flo" || extension == ".png", "--out ", out.string(),
                  ": expected FILE.flo or FILE.png");
#if !APERTURE_OPENCV
    core::expects(extension == ".flo", "--out ", out.string(),
                  ": .png requires a build with OpenCV; expected FILE.flo");
#endif
}

void settle_picture_names(OflowOptions& options, bool no_picture) {
    if (!no_picture && have_figures) {
        options.picture = options.sequence
                              ? options.common.out
                              : path(options.common.out).replace_extension(".flow.png");
    }
    const auto settle_picture = [&](const char* option, std::optional<path>& file) {
        if (!file) return;
        file = options.sequence ? folder_name(option, *file) : picture_name(option, *file);
    };
    settle_picture("--warped", options.warped);
    settle_picture("--consistency", options.consistency);
    const auto settle_figure = [&](const char* option, std::optional<path>& file) {
        if (!file) return;
        if (options.sequence) file = folder_name(option, *file);
        expects_figure_name(option, options.sequence ? numbered_file(*file, 0, ".png") : *file);
    };
    settle_figure("--error-map", options.error_map);
    settle_figure("--arrows", options.arrows);
    core::expects(options.convergence.size() <= 2,
                  "--convergence: expected a table, a figure, or one of each");
    for (const path& file : options.convergence) {
        core::expects(file.extension() == ".csv" || is_figure_name(file), "--convergence ",
                      file.string(), ": expected FILE.csv, FILE.png, FILE.pdf or FILE.svg");
        if (is_figure_name(file)) expects_figure_name("--convergence", file);
    }
}

/// A single input that is a .flo file is drawn; nothing is estimated.
void settle_given_flow(const CommandLine& line, OflowOptions& options) {
    line.allows_only(
        {"images", "--out", "--report", "--threads", "--quiet", "--verbose", "--strict", "--device",
         "--max-motion", "--truth", "--error-map", "--max-error"},
        "images, but the input is a flow");
    path& out = options.common.out;
    if (out.empty()) out = path(options.inputs.front()).replace_extension(".flow.png");
    expects_figure_name("--out", out);
    if (options.error_map) expects_figure_name("--error-map", *options.error_map);
}

}  // namespace

NamedFiles input_files(const OflowOptions& options) {
    const char* const content = options.given_flow ? "flow" : options.sequence ? "frames" : "image";
    NamedFiles files = named_files(content, options.inputs);
    append(files, "truth", options.truth);
    return files;
}

NamedFiles output_files(const OflowOptions& options) {
    NamedFiles files{{options.given_flow ? "picture of the flow" : "flow", options.common.out}};
    // The pictures of a sequence are in the folder of the flows.
    if (!options.sequence) append(files, "picture of the flow", options.picture);
    append(files, "error map", options.error_map);
    append(files, "warped image", options.warped);
    append(files, "arrows", options.arrows);
    append(files, "consistency", options.consistency);
    for (const path& file : options.convergence) files.push_back({"convergence", file});
    append(files, options.sweep);
    return files;
}

namespace {

std::optional<OflowOptions> parse_run(int argc, char** argv) {
    OflowOptions options;
    bool no_picture = false;
    CommandLine line("oflow", "Optical flow between two images or along a sequence", example);
    line.files("images", "FILE", 1, -1, options.inputs,
               "Two images; or a sequence: a video, a folder, a quoted pattern or more images; or "
               "a flow to draw, FILE.flo")
        .required();
    line.parsed("--frames", "FIRST:LAST[:STEP]", options.frames, parse_frames,
                "For a sequence: every STEP-th frame from FIRST to LAST - 1, counted from 0");
    add_parameter_options(line, options.choice, options.parameters);
    add_result_options(line, options, no_picture);
    add_sweep_options(line, options.sweep);
    add_run_options(line, "FILE",
                    ", .flo or KITTI .png (default: the first image with .flo); for a sequence, "
                    "a folder (default: the video or the folder of the images with .flow); for a "
                    "flow, its figure",
                    options.common);
    if (!line.parse(argc, argv)) return std::nullopt;
    options.parameters =
        flow::preset(options.choice.preset, options.choice.method, options.choice.solver);
    // Again, since the other options override those of the preset.
    line.parse(argc, argv);

    options.given_flow = options.inputs.size() == 1 && options.inputs.front().extension() == ".flo";
    options.sequence =
        !options.given_flow && (options.inputs.size() != 2 || names_folder(options.common.out));
    for (const auto* option :
         {"--truth", "--error-map", "--max-error", "--convergence", "--repeat"}) {
        line.needs(option, "a single pair of images", !options.sequence);
    }
    line.needs("--frames", "a sequence: a video, a folder, a pattern or three images",
               options.sequence);
    line.needs("--error-map", "--truth", options.truth.has_value());
    line.needs("--max-error", "--error-map", options.error_map.has_value());
    line.needs("--arrow-spacing", "--arrows", options.arrows.has_value());
    line.needs("--convergence", "--method hs",
               options.parameters.method == flow::Method::horn_schunck);
    core::expects(!line.given("--max-motion") || !no_picture,
                  "--max-motion cannot be combined with --no-picture");
    if (options.given_flow) {
        settle_given_flow(line, options);
        return options;
    }
    check_parameters(line, options.parameters);
    options.implementation_given = line.given("--impl");
    settle_flow_name(options);
    settle_picture_names(options, no_picture);
    settle_sweep(line, options.truth.has_value(), "--truth", options.sweep);
    core::expects(options.sweep.axes.empty() || !options.sequence,
                  "a list or a range of values requires a single pair of images");
    return options;
}

template <class Rename>
void for_each_output(OflowOptions& options, const Rename& rename) {
    rename(options.common.out);
    for (auto* file : {&options.picture, &options.error_map, &options.warped, &options.arrows,
                       &options.consistency}) {
        if (*file) rename(**file);
    }
    for (path& file : options.convergence) rename(file);
}

}  // namespace

std::optional<OflowOptions> parse_oflow_options(int argc, char** argv) {
    return parse_runs(argc, argv, parse_run,
                      [](auto& run, const auto& rename) { for_each_output(run, rename); });
}

}  // namespace aperture::apps
