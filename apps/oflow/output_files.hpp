// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/media/atomic_file.hpp"
#include "apps/oflow/run.hpp"

namespace aperture::apps {

/// Throws core::InvalidArgument before the computation if an output would replace an input or
/// another output or cannot be written.
void check_outputs(const OflowOptions& options);

/// Throws core::InvalidArgument if a requested figure would be too large, naming the flag that does
/// without it.
void expects_drawable(const OflowOptions& options, const std::string& file, flow::Shape shape);

/// Checks the folders of a sequence likewise. A folder of frames is rejected, since pictures could
/// have the frames' names.
void check_folders(const OflowOptions& options, const FrameReader& frames);

/// Distance between arrows in pixels, and arrow length as an integer multiple of the motion. The
/// longest arrow exceeds the spacing only if the motion itself does.
struct ArrowLayout {
    int spacing = 0;
    int scale = 1;
};
ArrowLayout arrow_layout(const OflowOptions& options, flow::Shape shape, double largest_motion);

/// Adds the flow and all requested outputs except the report to `outputs`.
void write_outputs(core::Cpu& cpu, const OflowOptions& options, const OflowInputs& inputs,
                   const OflowResults& results, Console& console, media::OutputSet& outputs);

}  // namespace aperture::apps
