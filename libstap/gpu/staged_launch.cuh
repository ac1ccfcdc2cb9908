// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launches one kernel per stage on a Doppler cube or on a range chunk of it, and single stages.

#include "libstap/gpu/fused_launch.cuh"

namespace aperture::stap::gpu {

namespace detail {

template <class Real, class Executor, class Source>
void launch_covariance(Executor& executor, const Problem& problem, const TrainingPlan& plan,
                       const Source& source, index_t sets, const Complex<Real>* total,
                       const KernelView<Complex<Real>, 4>& covariance,
                       const KernelView<int, 2>& attempt = {}) {
    CovarianceArguments<Real, Source> arguments{};
    arguments.source = source;
    arguments.plan = plan;
    arguments.sets = sets;
    arguments.loading = loading_of(problem);
    arguments.attempt = attempt;
    arguments.total = total;
    arguments.covariance = covariance;
    arguments.layout =
        shared_layout(executor, cube_needs(problem, plan, generic_tuning.bins, sizeof(Real)),
                      generic_tuning.blocks);
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        constexpr int t = decltype(taps)::value;
        arguments.splits = splits_of<t>(problem, generic_tuning.bins, arguments.layout.columns,
                                        generic_tuning.threads);
        core::launch(executor, &covariance_kernel<Real, GenericPolicy<t>, Source>,
                     generic_config(problem, sets, arguments.layout), arguments);
    });
}

template <class Real, class Executor>
void launch_weights(Executor& executor, const Problem& problem, index_t sets,
                    const SteeringVectors& steering,
                    const KernelView<const Complex<Real>, 4>& covariance,
                    const KernelView<Complex<Real>, 4>& weights, const KernelView<int, 2>& info,
                    const KernelView<float, 2>& pivot_ratio) {
    WeightsArguments<Real> arguments{};
    arguments.covariance = covariance;
    arguments.sets = sets;
    arguments.bins = problem.doppler_bins;
    arguments.order = problem.order;
    arguments.steering = steering;
    arguments.weights = weights;
    arguments.info = info;
    arguments.pivot_ratio = pivot_ratio;
    SharedNeeds needs;
    needs.bins = generic_tuning.bins;
    needs.order = problem.order;
    needs.square = problem.parameters.solver == dense::Factorisation::gauss_jordan;
    needs.block_solver = true;
    needs.real_bytes = sizeof(Real);
    arguments.layout = shared_layout(executor, needs, generic_tuning.blocks);
    with_solver(problem.parameters.solver, [&](auto elimination) {
        using Solver = BlockSolver<Real, decltype(elimination)::value>;
        core::launch(executor,
                     &weights_kernel<Real, Solver, generic_tuning.bins, generic_tuning.threads>,
                     generic_config(problem, sets, arguments.layout), arguments);
    });
}

template <class Real, class Executor, class Source>
void launch_weighting(Executor& executor, const Problem& problem, const TrainingPlan& plan,
                      const Source& source, index_t sets, const SteeringVectors& steering,
                      const KernelView<const Complex<Real>, 4>& weights,
                      const KernelView<Complex<float>, 3>& output) {
    WeightingArguments<Real, Source> arguments{};
    arguments.source = source;
    arguments.plan = plan;
    arguments.sets = sets;
    arguments.steering = steering;
    arguments.weights = weights;
    arguments.output = output;
    SharedNeeds needs = cube_needs(problem, plan, generic_tuning.bins, sizeof(float));
    needs.cells = 0;
    needs.sums = false;
    needs.vectors = steering.count;
    arguments.layout = shared_layout(executor, needs, generic_tuning.blocks);
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        constexpr int t = decltype(taps)::value;
        core::launch(executor, &weighting_kernel<Real, GenericPolicy<t>, Source>,
                     generic_config(problem, sets, arguments.layout), arguments);
    });
}

/// Rounds matrices [bins][sets] to fp32.
template <class Real, class Executor>
void round_matrices(Executor& executor, index_t bins, index_t sets,
                    const KernelView<const Complex<Real>, 4>& from,
                    core::View<cfloat, 4, typename Executor::Space> to) {
    constexpr int threads = 128;
    const index_t entries = bins * sets * to.extent[2] * to.extent[3];
    core::launch(executor, &round_matrices_kernel<Real>,
                 core::LaunchConfig(grid_of((entries + threads - 1) / threads), threads), from,
                 core::kernel_view(to), bins, sets, static_cast<int>(to.extent[2]),
                 static_cast<int>(to.extent[3]));
}

