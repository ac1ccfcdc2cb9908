// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "libstap/gpu/cublas_baseline.hpp"
#include "libstap/gpu/gpu_instances.cuh"
#include "libstap/pipeline_state.hpp"

namespace aperture::stap {

namespace gpu {
APERTURE_PIPELINE_INSTANCES();
}  // namespace gpu

template <>
class AdaptiveStages<core::Gpu> {
  public:
    AdaptiveStages(core::Gpu& gpu, const Problem& problem,
                   const core::View<const cfloat, 2, core::Host>& steering)
        : gpu_(gpu), problem_(problem) {
        gpu::set_steering(gpu, workspace_, steering);
        if (problem.parameters.implementation == Implementation::cublas) {
            cublas_.emplace(gpu, problem_, steering);
        }
    }

    void set_loading(const DiagonalLoading& loading) { problem_.parameters.loading = loading; }

    void run(const CubeView<core::Device>& cube, const Results<core::Device>& results,
             core::Timeline* timeline) {
        const gpu::AdaptiveRun<core::Gpu> run{gpu_, workspace_, problem_, gpu::whole_cube(problem_),
                                              cube, results,    timeline};
        if (cublas_) {
            cublas_->run(cube, results, timeline);
        } else {
            gpu::adapt(run);
        }
        gpu::complete(run);
    }

  private:
    core::Gpu& gpu_;
    Problem problem_;
    gpu::AdaptiveWorkspace<core::Gpu> workspace_;
    std::optional<gpu::CublasBaseline> cublas_;
};

template class Pipeline<core::Gpu>;

}  // namespace aperture::stap
