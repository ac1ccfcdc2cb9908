// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/sweeps_launch.cuh"

namespace aperture::flow::gpu {

template class Sweeps<core::Gpu>;

}  // namespace aperture::flow::gpu
