// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/stap/simt_run.hpp"

namespace aperture::stap::kernel_cases {

HostResults run_simt_in(gpu::AdaptiveWorkspace<core::Simt>& workspace, core::Simt& simt,
                        const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                        core::View<const cfloat, 2, core::Host> steering) {
    gpu::set_steering(simt, workspace, steering);
    HostResults results(problem);
    const gpu::AdaptiveRun<core::Simt> run{
        simt, workspace, problem, gpu::whole_cube(problem), cube, results.views(problem), nullptr};
    gpu::adapt(run);
    gpu::complete(run);
    return results;
}

HostResults run_simt(const Problem& problem, core::View<const cfloat, 3, core::Host> cube,
                     core::View<const cfloat, 2, core::Host> steering, core::LaneOrder order,
                     core::SimtDevice device) {
    core::Simt simt(order, 5);
    simt.device = device;
    gpu::AdaptiveWorkspace<core::Simt> workspace;
    return run_simt_in(workspace, simt, problem, cube, steering);
}

}  // namespace aperture::stap::kernel_cases
