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
    constexpr double share_of_free_memory = 0.9;
    const bool uses_free_memory = device_bytes == 0;
    if (uses_free_memory) {
        device_bytes =
            static_cast<std::size_t>(share_of_free_memory * static_cast<double>(gpu.free_memory()));
    }
    core::Gpu second(gpu.device());
    for (const VectorPass& pass : vector_passes(problem)) {
        const Results<core::Host> results_of_pass = pass.part_of(results);
        index_t cells = 0;
        try {
            cells = gpu::cells_of_piece(pass.problem, results_of_pass, device_bytes, 2);
        } catch (const core::InvalidArgument& too_few) {
            // The caller who did not specify the bytes made no mistake.
            if (uses_free_memory) throw core::UnfitDevice(too_few.what());
            throw;
        }
        gpu::run_in_pieces<core::Gpu>({&gpu, &second}, pass.problem, cube,
                                      pass.part_of(steering, 0), results_of_pass, cells, timeline);
    }
}

}  // namespace aperture::stap
