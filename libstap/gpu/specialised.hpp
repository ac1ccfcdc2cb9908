// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/dense/batch_factor.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::stap::gpu {

/// The source text of the fused kernel with its includes, for NVRTC.
core::KernelSource adaptive_kernel_source();

/// The NVRTC name expression of a shape's register-resident kernel.
std::string adaptive_kernel_name(int order, int taps, bool fp64, dense::Factorisation solver,
                                 bool statistic);

}  // namespace aperture::stap::gpu
