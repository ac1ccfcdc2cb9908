// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adaptive processing of a Doppler cube, or of a range chunk of it, with our own kernels, on either
// executor.

#include "libstap/cpu/results.hpp"
#include "libstap/gpu/all_training.cuh"
#include "libstap/gpu/staged_launch.cuh"

namespace aperture::stap::gpu {

/// Cell averaging over the output: statistics for the cells of `chunk`; `output` begins at cell
/// chunk.data_begin.
template <class Executor>
void run_cfar(Executor& executor, const Problem& problem, const RangeChunk& chunk,
              core::View<const cfloat, 3, typename Executor::Space> output,
              core::View<float, 3, typename Executor::Space> statistic) {
    CfarArguments arguments{};
    arguments.output = detail::range_rows(output);
    arguments.statistic = detail::range_rows(statistic);
    arguments.plan = detail::training_plan(problem, chunk);
    arguments.cells = chunk.end - chunk.begin;
    const index_t tiles = (arguments.cells + cfar_threads - 1) / cfar_threads;
    const index_t rows = index_t(problem.steering_vectors) * problem.doppler_bins;
    core::launch(executor, &cfar_kernel<cfar_threads>,
                 core::LaunchConfig(detail::grid_of(rows * tiles), cfar_threads), arguments);
}

/// The statistics of a staged run. The quadratic forms need the factor, which the stages do not
/// keep; the one-kernel pipeline recomputes it from the cube and writes statistics only.
template <class Real, class Executor>
void detect(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
            CubeView<typename Executor::Space> cube, const RangeChunk& chunk,
            const Results<typename Executor::Space>& results) {
    Results<typename Executor::Space> statistic;
    statistic.info = results.info;
    statistic.pivot_ratio = results.pivot_ratio;
    statistic.attempt = results.attempt;
    statistic.statistic = results.statistic;
    run_fused<Real>(executor, workspace, problem, cube, chunk, statistic, true);
}

/// Work after the weighted output of any implementation: missing statistics, attempts after the
/// first, and cell averaging over the cells of `averaged`.
template <class Executor>
void finish_adaptive(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                     const Problem& problem, CubeView<typename Executor::Space> cube,
                     const RangeChunk& chunk, const RangeChunk& averaged,
                     const Results<typename Executor::Space>& results, core::Timeline* timeline) {
    const Parameters& p = problem.parameters;
    const bool forms = is_adaptive(p.detector) && !results.statistic.empty();
    const auto share = [&](const RangeChunk& cells) {
        return detail::share_of(problem, detect_work(problem), cells.end - cells.begin);
    };
    if (forms && p.implementation != Implementation::fused) {
        const auto scope = stage_scope(executor, timeline, "detect", share(chunk));
        detail::with_real(problem, [&](auto real) {
            detect<decltype(real)>(executor, workspace, problem, cube, chunk, results);
        });
    }
    if (p.precision == Precision::automatic && p.training != Training::all) {
        const auto scope = stage_scope(executor, timeline, "repeat", {});
        run_fused<double>(executor, workspace, problem, cube, chunk, results, forms, true);
    }
    if (p.detector == Detector::cfar && !results.statistic.empty()) {
        const auto scope = stage_scope(executor, timeline, "detect", share(averaged));
        run_cfar<Executor>(executor, problem, averaged, results.output, results.statistic);
    }
}

/// Adaptive processing of the cells of a chunk, up to finish_adaptive. Training::all requires the
/// sums over all cells (add_to_total). Does not support Implementation::cublas.
template <class Executor>
void run_adaptive(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  const Problem& problem, CubeView<typename Executor::Space> cube,
                  const RangeChunk& chunk, const Results<typename Executor::Space>& results,
                  core::Timeline* timeline) {
    const Parameters& p = problem.parameters;
    const bool fused = p.implementation == Implementation::fused;
    const bool all = p.training == Training::all;
    detail::with_real(problem, [&](auto real) {
        using Real = decltype(real);
        if (all) judge_total<Real>(executor, workspace, problem, cube, results, timeline);
        if (fused) {
            const auto scope = stage_scope(
                executor, timeline, "adaptive",
                detail::share_of(problem, adaptive_work(problem), chunk.end - chunk.begin));
            const bool statistic = is_adaptive(p.detector) && !results.statistic.empty();
            run_fused<Real>(executor, workspace, problem, cube, chunk, results, statistic);
        } else {
            run_staged<Real>(executor, workspace, problem, cube, chunk, results, timeline);
        }
    });
    if (all) combine_info(executor, workspace, problem, chunk, results);
}

/// Everything behind Doppler processing, for a whole Doppler cube in memory.
template <class Executor>
void adapt_cube(Executor& executor, AdaptiveWorkspace<Executor>& workspace, const Problem& problem,
                CubeView<typename Executor::Space> cube,
                const Results<typename Executor::Space>& results, core::Timeline* timeline) {
    if (problem.parameters.training == Training::all) {
        detail::with_real(problem, [&](auto real) {
            add_to_total<decltype(real)>(executor, workspace, problem, cube, false, timeline);
        });
    }
    const RangeChunk chunk{0, 0, problem.shape.range_cells};
    run_adaptive(executor, workspace, problem, cube, chunk, results, timeline);
    finish_adaptive(executor, workspace, problem, cube, chunk, chunk, results, timeline);
}

}  // namespace aperture::stap::gpu
