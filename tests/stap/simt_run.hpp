// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libstap/gpu/pipeline.cuh"
#include "tests/stap/kernel_cases.hpp"

namespace aperture::stap::kernel_cases {

/// The kernels and their orchestration on the SIMT host executor, in `workspace`.
HostResults run_simt_in(gpu::AdaptiveWorkspace<core::Simt>& workspace, core::Simt& simt,
                        const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                        core::View<const cfloat, 2, core::Host> steering);

HostResults run_simt(const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                     core::View<const cfloat, 2, core::Host> steering,
                     core::LaneOrder order = core::LaneOrder::forward,
                     core::SimtDevice device = core::simt_device());

}  // namespace aperture::stap::kernel_cases
