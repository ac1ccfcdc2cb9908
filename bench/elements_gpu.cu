// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_elements.cuh"
#include "bench/elements_gpu.hpp"

namespace aperture::bench {

void update_filters(core::Gpu& gpu, const KalmanUpdate& model, core::View<float, 2, core::Device> x,
                    core::View<float, 3, core::Device> p,
                    core::View<const float, 2, core::Device> z) {
    dense::for_each_element(gpu, model, dense::in_out<5>(x), dense::in_out<5, 5>(p),
                            dense::in<2>(z));
}

}  // namespace aperture::bench
