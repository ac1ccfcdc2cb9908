// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/median.hpp"
#include "libsignal/gpu/median.cuh"

namespace aperture::signal {

void median_filter(core::Gpu& gpu, core::View<const float, 2, core::Device> from, int size,
                   core::View<float, 2, core::Device> to) {
    gpu::median_of_image(gpu, from, size, to);
}

}  // namespace aperture::signal
