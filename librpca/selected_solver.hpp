// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "librpca/alternating_projections.hpp"
#include "librpca/checks.hpp"
#include "librpca/multipliers.hpp"
#include "librpca/workspace.hpp"

namespace aperture::rpca {

/// RobustPca on any executor: the solver that the parameters select. Operations: of Multipliers,
/// with the `most_frames` they can process; Matrix: of AlternatingProjections.
template <class T, class Operations, class Matrix>
class SelectedSolver {
    using Executor = typename Operations::Executor;
    using Space = typename Executor::Space;

  public:
    SelectedSolver(Executor& executor, index_t frames, index_t values, const Parameters& parameters)
        : frames_(frames), values_(values) {
        expects_problem(frames, values, parameters, Operations::most_frames);
        if (parameters.solver == Solver::accaltproj) {
            projections_.emplace(executor, frames, values, parameters);
        } else {
            multipliers_.emplace(executor, frames, values, parameters);
        }
    }

    Outcome run(FramesView<const T, Space> m, FramesView<T, Space> low_rank,
                FramesView<T, Space> sparse, const std::function<bool(const Progress&)>& observe) {
        expects_frames(frames_, values_, m, low_rank, sparse);
        return projections_ ? projections_->run(m, low_rank, sparse, observe)
                            : multipliers_->run(m, low_rank, sparse, observe);
    }

    /// See RobustPca::workspace_bytes.
    static WorkspaceBytes bytes(Executor& executor, index_t frames, index_t values,
                                const Parameters& parameters) {
        const WorkspaceBytes arrays =
            parameters.solver == Solver::accaltproj
                ? AlternatingProjections<T, Matrix>::bytes(executor, frames, values, parameters)
                : Operations::bytes(executor, frames, values, parameters);
        // For objects and lists.
        constexpr index_t least = 1 << 16;
        return {arrays.host + arrays.host / 64 + least, arrays.device};
    }

  private:
    index_t frames_;
    index_t values_;
    std::optional<Multipliers<T, Operations>> multipliers_;
    std::optional<AlternatingProjections<T, Matrix>> projections_;
};

}  // namespace aperture::rpca
