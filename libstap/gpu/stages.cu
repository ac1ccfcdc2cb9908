// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/stap/stages.hpp"
#include "libstap/gpu/gpu_instances.cuh"

namespace aperture::stap {

namespace {

using core::Device;
using core::expects;

void check_block_training(const Problem& problem) {
    expects(problem.parameters.training == Training::block,
            "the stages train on blocks; use Pipeline for other training");
}

template <class T, int Rank>
void check_extents(const core::View<T, Rank, Device>& view, std::array<index_t, Rank> extents,
                   const char* name) {
    expects(view.extent == extents && view.stride[Rank - 1] == 1, name,
            " of wrong extents or strides");
}

void check_cube(const Problem& p, const CubeView<Device>& cube) {
    check_extents<const cfloat, 3>(cube, {p.shape.channels, p.doppler_bins, p.shape.range_cells},
                                   "cube");
}

gpu::TrainingPlan whole_cube(const Problem& problem) {
    return gpu::detail::training_plan(problem, {0, 0, problem.shape.range_cells});
}

/// Steering vectors row by row, on the device for one call.
class SteeringRows {
  public:
    SteeringRows(core::Gpu& gpu, const core::View<const cfloat, 2, Device>& steering) {
        core::Array<cfloat, 2> host(steering.extent);
        expects(steering.dense(), "steering vectors must be dense");
        core::copy<cfloat, 2, core::Strided>(gpu, steering, host.view());
        gpu.synchronize();
        gpu::set_steering(gpu, workspace_, host.view());
    }
    gpu::SteeringVectors view() const { return gpu::detail::steering_vectors(workspace_.steering); }

  private:
    gpu::AdaptiveWorkspace<core::Gpu> workspace_;
};

}  // namespace

void extract_snapshots(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                       core::View<cfloat, 4, Device> snapshots) {
    check_block_training(problem);
    check_cube(problem, cube);
    check_extents<cfloat, 4>(snapshots,
                             {problem.doppler_bins, problem.training_sets, problem.order,
                              problem.parameters.training_block},
                             "snapshots");
    gpu::detail::extract(gpu, problem, gpu::detail::doppler_cube(cube), whole_cube(problem),
                         problem.training_sets, snapshots);
}

template <class Real>
void estimate_covariance(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                         core::View<std::complex<Real>, 4, Device> covariance) {
    check_block_training(problem);
    check_cube(problem, cube);
    const index_t n = problem.order;
    check_extents<std::complex<Real>, 4>(
        covariance, {problem.doppler_bins, problem.training_sets, n, n}, "covariance");
    gpu::detail::launch_covariance<Real>(gpu, problem, whole_cube(problem),
                                         gpu::detail::doppler_cube(cube), problem.training_sets,
                                         nullptr, gpu::detail::matrices(covariance));
}

/// The steering vectors are turned on the way, which waits for the device.
template <class Real>
void solve_weights(core::Gpu& gpu, const Problem& problem,
                   core::View<const std::complex<Real>, 4, Device> covariance,
                   core::View<const cfloat, 2, Device> steering,
                   core::View<std::complex<Real>, 4, Device> weights,
                   core::View<int, 2, Device> info, core::View<float, 2, Device> pivot_ratio) {
    const index_t n = problem.order;
    const index_t bins = problem.doppler_bins;
    const index_t sets = problem.training_sets;
    check_block_training(problem);
    check_extents<const std::complex<Real>, 4>(covariance, {bins, sets, n, n}, "covariance");
    check_extents<const cfloat, 2>(steering, {problem.steering_vectors, n}, "steering");
    check_extents<std::complex<Real>, 4>(weights, {bins, sets, problem.steering_vectors, n},
                                         "weights");
    expects(info.extent == std::array<index_t, 2>{bins, sets}, "info of wrong extents");
    expects(pivot_ratio.empty() || pivot_ratio.extent == info.extent,
            "pivot ratio of wrong extents");
    const SteeringRows rows(gpu, steering);
    gpu::detail::launch_weights<Real>(gpu, problem, sets, rows.view(),
                                      gpu::detail::matrices(covariance),
                                      gpu::detail::matrices(weights), gpu::detail::per_set(info),
                                      gpu::detail::per_set(pivot_ratio));
    gpu.synchronize();
}

template <class Real>
void apply_weights(core::Gpu& gpu, const Problem& problem, CubeView<Device> cube,
                   core::View<const cfloat, 2, Device> steering,
                   core::View<const std::complex<Real>, 4, Device> weights,
                   core::View<cfloat, 3, Device> output) {
    check_block_training(problem);
    check_cube(problem, cube);
    const index_t n = problem.order;
    check_extents<const cfloat, 2>(steering, {problem.steering_vectors, n}, "steering");
    check_extents<const std::complex<Real>, 4>(
        weights, {problem.doppler_bins, problem.training_sets, problem.steering_vectors, n},
        "weights");
    check_extents<cfloat, 3>(
        output, {problem.steering_vectors, problem.doppler_bins, problem.shape.range_cells},
        "output");
    const SteeringRows rows(gpu, steering);
    gpu::detail::launch_weighting<Real>(
        gpu, problem, whole_cube(problem), gpu::detail::doppler_cube(cube), problem.training_sets,
        rows.view(), gpu::detail::matrices(weights), gpu::detail::range_rows(output));
    gpu.synchronize();
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
