// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/stap/pipeline.hpp"
#include "apps/common/timed_runs.hpp"
#include "apps/stap/configuration.hpp"

namespace aperture::apps {

/// Memory for what a run gives; arrays that are not wanted stay empty.
template <class Space>
struct ResultArrays {
    core::Array<stap::cfloat, 3, Space> output;
    core::Array<int, 2, Space> info;
    core::Array<float, 2, Space> pivot_ratio;
    core::Array<stap::cfloat, 4, Space> covariance;
    core::Array<stap::cfloat, 4, Space> weights;
    core::Array<float, 3, Space> statistic;
    core::Array<int, 2, Space> attempt;

    ResultArrays(const stap::Problem& problem, const SavedResults& wanted);
    stap::Results<Space> views() {
        return {output, info, pivot_ratio, covariance, weights, statistic, attempt};
    }
};

/// Runs the pipeline on a cube in host memory, `repeat` times after a warm-up, or once where it is
/// 0. A cube that a GPU cannot hold together with its results is streamed through it in range
/// chunks.
RunTimes run_on(core::Cpu& cpu, const Configuration& setup, stap::CubeView<core::Host> cube,
                ResultArrays<core::Host>& results, int repeat, Console& console);
#if APERTURE_CUDA
RunTimes run_on(core::Gpu& gpu, const Configuration& setup, stap::CubeView<core::Host> cube,
                ResultArrays<core::Host>& results, int repeat, Console& console);
#endif

}  // namespace aperture::apps
