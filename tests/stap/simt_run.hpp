// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libstap/gpu/pipeline.cuh"
#include "tests/stap/kernel_cases.hpp"

namespace aperture::stap::kernel_cases {

/// The kernels and their orchestration on the SIMT host executor.
inline HostResults run_simt(const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                            core::View<const cfloat, 2, core::Host> steering,
                            core::LaneOrder order = core::LaneOrder::forward,
                            core::SimtDevice device = core::simt_device()) {
    core::Simt simt(order, 5);
    simt.device = device;
    gpu::AdaptiveWorkspace<core::Simt> workspace;
    gpu::set_steering(simt, workspace, steering);
    HostResults results(problem);
    run_adaptive_stages(problem, gpu::whole_cube_run<core::Simt>(simt, workspace, problem, cube,
                                                                 results.views(problem), nullptr));
    return results;
}

}  // namespace aperture::stap::kernel_cases
