// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the backgrounds of a window are corrected, on every executor.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/resident.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/rpca/clip_background.hpp"
#include "aperture/signal/registration.hpp"
#include "libcore/rounding.hpp"
#include "librpca/frame_pixels.hpp"

namespace aperture::rpca {

/// What becomes the clip's background.
struct ClipCorrection {
    core::Array<std::uint8_t, 1> replaced;  ///< 1 for pixels that have an object
    core::Array<float, 2> ground;           ///< [channel][pixel], in the light of the window
};

/// `median` is that of the window's backgrounds, [channel][row][column].
ClipCorrection clip_correction(core::Cpu& cpu, const ClipBackground& clip,
                               const core::Array<float, 3>& median);

template <class Executor>
void correct_by_clip(Executor& executor, core::Cpu& cpu, const ClipBackground& clip,
                     core::View<float, 4, typename Executor::Space> backgrounds) {
    const auto [channels, rows, columns] = clip.ground.extent();
    const index_t frames = backgrounds.extent[0];
    core::expects_shape("backgrounds", backgrounds, {frames, channels, rows, columns});
    if (frames == 0) return;
    const index_t values = clip.ground.size();
    const index_t step = frame_step(frames);
    FramePixels<Executor> pixels(executor);
    core::Array<float, 3> median(clip.ground.extent());
    core::Resident<Executor, float, 1> found_there(executor, {median.data(), {values}});
    pixels.median({backgrounds.data, {(frames - 1) / step + 1, values}, {step * values, 1}},
                  found_there.view());
    found_there.store();
    executor.synchronize();
    ClipCorrection correction = clip_correction(cpu, clip, median);
    const auto ground = core::to_executor(executor, std::move(correction.ground));
    pixels.replace(std::as_const(correction.replaced).view(), ground.view(),
                   {backgrounds.data, {frames, channels, rows * columns}});
    executor.synchronize();
}

/// Some of the first frames, and behind them some of the sampled ones.
template <class Executor>
struct MovingClip<Executor>::Frames {
    index_t first;
    core::Array<float, 4> here;
    core::Resident<Executor, const float, 4> there;

    Frames(Executor& executor, const DifferencesView<core::Host>& begin,
           const DifferencesView<core::Host>& sampled)
        : there(executor) {
        const index_t step = frame_step(begin.extent[0]);
        const index_t step_of_sampled = frame_step(sampled.extent[0]);
        first = core::ceil_div(begin.extent[0], step);
        here = core::Array<float, 4>({first + core::ceil_div(sampled.extent[0], step_of_sampled),
                                      begin.extent[1], begin.extent[2], begin.extent[3]});
        for (index_t i = 0; i < here.extent()[0]; ++i) {
            const auto frame = i < first ? begin[i * step] : sampled[(i - first) * step_of_sampled];
            std::copy_n(frame.data, frame.size(), here.view()[i].data);
        }
        there.load(std::as_const(here).view());
    }
};

template <class Executor>
MovingClip<Executor>::MovingClip(Executor& executor, core::Cpu& cpu,
                                 DifferencesView<core::Host> first,
                                 DifferencesView<core::Host> sampled, Stabilise how)
    : MovingClip(executor, cpu, Frames(executor, first, sampled), how) {}

template <class Executor>
MovingClip<Executor>::MovingClip(Executor& executor, core::Cpu& cpu, Frames frames, Stabilise how)
    : executor_(executor), cpu_(cpu), camera_(executor, frames.there.view(), how) {
    if (!moves()) return;
    const auto [rows, columns] = camera_.extent();
    core::Array<float, 4> common({frames.here.extent()[0], frames.here.extent()[1], rows, columns});
    core::Resident<Executor, float, 4> moved(executor, common.view());
    camera_.to_common(frames.there.view(), moved.view());
    moved.store();
    executor.synchronize();
    const auto all = std::as_const(common).view();
    background_ = clip_background(cpu, all.slice(0, 0, frames.first),
                                  all.slice(0, frames.first, common.extent()[0]));
}

template <class Executor>
void MovingClip<Executor>::correct(const CameraMotion<Executor>& camera,
                                   typename CameraMotion<Executor>::Frames backgrounds) const {
    const auto map = camera.map_to(camera_);
    if (!map) return;
    const auto [rows, columns] = camera.extent();
    const index_t channels = background_.ground.extent()[0];
    ClipBackground seen{core::Array<float, 3>({channels, rows, columns}),
                        core::Array<float, 2>({rows, columns})};
    for (index_t c = 0; c < channels; ++c) {
        signal::warp(cpu_, background_.ground.view()[c], *map, unseen, seen.ground.view()[c]);
    }
    signal::warp(cpu_, background_.scales.view(), *map, 0, seen.scales.view());
    correct_by_clip(executor_, cpu_, seen, backgrounds);
}

}  // namespace aperture::rpca
