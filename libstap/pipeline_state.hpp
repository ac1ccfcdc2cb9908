// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "libstap/stage_checks.hpp"
#include "libstap/vector_passes.hpp"

namespace aperture::stap {

/// What follows Doppler processing, with its workspace: `run(cube of Doppler bins, results,
/// timeline)` and `set_loading(loading)`. The file that includes this specialises it and
/// instantiates Pipeline.
template <class Executor>
class AdaptiveStages;

template <class Executor>
struct Pipeline<Executor>::State {
    Executor& executor;
    Problem problem;
    std::vector<std::pair<VectorPass, std::unique_ptr<AdaptiveStages<Executor>>>> passes;
    std::optional<DopplerFilter<Executor>> doppler;
    core::Array<cfloat, 3, Space> doppler_cube;

    State(Executor& e, const Problem& p, const core::View<const cfloat, 2, core::Host>& steering)
        : executor(e), problem(p) {
        for (const VectorPass& pass : vector_passes(p)) {
            passes.emplace_back(pass, std::make_unique<AdaptiveStages<Executor>>(
                                          e, pass.problem, pass.part_of(steering, 0)));
        }
        if (p.shape.domain != Domain::pulse) return;
        doppler.emplace(e, p);
        doppler_cube.reshape({p.shape.channels, p.doppler_bins, p.shape.range_cells});
    }
};

template <class Executor>
Pipeline<Executor>::Pipeline(Executor& executor, const Problem& problem,
                             core::View<const cfloat, 2, core::Host> steering) {
    core::expects_shape("steering", steering, {problem.steering_vectors, problem.order});
    state_ = core::owned(std::make_unique<State>(executor, problem, steering));
}

template <class Executor>
void Pipeline<Executor>::set_loading(const DiagonalLoading& loading) {
    Problem& problem = state_->problem;
    Parameters parameters = problem.parameters;
    parameters.loading = loading;
    problem = make_problem(problem.shape, parameters, problem.steering_vectors);
    for (auto& pass : state_->passes) pass.second->set_loading(loading);
}

template <class Executor>
void Pipeline<Executor>::run(CubeView<Space> cube, const Results<Space>& results,
                             core::Timeline* timeline) {
    State& state = *state_;
    const CubeShape& shape = state.problem.shape;
    core::expects_shape("cube", cube, {shape.channels, shape.pulses, shape.range_cells},
                        core::Strides::unit_last);
    check_results(state.problem, results);
    if (state.doppler) {
        const Work work = doppler_work(state.problem);
        const auto stage =
            core::Timeline::stage(timeline, state.executor, "doppler", work.gflop, work.mb);
        state.doppler->run(cube, state.doppler_cube.view());
        cube = state.doppler_cube.view();
    }
    for (const auto& [pass, adaptive] : state.passes) {
        adaptive->run(cube, pass.part_of(results), timeline);
    }
}

}  // namespace aperture::stap
