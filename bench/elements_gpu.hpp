// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch.hpp"
#include "docs/examples/kalman_update.hpp"

/// What nvcc compiles for bench/elements.cpp.
namespace aperture::bench {

#if APERTURE_CUDA
/// for_each_element with `threads` = 1.
void update_filters(core::Gpu& gpu, const KalmanUpdate& model, core::View<float, 2, core::Device> x,
                    core::View<float, 3, core::Device> p,
                    core::View<const float, 2, core::Device> z);
#endif

}  // namespace aperture::bench
