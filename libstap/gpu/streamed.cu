// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/cuda_check.hpp"
#include "libstap/gpu/streamed.cuh"

namespace aperture::stap {

namespace gpu {

void pin(core::Gpu&, void* memory, std::size_t bytes) {
    if (bytes > 0) APERTURE_CUDA_TRY(cudaHostRegister(memory, bytes, cudaHostRegisterDefault));
}
void unpin(core::Gpu&, void* memory) noexcept { cudaHostUnregister(memory); }

}  // namespace gpu

void run_streamed(core::Gpu& gpu, const Problem& problem, CubeView<core::Host> cube,
                  core::View<const cfloat, 2, core::Host> steering,
                  const Results<core::Host>& results, std::size_t device_bytes,
                  core::Timeline* timeline) {
    using core::expects;
    const CubeShape& shape = problem.shape;
    expects(problem.parameters.implementation != Implementation::cublas,
            "implementation cublas does not stream; use fused or staged");
    expects(
        cube.extent == std::array<index_t, 3>{shape.channels, shape.pulses, shape.range_cells} &&
            cube.stride[2] == 1,
        "cube of wrong extents or strides");
    expects(
        results.output.extent == std::array<index_t, 3>{problem.steering_vectors,
                                                        problem.doppler_bins, shape.range_cells},
        "output of wrong extents");
    expects(problem.parameters.detector == Detector::none || !results.statistic.empty(),
            "a detector needs a statistic to write");
    constexpr double share_of_free_memory = 0.9;
    if (device_bytes == 0) {
        device_bytes =
            static_cast<std::size_t>(share_of_free_memory * static_cast<double>(gpu.free_memory()));
    }
    core::Gpu second(gpu.device());
    const index_t cells = gpu::cells_of_piece(problem, results, device_bytes, 2);
    gpu::run_in_pieces<core::Gpu>({&gpu, &second}, problem, cube, steering, results, cells,
                                  timeline);
}

}  // namespace aperture::stap
