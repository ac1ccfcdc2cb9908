// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aperture/dense/batch.hpp"
#include "libcore/gpu/compile_kernel.hpp"

namespace aperture::stap::gpu {

/// The text of the fused kernel and of all it includes, for the run-time compiler.
core::KernelSource adaptive_kernel_source();

/// The expression that names the register-resident kernel of a shape.
std::string adaptive_kernel_name(int order, int taps, bool fp64, dense::Factorisation solver,
                                 bool statistic);

}  // namespace aperture::stap::gpu
