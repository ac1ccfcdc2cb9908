// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "aperture/core/executor.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

template <class Executor>
inline constexpr bool is_gpu = std::same_as<Executor, core::Gpu>;

/// Calls `on_gpu`. If the GPU was an automatic choice and is unfit for the work, reports that and
/// calls `on_cpu`, which restarts the work.
template <class OnGpu, class OnCpu>
void run_where_it_fits(DeviceChoice choice, Console& console, const OnGpu& on_gpu,
                       const OnCpu& on_cpu) {
    try {
        on_gpu();
        return;
    } catch (const core::UnfitDevice& reason) {
        if (choice != DeviceChoice::automatic) throw;
        console.done();
        console.note(core::text("device: CPU (", reason.what(), ")"));
    }
    on_cpu();
}

/// Calls `work` with the chosen executor, a core::Gpu& or `cpu`. The console explains an automatic
/// choice, whose GPU need not fit the work. Throws core::DeviceError if a requested GPU cannot be
/// used.
template <class Work>
void with_executor(DeviceChoice choice, core::Cpu& cpu, Console& console, const Work& work) {
    [[maybe_unused]] const bool on_gpu = use_gpu(choice, console);
#if APERTURE_CUDA
    if (on_gpu) {
        const auto work_on_gpu = [&] {
            core::Gpu gpu;
            work(gpu);
        };
        return run_where_it_fits(choice, console, work_on_gpu, [&] { work(cpu); });
    }
#endif
    work(cpu);
}

}  // namespace aperture::apps
