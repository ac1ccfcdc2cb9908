// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libsignal/gpu/resample.cuh"

namespace aperture::signal {

void gaussian_blur(core::Gpu& gpu, core::View<const float, 2, core::Device> from, float sigma,
                   core::View<float, 2, core::Device> to) {
    gpu::blur_image(gpu, from, sigma, to);
}

void resize(core::Gpu& gpu, core::View<const float, 2, core::Device> from,
            Interpolation interpolation, core::View<float, 2, core::Device> to) {
    gpu::resize_image(gpu, from, interpolation, to);
}

void downsample(core::Gpu& gpu, core::View<const float, 2, core::Device> from,
                core::View<float, 2, core::Device> to) {
    gpu::downsample_image(gpu, from, to);
}

}  // namespace aperture::signal
