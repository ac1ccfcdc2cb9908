// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "libcore/gpu/cuda_check.hpp"
#include "libstap/gpu/gpu_instances.cuh"
#include "libstap/stage_checks.hpp"

namespace aperture::stap {

namespace {

using core::Device;

gpu::TrainingPlan whole_plan(const Problem& problem) {
    return gpu::detail::training_plan(problem, gpu::whole_cube(problem));
}

struct FreeInStream {
    CUstream_st* stream;
    void operator()(void* block) const noexcept { cudaFreeAsync(block, stream); }
};

/// Steering vectors as [n][D], in memory of the device's pool that is freed in stream order after
/// the launches of a call.
class SteeringRows {
  public:
    SteeringRows(core::Gpu& gpu, const core::View<const cfloat, 2, Device>& steering)
        : vectors_(steering.extent[0]), rows_(nullptr, FreeInStream{gpu.stream()}) {
        const index_t order = steering.extent[1];
        void* block = nullptr;
        APERTURE_CUDA_TRY(cudaMallocAsync(
            &block, static_cast<std::size_t>(vectors_ * order) * sizeof(cfloat), gpu.stream()));
        rows_.reset(static_cast<cfloat*>(block));
        gpu::detail::round_matrices<float>(gpu,
                                           {core::device_cast(steering.data),
                                            {1, 1, order, vectors_},
                                            {0, 0, steering.stride[1], steering.stride[0]}},
                                           {rows_.get(), {1, 1, order, vectors_}});
    }
    gpu::SteeringVectors view() const {
        return {core::device_cast(rows_.get()), static_cast<int>(vectors_)};
    }

  private:
    index_t vectors_;
    std::unique_ptr<cfloat, FreeInStream> rows_;
};

}  // namespace

void extract_snapshots(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                       core::View<cfloat, 4, Device> snapshots) {
    check_snapshots(problem, cube, snapshots);
    gpu::detail::extract(gpu, problem, gpu::detail::doppler_cube(cube), whole_plan(problem),
                         problem.training_sets, snapshots);
}

template <class Real>
void estimate_covariance(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                         core::View<std::complex<Real>, 4, Device> covariance) {
    check_cube(problem, cube);
    check_covariance(problem, covariance);
    gpu::detail::launch_covariance<Real>(gpu, problem, whole_plan(problem),
                                         gpu::detail::doppler_cube(cube), problem.training_sets,
                                         nullptr, core::kernel_view(covariance));
}

template <class Real>
void solve_weights(core::Gpu& gpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, Device> covariance,
                   core::View<const cfloat, 2, Device> steering,
                   core::View<std::complex<Real>, 4, Device> weights,
                   core::View<int, 2, Device> info, core::View<float, 2, Device> pivot_ratio) {
    check_covariance(problem, covariance);
    check_weights(problem, steering, weights, core::Strides::dense);
    check_report(problem, info, pivot_ratio);
    const SteeringRows rows(gpu, steering);
    gpu::detail::launch_weights<Real>(gpu, problem, rows.view(), core::kernel_view(covariance),
                                      core::kernel_view(weights), core::kernel_view(info),
                                      core::kernel_view(pivot_ratio));
}

template <class Real>
void apply_weights(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                   core::View<const cfloat, 2, Device> steering,
                   core::View<const std::complex<Real>, 4, Device> weights,
                   core::View<cfloat, 3, Device> output) {
    check_cube(problem, cube);
    check_weights(problem, steering, weights, core::Strides::any);
    check_map("output", problem, output);
    const SteeringRows rows(gpu, steering);
    gpu::detail::launch_weighting<Real>(
        gpu, problem, whole_plan(problem), gpu::detail::doppler_cube(cube), problem.training_sets,
        rows.view(), core::kernel_view(weights), gpu::detail::range_rows(output));
}

void adapt_cube(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                core::View<const cfloat, 2, Device> steering, core::View<cfloat, 3, Device> output,
                core::View<int, 2, Device> info, core::View<float, 2, Device> pivot_ratio) {
    check_cube(problem, cube);
    check_steering(problem, steering);
    check_map("output", problem, output);
    check_report(problem, info, pivot_ratio);
    const SteeringRows rows(gpu, steering);
    gpu::AdaptiveArguments<float> arguments{};
    arguments.cube = gpu::detail::doppler_cube(cube);
    arguments.plan = whole_plan(problem);
    arguments.sets = problem.training_sets;
    arguments.loading = loading_of(problem, 0);
    arguments.steering = rows.view();
    arguments.output = gpu::detail::range_rows(output);
    arguments.attempts.info = core::kernel_view(info);
    arguments.attempts.pivot_ratio = core::kernel_view(pivot_ratio);
    gpu::launch_adaptive<float>(gpu, problem, arguments, false);
}

#define APERTURE_STAGES(Real)                                                              \
    template void estimate_covariance(core::Gpu&, const Problem&, CubeView<Device>,        \
                                      core::View<std::complex<Real>, 4, Device>);          \
    template void solve_weights<Real>(                                                     \
        core::Gpu&, const Problem&, core::View<const std::complex<Real>, 4, Device>,       \
        core::View<const cfloat, 2, Device>, core::View<std::complex<Real>, 4, Device>,    \
        core::View<int, 2, Device>, core::View<float, 2, Device>);                         \
    template void apply_weights<Real>(                                                     \
        core::Gpu&, const Problem&, CubeView<Device>, core::View<const cfloat, 2, Device>, \
        core::View<const std::complex<Real>, 4, Device>, core::View<cfloat, 3, Device>)
APERTURE_STAGES(float);
APERTURE_STAGES(double);
#undef APERTURE_STAGES

}  // namespace aperture::stap
