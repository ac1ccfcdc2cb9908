// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "libstap/gpu/cublas_baseline.hpp"
#include "libstap/gpu/gpu_instances.cuh"

namespace aperture::stap {

namespace gpu {
APERTURE_PIPELINE_INSTANCES();
}  // namespace gpu

using core::Device;

template <>
struct Pipeline<core::Gpu>::State {
    core::Gpu& gpu;
    Problem problem;
    gpu::AdaptiveWorkspace<core::Gpu> workspace;
    std::optional<DopplerFilter<core::Gpu>> doppler;
    core::Array<cfloat, 3, Device> doppler_cube;
    std::optional<gpu::CublasBaseline> cublas;

    State(core::Gpu& executor, const Problem& p,
          const core::View<const cfloat, 2, core::Host>& steering)
        : gpu(executor), problem(p) {
        gpu::set_steering(gpu, workspace, steering);
        if (p.shape.domain == Domain::pulse) {
            doppler.emplace(gpu, p);
            doppler_cube = core::Array<cfloat, 3, Device>(
                {p.shape.channels, p.doppler_bins, p.shape.range_cells});
        }
        if (p.parameters.implementation == Implementation::cublas) {
            cublas.emplace(gpu, p, steering);
        }
    }

    void run(CubeView<Device> cube, const Results<Device>& results, core::Timeline* timeline) {
        const CubeShape& shape = problem.shape;
        core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                            core::Strides::unit_last);
        check_results(problem, results);
        if (doppler) {
            const auto scope = gpu::stage_scope(gpu, timeline, "doppler", doppler_work(problem));
            doppler->run(cube, doppler_cube.view());
            cube = doppler_cube.view();
        }
        if (!cublas) {
            gpu::adapt_cube(gpu, workspace, problem, cube, results, timeline);
            return;
        }
        cublas->run(cube, results, timeline);
        const gpu::RangeChunk whole{0, 0, shape.range_cells};
        gpu::finish_adaptive(gpu, workspace, problem, cube, whole, whole, results, timeline);
    }
};

template <class Executor>
Pipeline<Executor>::Pipeline(Executor& executor, const Problem& problem,
                             core::View<const cfloat, 2, core::Host> steering) {
    core::expects_shape("steering", steering, {problem.steering_vectors, problem.order});
    state_ = std::make_unique<State>(executor, problem, steering);
}
template <class Executor>
Pipeline<Executor>::~Pipeline() = default;
template <class Executor>
Pipeline<Executor>::Pipeline(Pipeline&&) noexcept = default;
template <class Executor>
Pipeline<Executor>& Pipeline<Executor>::operator=(Pipeline&&) noexcept = default;

template <class Executor>
void Pipeline<Executor>::run(CubeView<Space> cube, const Results<Space>& results,
                             core::Timeline* timeline) {
    state_->run(cube, results, timeline);
}

template class Pipeline<core::Gpu>;

}  // namespace aperture::stap
