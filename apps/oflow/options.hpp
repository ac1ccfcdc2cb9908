// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "apps/common/file_names.hpp"
#include "apps/common/frames.hpp"
#include "apps/common/sweep.hpp"
#include "apps/oflow/parameter_flags.hpp"

namespace aperture::apps {

/// The command line of `oflow`.
struct OflowOptions {
    RunOptions common;  ///< `out` is the flow file; the folder of a sequence
    std::vector<std::filesystem::path> inputs;
    bool sequence = false;    ///< otherwise `inputs` are two images, or a flow
    bool given_flow = false;  ///< `inputs` is a flow to draw, and `out` the name of its figure
    FrameRange frames;        ///< for a sequence

    PresetChoice choice;
    flow::Parameters parameters;
    bool implementation_given = false;

    std::optional<std::filesystem::path> truth;
    /// Names of the outputs. For a sequence, the folders of the pairs' pictures.
    std::optional<std::filesystem::path> picture;
    std::optional<std::filesystem::path> error_map;
    std::optional<std::filesystem::path> warped;
    std::optional<std::filesystem::path> arrows;
    std::optional<std::filesystem::path> consistency;
    std::vector<std::filesystem::path> convergence;  ///< tables and plots

    std::optional<double> max_motion;  ///< pixels; default: the largest motion
    double max_error = 2;              ///< pixels
    std::optional<int> arrow_spacing;  ///< pixels; default: from the image size

    Sweep<OflowOptions> sweep;

    const std::filesystem::path& image0() const { return inputs.front(); }
    const std::filesystem::path& image1() const { return inputs.back(); }
};

NamedFiles input_files(const OflowOptions& options);
/// Of a sequence, the folders.
NamedFiles output_files(const OflowOptions& options);

/// Parses the command line; returns nothing after printing what --help or --version asks for.
std::optional<OflowOptions> parse_oflow_options(int argc, char** argv);

}  // namespace aperture::apps
