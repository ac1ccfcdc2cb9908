// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "aperture/compose/plan.hpp"
#include "aperture/core/timing.hpp"

namespace aperture::compose {

/// Seconds of what an executor does: on a GPU, between events in its stream.
template <class Executor, class Action>
double seconds_of(Executor& executor, core::Timeline& timeline, const Action& action) {
    timeline.begin_run();
    {
        const auto scope = core::Timeline::stage(&timeline, executor, "run", 0, 0);
        action();
    }
    return 1e-3 * timeline.stages().front().ms;
}

/// Runs kernels, waits for each, and keeps their times.
template <class Executor>
class KernelTimes {
  public:
    KernelTimes(Executor& executor, std::size_t kernels)
        : executor_(executor), seconds_(kernels), runs_(kernels) {}

    template <class Action>
    void operator()(const Kernel& kernel, const Action& action) {
        const auto number = static_cast<std::size_t>(kernel.number);
        seconds_[number] += seconds_of(executor_, timeline_, action);
        ++runs_[number];
    }
    std::vector<double> means() const {
        std::vector<double> all = seconds_;
        for (std::size_t i = 0; i < all.size(); ++i) all[i] /= std::max(runs_[i], 1);
        return all;
    }

  private:
    Executor& executor_;
    core::Timeline timeline_;
    std::vector<double> seconds_;
    std::vector<int> runs_;
};

}  // namespace aperture::compose
