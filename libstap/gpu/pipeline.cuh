// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The stages behind Doppler processing with our own kernels, on either executor of kernels.

#include "libstap/gpu/all_training.cuh"
#include "libstap/gpu/cell_averaging.cuh"
#include "libstap/gpu/staged_launch.cuh"

namespace aperture::stap::gpu {

/// The first attempt at outputs and, with Implementation::fused, at the statistics of an adaptive
/// detector. Does not support Implementation::cublas.
template <class Executor>
void adapt(const AdaptiveRun<Executor>& run) {
    const Parameters& p = run.problem.parameters;
    detail::with_real(run.problem, [&](auto real) {
        using Real = decltype(real);
        if (run.trains_on_all()) {
            if (!run.has_total) add_to_total<Real>(run, false);
            check_total<Real>(run);
        }
        if (p.implementation == Implementation::fused) {
            const auto scope =
                run.stage("adaptive", adaptive_work(run.problem), run.piece.adapted.cells());
            run_fused<Real>(run, is_adaptive(p.detector));
        } else {
            run_staged<Real>(run);
        }
    });
    if (run.trains_on_all()) combine_info(run);
}

namespace detail {

/// The quadratic forms need the factor, which stages do not keep; the one-kernel pipeline
/// recomputes it from the cube and writes statistics only.
template <class Executor>
void detect_after_stages(const AdaptiveRun<Executor>& run) {
    const auto scope = run.stage("detect", detect_work(run.problem), run.piece.adapted.cells());
    AdaptiveRun<Executor> forms = run;
    forms.results.output = {};
    forms.results.covariance = {};
    forms.results.weights = {};
    with_real(run.problem, [&](auto real) { run_fused<decltype(real)>(forms, true); });
}

/// Detector::cfar
template <class Executor>
void average_cells(const AdaptiveRun<Executor>& run) {
    using Output = core::View<const cfloat, 3, typename Executor::Space>;
    const Problem& p = run.problem;
    const RangeSpan wanted = run.piece.wanted;
    const auto scope = run.stage("detect", detect_work(p), wanted.cells());
    const index_t tiles = (wanted.cells() + cfar_threads - 1) / cfar_threads;
    const index_t rows = index_t(p.steering_vectors) * p.doppler_bins;
    core::launch(run.executor, &cfar_kernel<cfar_threads>,
                 core::LaunchConfig(core::blocks_for(rows * tiles, 1), cfar_threads),
                 range_rows(Output(run.results.output)), range_rows(run.results.statistic),
                 training_plan(p, {run.piece.adapted, wanted, {}}), wanted.cells());
}

}  // namespace detail

/// What follows the first attempt: statistics where separate stages computed the outputs, later
/// attempts at the matrices that fp32 cannot be trusted with, and Detector::cfar.
template <class Executor>
void complete(const AdaptiveRun<Executor>& run) {
    const Parameters& p = run.problem.parameters;
    const bool forms = is_adaptive(p.detector);
    if (forms && p.implementation != Implementation::fused) detail::detect_after_stages(run);
    if (p.precision == Precision::automatic && !run.trains_on_all()) {
        const auto scope = run.stage("repeat", {});
        run_fused<double>(run, forms, true);
    }
    if (p.detector == Detector::cfar) detail::average_cells(run);
}

}  // namespace aperture::stap::gpu
