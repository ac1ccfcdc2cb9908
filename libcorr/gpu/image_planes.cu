// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/image_planes.cuh"

namespace aperture::corr {

template class ImagePlanes<core::Gpu>;

}  // namespace aperture::corr
