// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "aperture/core/shape.hpp"
#include "librpca/alternating_projections.hpp"
#include "librpca/multipliers.hpp"

/// RobustPca on any executor: its checks, and the solver that the parameters select.
namespace aperture::rpca {

/// What an executor has for the solvers: Operations of Multipliers, with the `most_frames` they can
/// process, and Matrix of AlternatingProjections.
template <class T, class Executor>
struct SolverParts;

template <std::floating_point T, class Executor>
struct RobustPca<T, Executor>::State {
    using Operations = typename SolverParts<T, Executor>::Operations;
    using Projections = AlternatingProjections<T, typename SolverParts<T, Executor>::Matrix>;

    index_t frames;
    index_t values;
    std::optional<Multipliers<T, Operations>> multipliers = {};
    std::optional<Projections> projections = {};
};

template <std::floating_point T, class Executor>
RobustPca<T, Executor>::RobustPca(Executor& executor, index_t frames, index_t values,
                                  const Parameters& parameters)
    : state_(core::owned(std::unique_ptr<State>(new State{frames, values}))) {
    validate(parameters);
    core::expects(frames > 0 && values > 0, "a matrix of ", values, " values of ", frames,
                  " frames is empty");
    core::expects(frames <= State::Operations::most_frames, frames,
                  " frames exceed the device maximum of ", State::Operations::most_frames);
    core::expects(parameters.svd == Svd::gram || values >= frames,
                  "a QR requires at least as many values as frames, has ", values, " and ", frames);
    if (parameters.solver == Solver::accaltproj) {
        state_->projections.emplace(executor, frames, values, parameters);
    } else {
        state_->multipliers.emplace(executor, frames, values, parameters);
    }
}
template <std::floating_point T, class Executor>
WorkspaceBytes RobustPca<T, Executor>::workspace_bytes(Executor& executor, index_t frames,
                                                       index_t values,
                                                       const Parameters& parameters) {
    const WorkspaceBytes arrays =
        parameters.solver == Solver::accaltproj
            ? State::Projections::bytes(executor, frames, values, parameters)
            : State::Operations::bytes(executor, frames, values, parameters);
    // For objects and lists.
    constexpr index_t least = 1 << 16;
    return {arrays.host + arrays.host / 64 + least, arrays.device};
}

template <std::floating_point T, class Executor>
Outcome RobustPca<T, Executor>::run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                                    FramesView<T, Space> sparse,
                                    const std::function<bool(const Progress&)>& observe) {
    const auto check = [&](const char* name, const auto& view) {
        core::expects_shape(name, view, {state_->frames, state_->values}, core::Strides::unit_last);
    };
    check("frames", m);
    if (!low_rank.empty()) check("low_rank", low_rank);
    if (!sparse.empty()) check("sparse", sparse);
    return state_->projections ? state_->projections->run(m, low_rank, sparse, observe)
                               : state_->multipliers->run(m, low_rank, sparse, observe);
}

template <std::floating_point T, class Executor>
void RobustPca<T, Executor>::set_lambda(double lambda) {
    validate({.lambda = lambda});
    if (state_->multipliers) state_->multipliers->set_lambda(lambda);
}

}  // namespace aperture::rpca
