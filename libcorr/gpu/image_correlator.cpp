// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/image_correlator.hpp"

namespace aperture::corr {

template class ImageCorrelator<core::Gpu>;

}  // namespace aperture::corr
