// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "aperture/core/executor.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

template <class Executor>
inline constexpr bool is_gpu = std::same_as<Executor, core::Gpu>;

/// Calls `work` with the executor that computes, a core::Gpu& or `cpu`. An automatic choice is
/// explained on the console. If its GPU turns out to be unfit for the work, the console says so and
/// the CPU does it, from the beginning. A GPU that was asked for and cannot be used throws
/// core::DeviceError.
template <class Work>
void with_executor(DeviceChoice choice, core::Cpu& cpu, Console& console, const Work& work) {
    [[maybe_unused]] const bool on_gpu = use_gpu(choice, console);
#if APERTURE_CUDA
    if (on_gpu) {
        try {
            core::Gpu gpu;
            work(gpu);
            return;
        } catch (const core::UnfitDevice& reason) {
            if (choice != DeviceChoice::automatic) throw;
            console.done();
            console.note(core::text("device: CPU (", reason.what(), ")"));
        }
    }
#endif
    work(cpu);
}

}  // namespace aperture::apps
