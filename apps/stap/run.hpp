// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/stap/pipeline.hpp"
#include "apps/common/report.hpp"
#include "apps/stap/configuration.hpp"

namespace aperture::apps {

/// Memory for the results of a run; arrays that are not requested stay empty.
struct ResultArrays {
    core::Array<stap::cfloat, 3> output;
    core::Array<int, 2> info;
    core::Array<float, 2> pivot_ratio;
    core::Array<stap::cfloat, 4> covariance;
    core::Array<stap::cfloat, 4> weights;
    core::Array<float, 3> statistic;
    core::Array<int, 2> attempt;

    ResultArrays(const stap::Problem& problem, const SavedResults& wanted);
    stap::Results<core::Host> views() {
        return {output, info, pivot_ratio, covariance, weights, statistic, attempt};
    }
};

/// Runs the pipeline on a cube in host memory: `repeat` times after a warm-up, or once if `repeat`
/// is 0. A cube that does not fit the GPU with its results is streamed in range pieces.
template <class Executor>
RunTimes run_on(Executor& executor, const Configuration& setup, stap::CubeView<core::Host> cube,
                ResultArrays& results, int repeat, Console& console);
/// The same on a cube in the executor's memory, where it `fits`.
template <class Executor>
RunTimes run_on_resident(Executor& executor, const Configuration& setup,
                         stap::CubeView<typename Executor::Space> cube, ResultArrays& results,
                         int repeat, Console& console);
/// Whether a cube in host memory fits the executor with its results.
template <class Executor>
bool fits(const Executor& executor, const stap::Problem& problem, stap::CubeView<core::Host> cube,
          const ResultArrays& results);

}  // namespace aperture::apps
