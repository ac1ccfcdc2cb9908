// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the backgrounds of a window are corrected, on every executor.

#include <cstdint>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/resident.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/rpca/clip_background.hpp"
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

}  // namespace aperture::rpca
