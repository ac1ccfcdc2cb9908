// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/gpu/solver.cuh"

namespace aperture::flow {

template class SystemSolver<core::Gpu>;

Solver solver_on(const core::Gpu& gpu, Shape shape, const SolverParameters& parameters) {
    return gpu::solver_on(gpu, shape, parameters);
}

ResidualNorms residual_norms(core::Gpu& gpu, const LinearSystem<core::Device>& system,
                             ConstFlowView<core::Device> flow) {
    return gpu::residual_norms(gpu, system, flow);
}

}  // namespace aperture::flow
