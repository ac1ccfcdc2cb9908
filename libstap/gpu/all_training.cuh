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
auto total_scope(Executor& executor, core::Timeline* timeline, const Problem& problem) {
    const bool fused = problem.parameters.implementation == Implementation::fused;
    return stage_scope(executor, timeline, fused ? "adaptive" : "covariance", {});
}

}  // namespace detail

/// Range cells per tile of the sums over all cells: chunks of a cube begin at multiples.
inline constexpr int total_tile = 64;

/// Adds the cells of the cube in memory to the sums over all cells (`keep`), or starts the sums.
template <class Real, class Executor>
void add_to_total(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  const Problem& problem, CubeView<typename Executor::Space> cube, bool keep,
                  core::Timeline* timeline) {
    const auto scope = detail::total_scope(executor, timeline, problem);
    const index_t packed = triangle_elements(problem.order, false);
    auto* total =
        detail::matrices_in<Complex<Real>>(workspace.total, problem.doppler_bins, 1, 1, packed)
            .data;
    const TrainingPlan plan{TrainingCells::total, 0, 0, cube.extent[2], 0, 0, 0};
    SharedNeeds needs = detail::cube_needs(problem, plan, generic_tuning.bins, sizeof(Real));
    needs.cells = total_tile;
    detail::with_taps(problem.parameters.temporal_taps, [&](auto taps) {
        constexpr int t = decltype(taps)::value;
        TotalArguments<Real> arguments{};
        arguments.cube = detail::doppler_cube(cube);
        arguments.columns = cube.extent[2];
        arguments.keep = keep;
        arguments.total = total;
        arguments.layout = detail::shared_layout(executor, needs, generic_tuning.blocks);
        arguments.splits = detail::splits_of<t>(problem, generic_tuning.bins,
                                                arguments.layout.columns, generic_tuning.threads);
        core::launch(executor, &total_kernel<Real, GenericPolicy<t>>,
                     detail::generic_config(problem, 1, arguments.layout), arguments);
    });
}

/// Covariance, info, pivot ratio and, with Precision::automatic, attempt of the sums over all
/// cells; an untrusted one is loaded until it can be trusted.
template <class Real, class Executor>
void judge_total(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                 CubeView<typename Executor::Space> cube,
                 const Results<typename Executor::Space>& results, core::Timeline* timeline) {
    const auto scope = detail::total_scope(executor, timeline, problem);
    TrainingPlan plan = detail::training_plan(problem, {});
    plan.kind = TrainingCells::total;
    auto arguments = detail::common_arguments<Real>(workspace, problem, cube, plan, 1);
    arguments.total = detail::total_of<Real>(workspace, problem);
    arguments.attempts.info = core::kernel_view(results.info);
    arguments.attempts.pivot_ratio = core::kernel_view(results.pivot_ratio);
    arguments.attempts.number = detail::attempt_of_all(problem, results);
    if (!results.covariance.empty()) arguments.covariance = core::kernel_view(results.covariance);
    detail::launch_for_taps(executor, problem, arguments, false);
}

/// Combines the info of a bin's cells.
template <class Executor>
void combine_info(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  const Problem& problem, const RangeChunk& chunk,
                  const Results<typename Executor::Space>& results) {
    const auto cells = core::kernel_view(workspace.cell_info.view());
    core::launch(executor, &combine_info_kernel<core::warp_size>,
                 core::LaunchConfig(static_cast<unsigned>(problem.doppler_bins), core::warp_size),
                 cells, chunk.end - chunk.begin, chunk.begin, core::kernel_view(results.info),
                 detail::attempt_of_all(problem, results));
}

}  // namespace aperture::stap::gpu
