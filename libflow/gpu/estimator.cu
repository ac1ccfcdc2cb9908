// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/estimator.cuh"

namespace aperture::flow {

template class Estimator<core::Gpu>;

}  // namespace aperture::flow
