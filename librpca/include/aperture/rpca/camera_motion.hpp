// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "aperture/core/choices.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/signal/warp.hpp"

namespace aperture::rpca {

/// How frames of a camera that shakes are brought to a common one. `automatic`: by affine maps if
/// it shakes, not at all otherwise.
enum class Stabilise { automatic, off, shift, affine, homography };
inline constexpr core::Choices<Stabilise, 5> stabilise_choices{
    {{"auto", Stabilise::automatic},
     {"off", Stabilise::off},
     {"shift", Stabilise::shift},
     {"affine", Stabilise::affine},
     {"homography", Stabilise::homography}}};

/// The motion of the camera in consecutive frames, and a common frame that contains them all.
///
/// Motions are those between the frames and their median (signal::MotionFit): first the shifts of
/// up to 33 frames to the median of these, then the motions of all frames to the median of the
/// shifted ones, which is sharp. A frame has no motion if the fit fails, moves a corner by more
/// than a quarter of the frame, changes contrast by a factor of two or leaves residuals five times
/// the median frame's.
class CameraMotion {
  public:
    /// [frame][channel][row][column], contiguous
    using Frames = core::View<float, 4, core::Host>;
    using ConstFrames = core::View<const float, 4, core::Host>;

    /// Finds the motions. Throws core::InvalidArgument for `off`, no frame, and frames smaller than
    /// 16 x 16 unless `automatic`.
    CameraMotion(core::Cpu& cpu, ConstFrames frames, Stabilise how);

    /// Whether there is a common frame: for `automatic` if a fifth of the frames are more than 0.3
    /// pixels from their median position, shifts take away a tenth of the frames' differences from
    /// their median, and at most half of the frames have no motion; otherwise if any frame has one.
    bool moves() const { return moves_; }
    /// The root of the mean squared shift in the middle of the frames, in pixels.
    double shake() const { return shake_; }
    /// The shift (dy, dx) in the middle of each frame from their median, in pixels; none where the
    /// frame has no motion.
    const std::vector<std::optional<std::array<double, 2>>>& shifts() const { return shifts_; }
    /// Frames without a motion.
    core::index_t lost() const;
    /// Rows and columns of the common frame; at most half as many again as a frame's.
    core::Extents<2> extent() const { return extent_; }

    /// Frames in the common frame, of `extent()`. What a frame does not show there is the median of
    /// the frames that do, so that it is background.
    void to_common(ConstFrames frames, Frames common) const;
    /// Backgrounds in the common frame, as the frames see them. Where there is none, and for frames
    /// without a motion, that is the frame itself, from which nothing differs.
    void from_common(ConstFrames common, ConstFrames frames, Frames backgrounds) const;

  private:
    /// From pixels of the common frame to those of the frame.
    using Map = std::optional<signal::PixelMap>;

    void find(ConstFrames frames, Stabilise how);
    void frame_all();

    core::Cpu& cpu_;
    core::Extents<2> size_;  ///< of a frame
    core::Extents<2> extent_{};
    std::vector<Map> maps_;
    std::vector<std::optional<std::array<double, 2>>> shifts_;
    bool moves_ = false;
    double shake_ = 0;
};

}  // namespace aperture::rpca
