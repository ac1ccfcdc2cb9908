// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/choices.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/signal/global_motion.hpp"

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

/// The motion of a camera in consecutive frames, and a common frame that contains them all.
class CameraPath {
  public:
    /// Of frames of [rows][columns] with these motions to their median. A frame has no motion if
    /// the fit fails, moves a corner by more than a quarter of the frame, changes contrast by a
    /// factor of two or leaves residuals five times the median frame's.
    CameraPath(core::Extents<2> size, const std::vector<signal::GlobalMotion>& motions,
               Stabilise how);

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

  protected:
    /// For each frame, from pixels of the common frame to its own, and back; without a motion a map
    /// that leads nowhere.
    const std::vector<signal::PixelMap>& maps() const { return maps_; }
    std::vector<signal::PixelMap> inverse_maps() const;
    /// From pixels of the common frame to those of another one, by the motion from the median of
    /// these frames to that of the others; none if a camera has no such motion.
    std::optional<signal::PixelMap> map_between(const signal::GlobalMotion& motion,
                                                const CameraPath& other) const;

  private:
    void frame_all();

    core::Extents<2> size_;  ///< of a frame
    double deviation_;       ///< of the median frame's residuals
    core::Extents<2> extent_{};
    std::array<double, 2> origin_{};  ///< of the common frame in the median
    std::vector<signal::PixelMap> maps_;
    std::vector<std::optional<std::array<double, 2>>> shifts_;
    bool moves_ = false;
    double shake_ = 0;
};

/// Finds the motions of a camera and moves frames. Motions are those between the frames and their
/// median (signal::MotionFit): first the shifts of up to 33 frames to the median of these, then the
/// motions of all frames to the median of the shifted ones, which is sharp.
template <class Executor>
class CameraMotion : public CameraPath {
  public:
    /// [frame][channel][row][column], contiguous
    using Frames = core::View<float, 4, typename Executor::Space>;
    using ConstFrames = core::View<const float, 4, typename Executor::Space>;

    /// Synchronises on a Gpu. Throws core::InvalidArgument for `off`, no frame, and frames smaller
    /// than 16 x 16 unless `automatic`. The executor must outlive it.
    CameraMotion(Executor& executor, ConstFrames frames, Stabilise how);

    /// Frames in the common frame, of `extent()`. What a frame does not show there is the median of
    /// the frames that do, so that it is background. Asynchronous on a Gpu.
    void to_common(ConstFrames frames, Frames common) const;
    /// From pixels of the common frame to those of another one, of frames as large of the same
    /// camera; none if no such motion is found. Both must move. Synchronises on a Gpu.
    std::optional<signal::PixelMap> map_to(const CameraMotion& other) const;
    /// Backgrounds in the common frame, as the frames see them. Where there is none, and for frames
    /// without a motion, that is the frame itself, from which nothing differs. Asynchronous on a
    /// Gpu.
    void from_common(ConstFrames common, ConstFrames frames, Frames backgrounds) const;

  private:
    struct Found;
    static Found find(Executor& executor, ConstFrames frames, Stabilise how);
    CameraMotion(Executor& executor, Found found);

    Executor& executor_;
    signal::MotionModel model_;
    core::Array<float, 2, typename Executor::Space> median_;  ///< of the frames; empty if none move
};

extern template class CameraMotion<core::Cpu>;
extern template class CameraMotion<core::Gpu>;

}  // namespace aperture::rpca
