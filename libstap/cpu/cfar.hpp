// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/executor.hpp"
#include "aperture/stap/parameters.hpp"

namespace aperture::stap::cpu {

/// Cell-averaging CFAR along range: |y|^2 over its mean in the reference cells (reference_window),
/// 0 if the mean is 0. Both views are [D][K][N].
void cell_averaging_cfar(core::Cpu& cpu, const Problem& problem,
                         core::View<const cfloat, 3, core::Host> output,
                         core::View<float, 3, core::Host> statistic);

}  // namespace aperture::stap::cpu
