// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The stages of a pipeline with our own kernels, on either executor of kernels.

#include "libstap/adaptive_stages.hpp"
#include "libstap/gpu/all_training.cuh"
#include "libstap/gpu/staged_launch.cuh"

namespace aperture::stap::gpu {

/// See run_adaptive_stages. Does not support Implementation::cublas.
template <class Executor>
struct PipelineRun : Adaptation<Executor> {
    bool has_total = false;  ///< whether the sums over all cells are complete (add_to_total)

    void adapt() const {
        const Parameters& p = this->problem.parameters;
        detail::with_real(this->problem, [&](auto real) {
            using Real = decltype(real);
            if (this->trains_on_all()) {
                if (!has_total) add_to_total<Real>(*this, false);
                check_total<Real>(*this);
            }
            if (p.implementation == Implementation::fused) {
                const auto scope = this->stage("adaptive", adaptive_work(this->problem),
                                               count(this->piece.adapted));
                run_fused<Real>(*this, is_adaptive(p.detector));
            } else {
                run_staged<Real>(*this);
            }
        });
        if (this->trains_on_all()) combine_info(*this);
    }

    /// The quadratic forms need the factor, which stages do not keep; the one-kernel pipeline
    /// recomputes it from the cube and writes statistics only.
    void detect() const {
        const auto scope =
            this->stage("detect", detect_work(this->problem), count(this->piece.adapted));
        Adaptation<Executor> forms = *this;
        forms.results.output = {};
        forms.results.covariance = {};
        forms.results.weights = {};
        detail::with_real(this->problem,
                          [&](auto real) { run_fused<decltype(real)>(forms, true); });
    }

    void repeat() const {
        const auto scope = this->stage("repeat", {});
        run_fused<double>(*this, is_adaptive(this->problem.parameters.detector), true);
    }

    void average() const {
        using Output = core::View<const cfloat, 3, typename Executor::Space>;
        const Problem& p = this->problem;
        const RangeSpan adapted = this->piece.adapted;
        const RangeSpan wanted = this->piece.wanted;
        const auto scope = this->stage("detect", detect_work(p), count(wanted));
        CfarArguments arguments{};
        arguments.output = detail::range_rows(Output(this->results.output));
        arguments.statistic = detail::range_rows(this->results.statistic);
        arguments.plan = detail::training_plan(p, {adapted, wanted, {}});
        arguments.cells = count(wanted);
        const index_t tiles = (arguments.cells + cfar_threads - 1) / cfar_threads;
        const index_t rows = index_t(p.steering_vectors) * p.doppler_bins;
        core::launch(this->executor, &cfar_kernel<cfar_threads>,
                     core::LaunchConfig(detail::grid_of(rows * tiles), cfar_threads), arguments);
    }
};

/// The stages behind Doppler processing, for a whole Doppler cube in memory.
template <class Executor>
PipelineRun<Executor> whole_cube_run(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                                     const Problem& problem,
                                     const CubeView<typename Executor::Space>& cube,
                                     const Results<typename Executor::Space>& results,
                                     core::Timeline* timeline) {
    return {{executor, workspace, problem, whole_cube(problem), cube, results, timeline}};
}

}  // namespace aperture::stap::gpu
