// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "libstap/gpu/cublas_baseline.hpp"
#include "libstap/gpu/gpu_instances.cuh"
#include "libstap/pipeline_driver.hpp"

namespace aperture::stap {

namespace gpu {
APERTURE_PIPELINE_INSTANCE();
}  // namespace gpu

namespace {

using core::Device;

/// See PipelineDriver.
class GpuOperations {
  public:
    using Executor = core::Gpu;

    GpuOperations(core::Gpu& gpu, const Problem& problem,
                  const core::View<const cfloat, 2, core::Host>& steering)
        : gpu_(gpu), problem_(problem) {
        gpu::set_steering(gpu, workspace_, steering);
        if (problem.parameters.implementation == Implementation::cublas) {
            cublas_.emplace(gpu, problem, steering);
        }
    }

    struct Run : gpu::PipelineRun<core::Gpu> {
        gpu::CublasBaseline* cublas;  ///< null: our own kernels

        void adapt() const {
            if (cublas != nullptr) {
                cublas->run(cube, results, timeline);
            } else {
                PipelineRun::adapt();
            }
        }
    };
    Run on(const CubeView<Device>& cube, const Results<Device>& results, core::Timeline* timeline) {
        return {gpu::whole_cube_run(gpu_, workspace_, problem_, cube, results, timeline),
                cublas_ ? &*cublas_ : nullptr};
    }

  private:
    core::Gpu& gpu_;
    const Problem& problem_;
    gpu::AdaptiveWorkspace<core::Gpu> workspace_;
    std::optional<gpu::CublasBaseline> cublas_;
};

}  // namespace

template <>
struct Pipeline<core::Gpu>::State : PipelineDriver<GpuOperations> {
    using PipelineDriver::PipelineDriver;
};

template class Pipeline<core::Gpu>;

}  // namespace aperture::stap
