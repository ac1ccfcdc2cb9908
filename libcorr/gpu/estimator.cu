// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/surface_estimator.cuh"

namespace aperture::corr {

template class SurfaceEstimator<core::Gpu>;

}  // namespace aperture::corr
