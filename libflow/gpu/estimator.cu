// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/estimator.cuh"

namespace aperture::flow {

template class Estimator<core::Gpu>;

void warp(core::Gpu& gpu, ImageView<core::Device> image, ConstFlowView<core::Device> flow,
          signal::Interpolation interpolation, core::View<float, 2, core::Device> to) {
    gpu::warp_image(gpu, image, flow, interpolation, to);
}

}  // namespace aperture::flow
