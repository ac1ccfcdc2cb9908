// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/correlator.cuh"
#include "libcorr/gpu/cufft_transforms.hpp"
#include "libcorr/gpu/pair_correlator.cuh"

namespace aperture::corr {

template class Correlator<core::Gpu>;
template class PairCorrelator<core::Gpu>;

}  // namespace aperture::corr
