// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Training on all range cells: the sums over the whole cube, their factorisation, and the info of a
// Doppler bin, combined from its cells.

#include "libstap/gpu/fused_launch.cuh"

namespace aperture::stap::gpu {

namespace detail {

/// Work for all cells at once is part of the covariance stage; its cost is already counted with the
/// cells.
template <class Executor>
auto total_stage(const AdaptiveRun<Executor>& run) {
    const bool fused = run.problem.parameters.implementation == Implementation::fused;
    return run.stage(fused ? "adaptive" : "covariance", {});
}

}  // namespace detail

/// Adds the cells in run.cube to the sums over all cells (`keep`), or starts the sums.
template <class Real, class Executor>
void add_to_total(const AdaptiveRun<Executor>& run, bool keep) {
    const auto stage = detail::total_stage(run);
    Executor& executor = run.executor;
    const Problem& problem = run.problem;
    const index_t columns = run.cube.extent[2];
    const index_t packed = triangle_elements(problem.order, false);
    auto* total =
        detail::matrices_in<Complex<Real>>(run.workspace.total, problem.doppler_bins, 1, 1, packed)
            .data;
    const TrainingPlan plan{TrainingCells::total, 0, 0, columns, 0, 0, 0};
    SharedNeeds needs = detail::cube_needs(problem, plan, generic_tuning.bins, sizeof(Real));
    needs.cells = total_tile;
    const SharedLayout layout = detail::shared_layout(executor, needs, generic_tuning.blocks);
    const int splits =
        detail::splits_of(problem, generic_tuning.bins, layout.columns, generic_tuning.threads);
    detail::with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        core::launch(executor, &total_kernel<Real, GenericPolicy<decltype(taps)::value>>,
                     detail::generic_config(problem, 1, layout), detail::doppler_cube(run.cube),
                     plan, keep, total, splits, layout);
    });
}

/// Covariance, info, pivot ratio and, with Precision::automatic, attempt of the sums over all
/// cells; an untrusted one is loaded until it can be trusted.
template <class Real, class Executor>
void check_total(const AdaptiveRun<Executor>& run) {
    const auto stage = detail::total_stage(run);
    auto arguments = detail::common_arguments<Real>(run);
    arguments.plan.kind = TrainingCells::total;
    arguments.sets = 1;
    arguments.attempts.info = core::kernel_view(run.results.info);
    arguments.attempts.pivot_ratio = core::kernel_view(run.results.pivot_ratio);
    arguments.attempts.number = detail::attempt_of_all(run);
    if (!run.results.covariance.empty()) {
        arguments.covariance = core::kernel_view(run.results.covariance);
    }
    launch_adaptive<Real>(run.executor, run.problem, arguments, false);
}

/// Combines the info of a bin's cells.
template <class Executor>
void combine_info(const AdaptiveRun<Executor>& run) {
    const auto cells = core::kernel_view(run.workspace.cell_info.view());
    core::launch(
        run.executor, &combine_info_kernel<core::warp_size>,
        core::LaunchConfig(static_cast<unsigned>(run.problem.doppler_bins), core::warp_size), cells,
        run.piece.adapted.cells(), run.piece.adapted.begin, core::kernel_view(run.results.info),
        detail::attempt_of_all(run));
}

}  // namespace aperture::stap::gpu
