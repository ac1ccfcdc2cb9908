// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/options.hpp"

#include <algorithm>

#include "apps/common/command_line.hpp"
#include "apps/common/image_list.hpp"
#include "apps/common/output_names.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr int max_spacing = 1 << 20;

constexpr auto example = R"(Example:
  oflow frame10.png frame11.png --truth flow10.flo --warped warped.png
estimates where the content of frame10.png is found in frame11.png, writes frame10.flo and, in the
colours of the Middlebury benchmark, frame10.flow.png, takes frame11.png back by the flow, and prints
the times and the errors against flow10.flo.

  oflow video.avi --out flow/ --frames 0:100
estimates the flow between every two of the first 100 frames of a video that follow one another and
writes flow/000000.flo, flow/000000.flow.png and so on, all pictures on one scale. A folder of
images, a quoted pattern ('frames/*.png') and three or more images are sequences, too; so are two
images where --out names a folder. --warped, --arrows and --consistency then name folders.)";

void add_file(CLI::App& app, const std::string& option, std::optional<path>& file,
              const std::string& description, const std::string& type_name) {
    app.add_option(option, file, description)->type_name(type_name);
}

// A flow beyond it counts as unknown.
constexpr NumberRange motion_range{0, 1e9, true};

void add_result_options(CLI::App& app, OflowOptions& options, bool& no_picture) {
    app.add_flag("--no-picture", no_picture, "Leave out the picture of the flow");
    add_number(app, "--max-motion", options.max_motion, motion_range,
               "Motion of full saturation in the pictures (default: the largest; of a sequence, "
               "that which one pair in twenty at most exceeds)")
        ->type_name("PX");
    add_file(app, "--truth", options.truth, "True flow to compare with, .flo or KITTI .png",
             "FILE");
    add_file(app, "--error-map", options.error_map, "Picture of the error; needs --truth",
             "FILE.png");
    add_number(app, "--max-error", options.max_error, motion_range,
               "Error at the bright end of the map (default 2)")
        ->type_name("PX");
    add_file(app, "--warped", options.warped, "Image 1 taken back by the flow", "FILE.png|FOLDER");
    add_file(app, "--arrows", options.arrows, "Arrows over image 0", "FILE.png|FOLDER");
    app.add_option("--arrow-spacing", options.arrow_spacing,
                   "Pixels from one arrow to the next (default: by the size)")
        ->check(whole_number(1, max_spacing))
        ->type_name("N");
    add_file(app, "--consistency", options.consistency,
             "Mask, 255 where the flow from image 1 to image 0 leads back", "FILE.png|FOLDER");
    app.add_option("--convergence", options.convergence,
                   "hs: residual of every iteration on the finest level's first warp, as a table "
                   "or drawn; may be given twice")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("FILE.csv|FILE.png");
}

bool names_folder(const path& out) {
    std::error_code error;
    return !out.empty() && (!out.has_filename() || std::filesystem::is_directory(out, error));
}

/// "frames/" as "frames".
path folder_name(const std::string& option, const path& folder) {
    core::expects(!is_picture_name(folder) && folder.extension() != ".flo", option, ' ',
                  folder.string(), ": of a sequence, a folder is expected");
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
                  ": .png needs a build with OpenCV; expected FILE.flo");
#endif
}

void settle_picture_names(OflowOptions& options, bool no_picture) {
    if (!no_picture) {
        options.picture =
            options.sequence
                ? options.common.out
                : picture_name("--out", path(options.common.out).replace_extension(".flow.png"));
    }
    const auto settle = [&](const char* option, std::optional<path>& file) {
        if (!file) return;
        file = options.sequence ? folder_name(option, *file) : picture_name(option, *file);
    };
    settle("--error-map", options.error_map);
    settle("--warped", options.warped);
    settle("--arrows", options.arrows);
    settle("--consistency", options.consistency);
    core::expects(options.convergence.size() <= 2,
                  "--convergence: expected a table, a picture, or one of each");
    for (path& file : options.convergence) {
        core::expects(file.extension() == ".csv" || is_picture_name(file), "--convergence ",
                      file.string(), ": expected FILE.csv or FILE.png");
        if (is_picture_name(file)) file = picture_name("--convergence", file);
    }
}

/// What has no meaning for many pairs, or none for one.
void refuse_by_kind(const CLI::App& app, const OflowOptions& options) {
    const auto refuse = [&](const char* option, const char* reason) {
        core::expects(app.count(option) == 0, option, ' ', reason);
    };
    if (options.sequence) {
        constexpr auto reason = "needs a single pair of images";
        for (const auto* option :
             {"--truth", "--error-map", "--max-error", "--convergence", "--repeat"}) {
            refuse(option, reason);
        }
    } else {
        refuse("--frames", "needs a sequence: a video, a folder, a pattern or three images");
    }
}

}  // namespace

std::optional<OflowOptions> parse_oflow_options(int argc, char** argv) {
    OflowOptions options;
    bool no_picture = false;
    CLI::App app("Optical flow between two images, or all along a sequence of them", "oflow");
    app.footer(example);
    app.add_option("images", options.inputs,
                   "Two images; or a sequence: a video, a folder, a quoted pattern, more images")
        ->required()
        ->type_name("FILE");
    app.add_option_function<std::string>(
           "--frames", [&](const std::string& text) { options.frames = parse_frames(text); },
           "Of a sequence: frames FIRST to LAST - 1, counted from 0, every STEP-th")
        ->type_name("FIRST:LAST[:STEP]");
    add_parameter_options(app, options.flags);
    add_result_options(app, options, no_picture);
    add_common_options(app,
                       ", .flo or KITTI .png (default: the first image with .flo); of a sequence, "
                       "a folder (default: the video or the folder of the images with .flow)",
                       options.common);
    add_run_options(app, options.run);
    if (!parse_command_line(app, argc, argv)) return std::nullopt;

    options.sequence = options.inputs.size() != 2 || names_folder(options.common.out);
    refuse_by_kind(app, options);
    const auto needs = [&](const char* option, const char* other, bool there) {
        core::expects(app.count(option) == 0 || there, option, " needs ", other);
    };
    needs("--error-map", "--truth", options.truth.has_value());
    needs("--max-error", "--error-map", options.error_map.has_value());
    needs("--arrow-spacing", "--arrows", options.arrows.has_value());
    needs("--convergence", "--method hs", options.flags.method == flow::Method::horn_schunck);
    core::expects(app.count("--max-motion") == 0 || !no_picture,
                  "--max-motion has no meaning with --no-picture");
    options.parameters = choose_parameters(options.flags);
    settle_flow_name(options);
    settle_picture_names(options, no_picture);
    return options;
}

}  // namespace aperture::apps
