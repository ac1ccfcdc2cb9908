// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launches the one-kernel pipeline on a Doppler cube or on a range chunk of it.

#include "libstap/gpu/adaptive_launch.cuh"

namespace aperture::stap::gpu {

namespace detail {

/// Steering vectors in workspace, [n][D].
template <class Space>
SteeringVectors steering_vectors(const core::Array<cfloat, 2, Space>& rows) {
    SteeringVectors vectors{};
    vectors.data = core::device_cast(rows.data());
    vectors.row_stride = static_cast<int>(rows.extent()[1]);
    vectors.count = vectors.row_stride;
    return vectors;
}

inline Loading loading_of(const Problem& problem) {
    const DiagonalLoading& loading = problem.parameters.loading;
    return {loading.relative ? 0 : loading.value, loading.relative ? loading.value : 0};
}

/// Arguments common to all adaptive launches of a chunk.
template <class Real, class Executor>
AdaptiveArguments<Real> common_arguments(AdaptiveWorkspace<Executor>& workspace,
                                         const Problem& problem,
                                         CubeView<typename Executor::Space> cube,
                                         const TrainingPlan& plan, index_t sets) {
    AdaptiveArguments<Real> arguments{};
    arguments.cube = doppler_cube(cube);
    arguments.plan = plan;
    arguments.sets = sets;
    arguments.loading = loading_of(problem);
    arguments.steering = steering_vectors(workspace.steering);
    return arguments;
}

template <class Real, class Executor>
const Complex<Real>* total_of(const AdaptiveWorkspace<Executor>& workspace,
                              const Problem& problem) {
    if (problem.parameters.training != Training::all) return nullptr;
    return reinterpret_cast<const Complex<Real>*>(workspace.total.data());
}

template <class Real, class Executor>
void launch_for_taps(Executor& executor, const Problem& problem,
                     const AdaptiveArguments<Real>& arguments, bool statistic) {
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        launch_adaptive<Real>(executor, problem, arguments, statistic, taps);
    });
}

/// The share of a whole cube's work for `cells` range cells.
inline Work share_of(const Problem& problem, const Work& whole, index_t cells) {
    const double share = double(cells) / double(problem.shape.range_cells);
    return {whole.gflop * share, whole.mb * share};
}

/// The attempts of the sums over all cells, for every cell; null if there are none.
template <class Space>
KernelView<int, 2> attempt_of_all(const Problem& problem, const Results<Space>& results) {
    const Parameters& p = problem.parameters;
    if (p.training != Training::all || p.precision != Precision::automatic) return {};
    auto of_cells = core::kernel_view(results.attempt);
    of_cells.extent[1] = problem.shape.range_cells;
    of_cells.stride[1] = 0;
    return of_cells;
}

/// Destination of a launch's info: per set, or per cell before combine_info.
template <class Executor>
KernelView<int, 2> info_of(AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                           const RangeChunk& chunk,
                           const Results<typename Executor::Space>& results) {
    if (problem.parameters.training != Training::all) return core::kernel_view(results.info);
    workspace.cell_info.reshape({problem.doppler_bins, chunk.end - chunk.begin});
    return core::kernel_view(workspace.cell_info.view());
}

}  // namespace detail

/// Outputs, and statistics if `statistic`, by the one-kernel pipeline. With `repeats`, only for
/// matrices whose info and pivot ratio show that fp32 does not suffice (Real = double).
template <class Real, class Executor>
void run_fused(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
               CubeView<typename Executor::Space> cube, const RangeChunk& chunk,
               const Results<typename Executor::Space>& results, bool statistic,
               bool repeats = false) {
    auto arguments = detail::common_arguments<Real>(workspace, problem, cube,
                                                    detail::training_plan(problem, chunk),
                                                    detail::sets_of(problem, chunk));
    arguments.total = detail::total_of<Real>(workspace, problem);
    arguments.detector = problem.parameters.detector;
    arguments.attempts.info = detail::info_of(workspace, problem, chunk, results);
    if (!results.output.empty()) arguments.output = detail::range_rows(results.output);
    if (statistic) arguments.statistic = detail::range_rows(results.statistic);
    arguments.attempts.number =
        repeats ? core::kernel_view(results.attempt) : detail::attempt_of_all(problem, results);
    if (arguments.plan.kind != TrainingCells::all) {
        arguments.attempts.pivot_ratio = core::kernel_view(results.pivot_ratio);
        if (!results.covariance.empty())
            arguments.covariance = core::kernel_view(results.covariance);
        if (!results.weights.empty()) arguments.weights = core::kernel_view(results.weights);
    }
    detail::launch_for_taps(executor, problem, arguments, statistic);
}

}  // namespace aperture::stap::gpu
