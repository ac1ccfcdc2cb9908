// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/media/atomic_file.hpp"
#include "apps/oflow/run.hpp"

namespace aperture::apps {

/// Throws core::InvalidArgument where an output would replace an input or another output, or cannot
/// be written where it is to be: before the long work, not after it.
void check_outputs(const OflowOptions& options);

/// The same for a sequence. A folder of frames is refused, since pictures could have the frames'
/// names.
void check_folders(const OflowOptions& options, const FrameReader& frames);

/// Pixels from one arrow to the next, and how many times the motion an arrow is long: whole times,
/// the longest of them no longer than the spacing unless the motion is.
struct ArrowLayout {
    int spacing = 0;
    int scale = 1;
};
ArrowLayout arrow_layout(const OflowOptions& options, flow::Shape shape, double largest_motion);

/// Adds the flow, and everything else that was asked for but the report, to `outputs`.
void write_outputs(core::Cpu& cpu, const OflowOptions& options, const OflowInputs& inputs,
                   const OflowResults& results, Console& console, media::OutputSet& outputs);

}  // namespace aperture::apps
