// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/box_sum.hpp"
#include "libsignal/gpu/box_sum.cuh"

namespace aperture::signal {

void box_sum(core::Gpu& gpu, core::View<const float, 3, core::Device> from, int size,
             core::View<float, 3, core::Device> to) {
    gpu::box_sum_of_planes(gpu, from, size, to);
}

}  // namespace aperture::signal
