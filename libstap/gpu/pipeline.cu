// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "libstap/gpu/cublas_baseline.hpp"
#include "libstap/gpu/gpu_instances.cuh"

namespace aperture::stap {

using core::Device;
using core::expects;

namespace {

void check_results(const Problem& p, const Results<Device>& results) {
    const std::array<index_t, 3> map = {p.steering_vectors, p.doppler_bins, p.shape.range_cells};
    const std::array<index_t, 2> sets = {p.doppler_bins, p.training_sets};
    const index_t n = p.order;
    expects(results.output.extent == map && results.output.stride[2] == 1,
            "output of wrong extents or strides");
    expects(results.info.extent == sets, "info of wrong extents");
    expects(results.pivot_ratio.extent == sets, "pivot ratio of wrong extents");
    expects(results.covariance.empty() ||
                results.covariance.extent == std::array<index_t, 4>{sets[0], sets[1], n, n},
            "covariance of wrong extents");
    expects(results.weights.empty() ||
                (p.parameters.training != Training::all &&
                 results.weights.extent ==
                     std::array<index_t, 4>{sets[0], sets[1], p.steering_vectors, n}),
            "weights of wrong extents, or wanted of training on all cells");
    expects(p.parameters.detector == Detector::none ||
                (results.statistic.extent == map && results.statistic.stride[2] == 1),
            "statistic of wrong extents or strides");
}

}  // namespace

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
        expects(cube.extent ==
                        std::array<index_t, 3>{shape.channels, shape.pulses, shape.range_cells} &&
                    cube.stride[2] == 1,
                "cube of wrong extents or strides");
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
        gpu::run_detectors(gpu, workspace, problem, cube, {0, 0, shape.range_cells}, results,
                           timeline);
    }
};

template <class Executor>
Pipeline<Executor>::Pipeline(Executor& executor, const Problem& problem,
                             core::View<const cfloat, 2, core::Host> steering) {
    expects(steering.extent == std::array<index_t, 2>{problem.steering_vectors, problem.order},
            "steering of ", steering.extent[0], " x ", steering.extent[1], ", expected ",
            problem.steering_vectors, " vectors of ", problem.order, " elements");
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
