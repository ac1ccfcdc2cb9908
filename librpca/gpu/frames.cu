// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/camera_motion.hpp"
#include "librpca/clip_correction.hpp"
#include "librpca/gpu/frame_pixels.cuh"

namespace aperture::rpca {

template class CameraMotion<core::Gpu>;
template class MovingClip<core::Gpu>;

void correct_backgrounds(core::Gpu& gpu, core::Cpu& cpu, const ClipBackground& clip,
                         core::View<float, 4, core::Device> backgrounds) {
    correct_by_clip(gpu, cpu, clip, backgrounds);
}

}  // namespace aperture::rpca
