// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/gpu/gpu_instances.cuh"

namespace aperture::stap::gpu {

APERTURE_STAGED_INSTANCES(, float);

}  // namespace aperture::stap::gpu
