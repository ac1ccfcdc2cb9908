// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/gpu/streamed.cuh"
#include "libstap/stage_checks.hpp"
#include "libstap/vector_passes.hpp"

namespace aperture::stap {

void run_streamed(core::Gpu& gpu, const Problem& problem, CubeView<core::Host> cube,
                  core::View<const cfloat, 2, core::Host> steering,
                  const Results<core::Host>& results, std::size_t device_bytes,
                  core::Timeline* timeline) {
    const CubeShape& shape = problem.shape;
    core::expects(problem.parameters.implementation != Implementation::cublas,
                  "implementation cublas does not support streaming; use fused or staged");
    core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                        core::Strides::unit_last);
    core::expects_shape("steering", steering, {problem.steering_vectors, problem.order});
    check_results(problem, results);
    const core::DeviceBudget budget = core::device_budget(gpu, device_bytes);
    core::Gpu second(gpu.device());
    for (const VectorPass& pass : vector_passes(problem)) {
        const Results<core::Host> results_of_pass = pass.part_of(results);
        const index_t cells = gpu::cells_of_piece(pass.problem, results_of_pass, budget, 2);
        gpu::run_in_pieces<core::Gpu>({&gpu, &second}, pass.problem, cube,
                                      pass.part_of(steering, 0), results_of_pass, cells, timeline);
    }
}

}  // namespace aperture::stap
