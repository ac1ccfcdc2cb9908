// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/correlator.cuh"
#include "libcorr/gpu/cufft_transforms.hpp"

namespace aperture::corr {

template class Correlator<core::Gpu>;

}  // namespace aperture::corr
