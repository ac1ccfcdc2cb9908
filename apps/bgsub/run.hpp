// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "aperture/media/atomic_file.hpp"
#include "aperture/rpca/score.hpp"
#include "apps/bgsub/clip.hpp"
#include "apps/bgsub/method.hpp"
#include "apps/bgsub/separator.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

/// The results of `bgsub`.
struct BgsubResults {
    FrameShape shape;
    index_t frames = 0;
    index_t windows = 0;
    index_t kept_windows = 0;   ///< with --resume: of an earlier run
    index_t solved_frames = 0;  ///< together: in a window or at the start
    index_t stabilised_windows = 0;
    index_t covered_frames = 0;  ///< more than half of whose pixels move
    index_t lost_frames = 0;     ///< that have no motion to the others
    double shake = 0;            ///< of the camera, in pixels: the largest of a window
    /// Of each frame if the camera moves, (dy, dx); none of lost frames, and of windows kept.
    std::vector<std::optional<std::array<double, 2>>> shifts;
    rpca::Outcome outcome;    ///< over all windows: sums of iterations, maxima of residuals
    double threshold = 0;     ///< the threshold used, of the last window solved
    double moving_share = 0;  ///< share of the pixels
    std::optional<rpca::Score> score;  ///< with --truth
    index_t scored_frames = 0;
    RunTimes times;       ///< read, rpca or median, mask, write
    double total_ms = 0;  ///< from the first frame to the last file; 0: not measured
};

/// Reads frames, computes background and masks, and writes them as they become available.
///
/// With --window, each window is solved separately. The first half of two windows' common frames is
/// written from the earlier window, the second half from the later one. Each frame thus uses the
/// window with more frames before and after it, which separates an object that stands still for a
/// while from background. The last window has as many frames as the others, so its overlap is
/// larger.
///
/// The frames of a camera that shakes are solved in a common frame, window by window; the
/// background that the outputs have and differ from is that which each frame sees.
///
/// `samples` of the whole clip show where an object stands still for a whole window
/// (rpca::correct_backgrounds, and rpca::MovingClip where the camera shakes).
///
/// With --method online frames are processed one by one, beginning with the background of the first
/// frames and the samples (rpca::clip_background).
///
/// While a window or a frame is solved, the next is read and the results of the one before are
/// written; at most sixteen frames of --method online wait before and after the solver.
///
/// Files are added to `outputs`; pictures exist as soon as they are written. With --resume, windows
/// all of whose pictures exist are neither solved nor written.
///
/// Throws core::InvalidArgument with the name of a frame that cannot be read or has another size,
/// and if the frames need more memory than is free. The message reports how many frames' pictures
/// exist.
BgsubResults run_bgsub(const Separators& separators, core::Cpu& cpu, const BgsubOptions& options,
                       const Samples& samples, Console& console, media::OutputSet& outputs);

}  // namespace aperture::apps
