// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/core/array.hpp"
#include "libstap/adaptive_stages.hpp"

namespace aperture::stap {

/// Pipeline on any executor. Operations(executor, problem, steering) has the workspace, and
/// `on(cube, results, timeline)` returns the Run of run_adaptive_stages.
template <class Operations>
class PipelineDriver {
  public:
    using Executor = typename Operations::Executor;
    using Space = typename Executor::Space;

    PipelineDriver(Executor& executor, const Problem& problem,
                   const core::View<const cfloat, 2, core::Host>& steering)
        : executor_(executor), problem_(problem), operations_(executor, problem_, steering) {
        const CubeShape& shape = problem.shape;
        if (shape.domain != Domain::pulse) return;
        doppler_.emplace(executor, problem);
        doppler_cube_.reshape({shape.channels, problem.doppler_bins, shape.range_cells});
    }
    PipelineDriver(const PipelineDriver&) = delete;
    PipelineDriver& operator=(const PipelineDriver&) = delete;

    void run(CubeView<Space> cube, const Results<Space>& results, core::Timeline* timeline) {
        const CubeShape& shape = problem_.shape;
        core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                            core::Strides::unit_last);
        check_results(problem_, results);
        if (doppler_) {
            const Work work = doppler_work(problem_);
            const auto stage =
                core::Timeline::stage(timeline, executor_, "doppler", work.gflop, work.mb);
            doppler_->run(cube, doppler_cube_.view());
            cube = doppler_cube_.view();
        }
        run_adaptive_stages(problem_, operations_.on(cube, results, timeline));
    }

  private:
    Executor& executor_;
    Problem problem_;
    Operations operations_;
    std::optional<DopplerFilter<Executor>> doppler_;
    core::Array<cfloat, 3, Space> doppler_cube_;
};

// Pipeline's members. The file that includes this defines Pipeline<Executor>::State, a
// PipelineDriver, and instantiates Pipeline.
template <class Executor>
Pipeline<Executor>::Pipeline(Executor& executor, const Problem& problem,
                             core::View<const cfloat, 2, core::Host> steering) {
    core::expects_shape("steering", steering, {problem.steering_vectors, problem.order});
    state_ = std::make_unique<State>(executor, problem, steering);
}
template <class Executor>
Pipeline<Executor>::~Pipeline() = default;
template <class Executor>
Pipeline<Executor>::Pipeline(Pipeline&&) noexcept = default;
template <class Executor>
Pipeline<Executor>& Pipeline<Executor>::operator=(Pipeline&&) noexcept = default;

template <class Executor>
void Pipeline<Executor>::run(CubeView<Space> cube, const Results<Space>& results,
                             core::Timeline* timeline) {
    state_->run(cube, results, timeline);
}

}  // namespace aperture::stap
