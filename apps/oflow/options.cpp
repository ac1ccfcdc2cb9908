// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/options.hpp"

#include <algorithm>

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr int max_spacing = 1 << 20;

constexpr auto example = R"(Example:
  oflow frame10.png frame11.png --truth flow10.flo --warped warped.png
estimates where the content of frame10.png is found in frame11.png, writes frame10.flo and, in the
colours of the Middlebury benchmark, frame10.flow.png, takes frame11.png back by the flow, and prints
the times and the errors against flow10.flo.)";

void add_file(CLI::App& app, const std::string& option, std::optional<path>& file,
              const std::string& description, const std::string& type_name) {
    app.add_option(option, file, description)->type_name(type_name);
}

CLI::Validator positive() { return CLI::Validator(CLI::PositiveNumber).description(""); }

void add_result_options(CLI::App& app, OflowOptions& options, bool& no_picture) {
    app.add_flag("--no-picture", no_picture, "Leave out the picture of the flow");
    app.add_option("--max-motion", options.max_motion,
                   "Motion of full saturation in the picture (default: the largest)")
        ->check(positive())
        ->type_name("PX");
    add_file(app, "--truth", options.truth, "True flow to compare with, .flo or KITTI .png",
             "FILE");
    add_file(app, "--error-map", options.error_map, "Picture of the error; needs --truth",
             "FILE.png");
    app.add_option("--max-error", options.max_error,
                   "Error at the bright end of the map (default 2)")
        ->check(positive())
        ->type_name("PX");
    add_file(app, "--warped", options.warped, "Image 1 taken back by the flow", "FILE.png");
    add_file(app, "--arrows", options.arrows, "Arrows over image 0", "FILE.png");
    app.add_option("--arrow-spacing", options.arrow_spacing,
                   "Pixels from one arrow to the next (default: by the size)")
        ->check(whole_number(1, max_spacing))
        ->type_name("N");
    add_file(app, "--consistency", options.consistency,
             "Mask, 255 where the flow from image 1 to image 0 leads back", "FILE.png");
    add_file(app, "--convergence", options.convergence,
             "hs: residual of every iteration on the finest level's first warp", "FILE.csv");
}

/// Throws where `file` cannot be written as a picture; returns the name that it gets, which is
/// another one in a build that writes PNM only.
path picture_name(const std::string& option, path file) {
    const std::string extension = file.extension().string();
    constexpr std::array<std::string_view, 6> known{".png", ".ppm",  ".pgm",
                                                    ".jpg", ".jpeg", ".bmp"};
    core::expects(std::find(known.begin(), known.end(), extension) != known.end(), option, ' ',
                  file.string(), ": expected a name that ends in .png, .ppm, .pgm, .jpg or .bmp");
#if !APERTURE_OPENCV
    if (extension != ".ppm" && extension != ".pgm") file.replace_extension(".ppm");
#endif
    return file;
}

void settle_flow_name(OflowOptions& options) {
    path& out = options.common.out;
    if (out.empty()) out = path(options.image0).replace_extension(".flo");
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
            picture_name("--out", path(options.common.out).replace_extension(".flow.png"));
    }
    const auto settle = [](const char* option, std::optional<path>& file) {
        if (file) file = picture_name(option, *file);
    };
    settle("--error-map", options.error_map);
    settle("--warped", options.warped);
    settle("--arrows", options.arrows);
    settle("--consistency", options.consistency);
}

}  // namespace

std::optional<OflowOptions> parse_oflow_options(int argc, char** argv) {
    OflowOptions options;
    bool no_picture = false;
    CLI::App app("Optical flow between two images", "oflow");
    app.footer(example);
    app.add_option("image0", options.image0, "First image")->required()->type_name("FILE");
    app.add_option("image1", options.image1, "Second image")->required()->type_name("FILE");
    add_parameter_options(app, options.flags);
    add_result_options(app, options, no_picture);
    add_common_options(app, ", .flo or KITTI .png (default: IMAGE0 with .flo)", options.common);
    add_run_options(app, options.run);
    if (!parse_command_line(app, argc, argv)) return std::nullopt;

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
