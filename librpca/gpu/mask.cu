// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/mask.cuh"

namespace aperture::rpca {

using core::Device;

void subtract_backgrounds(core::Gpu& gpu, FramesView<const float, Device> frames,
                          FramesView<const float, Device> backgrounds,
                          FramesView<float, Device> differences) {
    gpu::subtract(gpu, frames, backgrounds, differences);
}

double noise_deviation(core::Gpu& gpu, DifferencesView<Device> differences) {
    return gpu::deviation_of_noise(gpu, differences);
}

void pixel_scales(core::Gpu& gpu, DifferencesView<Device> differences, ScalesView<Device> scales) {
    gpu::find_scales(gpu, differences, scales);
}

void follow_scales(core::Gpu& gpu, DifferencesView<Device> differences, MasksView<Device> masks,
                   ScalesView<Device> scales) {
    gpu::update_scales(gpu, differences, masks, scales);
}

double find_masks(core::Gpu& gpu, const MaskInputs<Device>& inputs,
                  const MaskParameters& parameters, MasksView<Device> masks) {
    return gpu::masks_of(gpu, inputs, parameters, masks);
}

}  // namespace aperture::rpca