/// Stores a result of `sets` training sets from `first_set` on, unless `to` is empty.
template <class Real, class Executor>
void store_where_wanted(Executor& executor, const Problem& problem, index_t sets,
                        const KernelView<const Complex<Real>, 4>& from,
                        core::View<cfloat, 4, typename Executor::Space> to, index_t first_set) {
    if (to.empty()) return;
    round_matrices<Real>(executor, problem.doppler_bins, sets, from,
                         to.slice(1, first_set, first_set + sets));
}

template <class Executor>
SnapshotArray extract(Executor& executor, const Problem& problem, const DopplerCube& cube,
                      const TrainingPlan& plan, index_t sets,
                      core::View<cfloat, 4, typename Executor::Space> snapshots) {
    const int taps = problem.parameters.temporal_taps;
    const SnapshotArray array{core::kernel_view(snapshots), cube.channels, cube.doppler_bins, taps};
    core::launch(executor, &extract_snapshots_kernel<extraction_threads>,
                 core::LaunchConfig(grid_of(problem.doppler_bins * sets), extraction_threads), cube,
                 plan, sets, array);
    return array;
}

/// Runs the stages on `source` for `sets` training sets from `first_set` of the chunk on.
template <class Real, class Executor, class Source>
void run_stages(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                const Source& source, TrainingPlan plan, index_t first_set, index_t sets,
                const KernelView<int, 2>& info, const Results<typename Executor::Space>& results,
                core::Timeline* timeline) {
    const index_t n = problem.order;
    const int vectors = problem.steering_vectors;
    const index_t cells = plan.kind == TrainingCells::block ? sets * plan.block : sets;
    const bool all = plan.kind == TrainingCells::all;
    plan.set_begin += first_set;
    const auto covariance =
        matrices_in<Complex<Real>>(workspace.covariance, problem.doppler_bins, sets, n, n);
    const auto weights =
        matrices_in<Complex<Real>>(workspace.weights, problem.doppler_bins, sets, vectors, n);
    const SteeringVectors steering = steering_vectors(workspace.steering);
    {
        const auto scope = stage_scope(executor, timeline, "covariance",
                                       share_of(problem, covariance_work(problem), cells));
        launch_covariance<Real>(executor, problem, plan, source, sets,
                                total_of<Real>(workspace, problem), covariance,
                                attempt_of_all(problem, results));
        if (!all) {
            store_where_wanted<Real>(executor, problem, sets, covariance, results.covariance,
                                     first_set);
        }
    }
    {
        const auto scope = stage_scope(executor, timeline, "weights",
                                       share_of(problem, weights_work(problem), cells));
        KernelView<float, 2> ratio;
        if (!all) {
            ratio = core::kernel_view(results.pivot_ratio.slice(1, first_set, first_set + sets));
        }
        launch_weights<Real>(executor, problem, sets, steering, covariance, weights,
                             info.slice(1, first_set, first_set + sets), ratio);
        if (!all) {
            store_where_wanted<Real>(executor, problem, sets, weights, results.weights, first_set);
        }
    }
    const auto scope = stage_scope(executor, timeline, "weighting",
                                   share_of(problem, weighting_work(problem), cells));
    launch_weighting<Real>(executor, problem, plan, source, sets, steering, weights,
                           range_rows(results.output));
}

}  // namespace detail

/// One kernel per stage. Block training materialises snapshots; windows overlap and are read from
/// the cube.
template <class Real, class Executor>
void run_staged(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                CubeView<typename Executor::Space> cube, const RangeChunk& chunk,
                const Results<typename Executor::Space>& results, core::Timeline* timeline) {
    const TrainingPlan plan = detail::training_plan(problem, chunk);
    const index_t sets = detail::sets_of(problem, chunk);
    const DopplerCube source = detail::doppler_cube(cube);
    const KernelView<int, 2> info = detail::info_of(workspace, problem, chunk, results);
    if (plan.kind == TrainingCells::block) {
        workspace.snapshots.reshape({problem.doppler_bins, sets, problem.order, plan.block});
        const SnapshotArray snapshots =
            detail::extract(executor, problem, source, plan, sets, workspace.snapshots.view());
        detail::run_stages<Real>(executor, workspace, problem, snapshots, plan, 0, sets, info,
                                 results, timeline);
        return;
    }
    const index_t step = sets_at_a_time(problem, sets, sizeof(Real));
    for (index_t first = 0; first < sets; first += step) {
        detail::run_stages<Real>(executor, workspace, problem, source, plan, first,
                                 std::min(step, sets - first), info, results, timeline);
    }
}

}  // namespace aperture::stap::gpu
