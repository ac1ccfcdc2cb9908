// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "aperture/core/resident.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/rpca/robust_pca.hpp"
#include "apps/bgsub/separator.hpp"

namespace aperture::apps {

/// Frames [frame][channel][row][column] in an executor's memory and, if their camera moves, in a
/// common frame, in which their background is found.
template <class Executor>
class SteadyFrames {
    using Space = typename Executor::Space;
    using Values = core::View<float, 4, Space>;
    using ConstValues = core::View<const float, 4, Space>;

  public:
    /// `samples` of the whole clip, which must outlive this, or none.
    SteadyFrames(Executor& executor, core::Cpu& cpu, rpca::Stabilise how,
                 core::View<const float, 4, core::Host> samples)
        : executor_(executor), cpu_(cpu), how_(how), samples_(samples), frames_(executor) {}

    /// Copies frames to the executor and brings them to a common one if their camera moves. On a
    /// CPU they must outlive their use.
    void load(core::View<const float, 4, core::Host> frames) {
        times_ = {};
        const core::Stopwatch there;
        frames_.load(frames);
        if constexpr (is_gpu<Executor>) {
            executor_.synchronize();
            times_.transfer_ms = there.ms();
        }
        camera_.reset();
        if (how_ == rpca::Stabilise::off) return;
        const core::Stopwatch watch;
        if (!samples_.empty()) find_clip(frames);
        camera_.emplace(executor_, frames_.view(), how_);
        if (camera_->moves()) {
            const auto [rows, columns] = camera_->extent();
            common_.reshape({frames.extent[0], frames.extent[1], rows, columns});
            common_background_.reshape(common_.extent());
            camera_->to_common(frames_.view(), common_.view());
            executor_.synchronize();
        } else {
            camera_.reset();
        }
        times_.stabilise_ms = watch.ms();
    }

    /// Calls solve(frames, background), both [frame][value] in the executor's memory.
    template <class Solve>
    rpca::Outcome run(core::View<float, 4, core::Host> background, const Solve& solve) {
        times_ = {};
        to_ = background;
        if constexpr (is_gpu<Executor>) {
            backgrounds_.reshape(frames().extent);
            background_ = backgrounds_.view();
        } else {
            background_ = background;
        }
        return solve(values_of(seen()),
                     values_of(camera_ ? common_background_.view() : background_));
    }

    /// Corrects the background of the last run by that of the clip: `clip` unless it is nullptr, or
    /// where the clip's camera moves one of its own. Makes it what the frames see of it. On a GPU
    /// it is copied to the host unless the array given there is empty.
    void finish(const rpca::ClipBackground* clip) {
        times_ = {};
        if (camera_) {
            if (clip_) clip_->correct(*camera_, common_background_.view());
            executor_.synchronize();
            const core::Stopwatch watch;
            camera_->from_common(std::as_const(common_background_).view(), frames(), background_);
            executor_.synchronize();
            times_.stabilise_ms = watch.ms();
        } else if (clip != nullptr && !clip_) {
            if constexpr (is_gpu<Executor>) {
                rpca::correct_backgrounds(executor_, cpu_, *clip, background_);
            } else {
                rpca::correct_backgrounds(cpu_, *clip, background_);
            }
        }
        if constexpr (is_gpu<Executor>) {
            if (to_.empty()) return;
            const core::Stopwatch back;
            core::copy<float, 4, core::Strided>(executor_, background_, to_);
            executor_.synchronize();
            times_.transfer_ms = back.ms();
        }
    }

    /// The camera, if it moves.
    const rpca::CameraPath* camera() const { return camera_ ? &*camera_ : nullptr; }
    ConstValues frames() { return frames_.view(); }
    /// Of the last `finish`.
    ConstValues backgrounds() const { return background_; }
    /// Frames and values that are solved.
    core::Extents<2> solved_extent() { return values_of(seen()).extent; }
    /// Of the last `load`, `run` or `finish`.
    SeparatorTimes times() const { return times_; }

    template <class T>
    static core::View<T, 2, Space> values_of(const core::View<T, 4, Space>& frames) {
        const index_t count = frames.extent[0];
        return {frames.data, {count, frames.extent[1] * frames.extent[2] * frames.extent[3]}};
    }

  private:
    /// From the first frames and the samples, once.
    void find_clip(core::View<const float, 4, core::Host> first) {
        clip_.emplace(executor_, cpu_, first, std::exchange(samples_, {}), how_);
        if (!clip_->moves()) {
            clip_.reset();
        } else if (how_ == rpca::Stabilise::automatic) {
            // Windows in which the camera stands still are compared with the others, too.
            how_ = rpca::Stabilise::affine;
        }
    }
    ConstValues seen() { return camera_ ? std::as_const(common_).view() : frames(); }

    Executor& executor_;
    core::Cpu& cpu_;
    rpca::Stabilise how_;
    core::View<const float, 4, core::Host> samples_;  ///< until the first frames are there
    std::optional<rpca::MovingClip<Executor>> clip_;  ///< if its camera moves
    core::Resident<Executor, const float, 4> frames_;
    std::optional<rpca::CameraMotion<Executor>> camera_;
    core::Array<float, 4, Space> common_;  ///< frames in their common one
    core::Array<float, 4, Space> common_background_;
    core::Array<float, 4, Space> backgrounds_;  ///< empty on a CPU
    Values background_;
    core::View<float, 4, core::Host> to_;  ///< where the background is to be
    SeparatorTimes times_;
};

}  // namespace aperture::apps
