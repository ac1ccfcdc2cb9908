// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/rpca/camera_motion.hpp"
#include "aperture/rpca/mask.hpp"

namespace aperture::rpca {

/// The background of a clip in which objects stand still: `ground` [channel][row][column] and the
/// typical sizes of its differences, of which thresholds are made.
struct ClipBackground {
    core::Array<float, 3> ground;
    core::Array<float, 2> scales;
};

/// Takes the medians of the first frames of a clip and of frames sampled over all of it. They
/// differ where an object stands still, in the first frames or in most of the clip. Of such a
/// region the background is the median that differs less from what is around the region. Scales are
/// the smaller ones of `pixel_scales`. Throws core::InvalidArgument if either has no frame or their
/// pictures differ in size.
ClipBackground clip_background(core::Cpu& cpu, DifferencesView<core::Host> first,
                               DifferencesView<core::Host> sampled);

/// Corrects the backgrounds of some frames of the clip, which are shorter than an object may stand:
/// the same test between the median of up to 33 of them and that of the clip. In regions that have
/// an object, backgrounds become the clip's, in the window's light; not where that is NaN.
/// [frame][channel][row][column], contiguous. Throws core::InvalidArgument if extents differ. With
/// a Gpu, `cpu` has the test; synchronises.
void correct_backgrounds(core::Cpu& cpu, const ClipBackground& clip,
                         core::View<float, 4, core::Host> backgrounds);
void correct_backgrounds(core::Gpu& gpu, core::Cpu& cpu, const ClipBackground& clip,
                         core::View<float, 4, core::Device> backgrounds);

/// The background of a clip whose camera moves, in the common frame of its first and sampled
/// frames.
template <class Executor>
class MovingClip {
  public:
    /// Of up to 33 frames of either, as `clip_background`. Throws as CameraMotion and
    /// clip_background do. The executors must outlive it.
    MovingClip(Executor& executor, core::Cpu& cpu, DifferencesView<core::Host> first,
               DifferencesView<core::Host> sampled, Stabilise how);

    /// Whether there is a common frame (CameraPath::moves); the following requires one.
    bool moves() const { return camera_.moves(); }
    /// As correct_backgrounds, in the common frame of some frames of the clip. Without a motion
    /// from that to the clip's, backgrounds stay.
    void correct(const CameraMotion<Executor>& camera,
                 typename CameraMotion<Executor>::Frames backgrounds) const;

  private:
    struct Frames;
    MovingClip(Executor& executor, core::Cpu& cpu, Frames frames, Stabilise how);

    Executor& executor_;
    core::Cpu& cpu_;
    CameraMotion<Executor> camera_;
    ClipBackground background_;
};

extern template class MovingClip<core::Cpu>;
extern template class MovingClip<core::Gpu>;

}  // namespace aperture::rpca
