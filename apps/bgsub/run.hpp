// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "aperture/media/atomic_file.hpp"
#include "aperture/rpca/score.hpp"
#include "apps/bgsub/clip.hpp"
#include "apps/bgsub/separator.hpp"
#include "apps/common/timed_runs.hpp"

namespace aperture::apps {

/// What `bgsub` finds.
struct BgsubResults {
    FrameShape shape;
    index_t frames = 0;
    index_t windows = 0;
    index_t solved_frames = 0;  ///< in a window, or together
    rpca::Outcome outcome;      ///< of windows: iterations are added up, of the rest the largest
    double threshold = 0;       ///< that was used, the last window's
    double moving_share = 0;    ///< of the pixels
    std::optional<rpca::Score> score;  ///< with --truth
    index_t scored_frames = 0;
    RunTimes times;  ///< read, rpca or median, mask, write
    double total_ms = 0;
};

/// Reads frames, finds background and masks, and writes them as they come.
///
/// With --window, each window is solved by itself. Of the frames that two windows have in common
/// the first half is written from the earlier one, the second half from the later one: each frame
/// is then judged by the window that knows more of what comes before and after it, which is what
/// tells an object that stands still for a while from background. The last window has as many
/// frames as the others, and so more in common with the one before.
///
/// With --online, the first frames are solved together and every later one by itself as it comes:
/// one frame is read ahead, and no other is kept.
///
/// Files are added to `outputs`; pictures are there frame by frame.
///
/// Throws core::InvalidArgument that names the frame which cannot be read or has another size, and
/// where the frames need more memory than is free; it says of how many frames pictures are there.
BgsubResults run_bgsub(const Separators& separators, core::Cpu& cpu, const BgsubOptions& options,
                       const std::string& command_line, Console& console,
                       media::OutputSet& outputs);

}  // namespace aperture::apps
