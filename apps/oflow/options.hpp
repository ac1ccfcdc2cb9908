// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "apps/common/frames.hpp"
#include "apps/oflow/parameter_flags.hpp"

namespace aperture::apps {

/// The command line of `oflow`.
struct OflowOptions {
    CommonOptions common;  ///< `out` is the flow file, of a sequence the folder
    RunOptions run;
    std::vector<std::filesystem::path> inputs;
    bool sequence = false;  ///< else `inputs` are two images
    FrameRange frames;      ///< of a sequence

    ParameterFlags flags;
    flow::Parameters parameters;

    std::optional<std::filesystem::path> truth;
    /// Names of what is to be written, those of pictures final; of a sequence, the folders that
    /// the pictures of all pairs go to.
    std::optional<std::filesystem::path> picture;
    std::optional<std::filesystem::path> error_map;
    std::optional<std::filesystem::path> warped;
    std::optional<std::filesystem::path> arrows;
    std::optional<std::filesystem::path> consistency;
    std::vector<std::filesystem::path> convergence;  ///< tables and plots

    std::optional<double> max_motion;  ///< pixels; else the largest motion
    double max_error = 2;              ///< pixels
    std::optional<int> arrow_spacing;  ///< pixels; else by the size of the image

    const std::filesystem::path& image0() const { return inputs.front(); }
    const std::filesystem::path& image1() const { return inputs.back(); }
};

/// Reads the command line; nothing where --help or --version was asked for and printed.
std::optional<OflowOptions> parse_oflow_options(int argc, char** argv);

}  // namespace aperture::apps
