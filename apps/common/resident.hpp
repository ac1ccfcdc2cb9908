// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/resident.hpp"
#include "aperture/core/timing.hpp"
#include "apps/common/program.hpp"
#include "apps/common/report.hpp"

namespace aperture::apps {

using core::Resident;

/// Calls `load`, `compute` and `store` and waits for each. The stages are those of `timeline`. Load
/// and store count as transfer, which takes no time on the CPU.
template <class Executor, class Load, class Compute, class Store>
RunTimes run_resident(Executor& executor, core::Timeline& timeline, const Load& load,
                      const Compute& compute, const Store& store) {
    timeline.begin_run();
    core::Stopwatch watch;
    load();
    executor.synchronize();
    const double load_ms = watch.ms();
    watch.reset();
    compute();
    executor.synchronize();
    const double compute_ms = watch.ms();
    watch.reset();
    store();
    executor.synchronize();
    return {timeline.stages(), compute_ms, is_gpu<Executor> ? load_ms + watch.ms() : 0};
}

}  // namespace aperture::apps
