// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/conjugate_gradients.cuh"

namespace aperture::flow::gpu {

template class ConjugateGradients<core::Gpu>;

}  // namespace aperture::flow::gpu
