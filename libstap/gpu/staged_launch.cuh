// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launches one kernel per stage, and single stages.

#include "libstap/gpu/launch_shape.cuh"

namespace aperture::stap::gpu {

namespace detail {

template <class Real, class Executor, class Source>
void launch_covariance(Executor& executor, const Problem& problem, const TrainingPlan& plan,
                       const Source& source, index_t sets, const Complex<Real>* total,
                       const KernelView<Complex<Real>, 4>& covariance,
                       const KernelView<int, 2>& attempt = {}) {
    const SharedLayout layout =
        shared_layout(executor, cube_needs(problem, plan, generic_tuning.bins, sizeof(Real)),
                      generic_tuning.blocks);
    const int splits =
        splits_of(problem, generic_tuning.bins, layout.columns, generic_tuning.threads);
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        core::launch(executor,
                     &covariance_kernel<Real, GenericPolicy<decltype(taps)::value>, Source>,
                     generic_config(problem, sets, layout), source, plan, sets,
                     loading_of(problem, 0), attempt, total, covariance, splits, layout);
    });
}

template <class Real, class Executor>
void launch_weights(Executor& executor, const Problem& problem, const SteeringVectors& steering,
                    const KernelView<const Complex<Real>, 4>& covariance,
                    const KernelView<Complex<Real>, 4>& weights, const KernelView<int, 2>& info,
                    const KernelView<float, 2>& pivot_ratio) {
    SharedNeeds needs;
    needs.bins = generic_tuning.bins;
    needs.order = problem.order;
    needs.square = problem.parameters.solver == dense::Factorisation::gauss_jordan;
    needs.block_solver = true;
    needs.real_bytes = sizeof(Real);
    const SharedLayout layout = shared_layout(executor, needs, generic_tuning.blocks);
    with_solver(problem.parameters.solver, [&](auto elimination) {
        using Solver = BlockSolver<Real, decltype(elimination)::value>;
        core::launch(executor,
                     &weights_kernel<Real, Solver, generic_tuning.bins, generic_tuning.threads>,
                     generic_config(problem, covariance.extent[1], layout), covariance, steering,
                     weights, info, pivot_ratio, layout);
    });
}

template <class Real, class Executor, class Source>
void launch_weighting(Executor& executor, const Problem& problem, const TrainingPlan& plan,
                      const Source& source, index_t sets, const SteeringVectors& steering,
                      const KernelView<const Complex<Real>, 4>& weights,
                      const KernelView<Complex<float>, 3>& output) {
    SharedNeeds needs = cube_needs(problem, plan, generic_tuning.bins, sizeof(float));
    needs.cells = 0;
    needs.sums = false;
    needs.vectors = steering.count;
    const SharedLayout layout = shared_layout(executor, needs, generic_tuning.blocks);
    with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        core::launch(executor,
                     &weighting_kernel<Real, GenericPolicy<decltype(taps)::value>, Source>,
                     generic_config(problem, sets, layout), source, plan, sets, steering, weights,
                     output, layout);
    });
}

/// Rounds matrices to fp32 results, unless these are empty.
template <class Real, class Executor>
void round_matrices(Executor& executor, const KernelView<const Complex<Real>, 4>& from,
                    const core::View<cfloat, 4, typename Executor::Space>& to) {
    if (to.empty()) return;
    constexpr int threads = 128;
    core::launch(executor, &round_matrices_kernel<Real>,
                 core::LaunchConfig(core::blocks_for(to.size(), threads), threads), from,
                 core::kernel_view(to));
}

template <class Executor>
SnapshotArray extract(Executor& executor, const Problem& problem, const DopplerCube& cube,
                      const TrainingPlan& plan, index_t sets,
                      core::View<cfloat, 4, typename Executor::Space> snapshots) {
    const int taps = problem.parameters.temporal_taps;
    const SnapshotArray array{core::kernel_view(snapshots), cube.channels, cube.doppler_bins, taps};
    core::launch(
        executor, &extract_snapshots_kernel<extraction_threads>,
        core::LaunchConfig(core::blocks_for(problem.doppler_bins * sets, 1), extraction_threads),
        cube, plan, sets, array);
    return array;
}

/// Runs the stages on `source` for `sets` training sets from `first_set` of the piece on.
template <class Real, class Executor, class Source>
void run_stages(const AdaptiveRun<Executor>& run, const Source& source, index_t first_set,
                index_t sets, const KernelView<int, 2>& info) {
    Executor& executor = run.executor;
    const Problem& problem = run.problem;
    const auto& results = run.results;
    const index_t n = problem.order;
    const int vectors = problem.steering_vectors;
    const bool all = run.trains_on_all();
    TrainingPlan plan = training_plan(problem, run.piece);
    plan.set_begin += first_set;
    const index_t cells = plan.kind == TrainingCells::block ? sets * plan.block : sets;
    const auto covariance =
        matrices_in<Complex<Real>>(run.workspace.covariance, problem.doppler_bins, sets, n, n);
    const auto weights =
        matrices_in<Complex<Real>>(run.workspace.weights, problem.doppler_bins, sets, vectors, n);
    const SteeringVectors steering = steering_vectors(run.workspace.steering);
    const auto part_of = [&](auto result) {
        return all || result.empty() ? decltype(result){}
                                     : result.slice(1, first_set, first_set + sets);
    };
    {
        const auto scope = run.stage("covariance", covariance_work(problem), cells);
        launch_covariance<Real>(executor, problem, plan, source, sets, total_of<Real>(run),
                                covariance, attempt_of_all(run));
        round_matrices<Real>(executor, covariance, part_of(results.covariance));
    }
    {
        const auto scope = run.stage("weights", weights_work(problem), cells);
        launch_weights<Real>(executor, problem, steering, covariance, weights,
                             info.slice(1, first_set, first_set + sets),
                             core::kernel_view(part_of(results.pivot_ratio)));
        round_matrices<Real>(executor, weights, part_of(results.weights));
    }
    const auto scope = run.stage("weighting", weighting_work(problem), cells);
    launch_weighting<Real>(executor, problem, plan, source, sets, steering, weights,
                           range_rows(results.output));
}

}  // namespace detail

/// One kernel per stage. Block training materialises snapshots; windows overlap and are read from
/// the cube.
template <class Real, class Executor>
void run_staged(const AdaptiveRun<Executor>& run) {
    const Problem& problem = run.problem;
    const index_t sets = run.sets();
    const DopplerCube source = detail::doppler_cube(run.cube);
    const KernelView<int, 2> info = detail::info_of(run);
    if (problem.parameters.training == Training::block) {
        auto& memory = run.workspace.snapshots;
        memory.reshape(
            {problem.doppler_bins, sets, problem.order, problem.parameters.training_block});
        const SnapshotArray snapshots =
            detail::extract(run.executor, problem, source,
                            detail::training_plan(problem, run.piece), sets, memory.view());
        detail::run_stages<Real>(run, snapshots, 0, sets, info);
        return;
    }
    const index_t step = sets_at_a_time(problem, sets, sizeof(Real));
    for (index_t first = 0; first < sets; first += step) {
        detail::run_stages<Real>(run, source, first, std::min(step, sets - first), info);
    }
}

}  // namespace aperture::stap::gpu
