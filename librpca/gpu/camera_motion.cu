// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "librpca/gpu/camera_motion.cuh"

namespace aperture::rpca {

template class CameraMotion<core::Gpu>;

}  // namespace aperture::rpca
