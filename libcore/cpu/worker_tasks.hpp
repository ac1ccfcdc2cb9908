// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <atomic>
#include <exception>

#include "aperture/core/executor.hpp"
#include "libcore/scratch_parts.hpp"

namespace aperture::core {

/// Calls work(task, scratch) for tasks 0 .. tasks-1 on the executor's threads, with `scratch_bytes`
/// of memory private to the thread. The assignment of tasks to threads is unspecified; no result
/// may depend on it. Checkpoints lie between tasks: if one throws, no further task starts.
template <class Work>
void for_each_task(Cpu& cpu, index_t tasks, std::size_t scratch_bytes, const Work& work) {
    // Grown here, because an exception must not leave a parallel region.
    for (int thread = 0; thread < cpu.threads(); ++thread) {
        cpu.scratch(thread, scratch_bytes);
    }
    std::exception_ptr end;
    std::atomic<bool> ended = false;
    // Either all threads or one: OpenMP ends the threads that a smaller team does not use.
#pragma omp parallel num_threads(tasks > 1 ? cpu.threads() : 1)
    {
        std::byte* scratch = cpu.scratch(omp_get_thread_num(), scratch_bytes);
#pragma omp for schedule(dynamic)
        for (index_t task = 0; task < tasks; ++task) {
            if (ended.load(std::memory_order_relaxed)) continue;
            if (omp_get_thread_num() == 0) {
                try {
                    cpu.checkpoint();
                } catch (...) {
                    end = std::current_exception();
                    ended = true;
                    continue;
                }
            }
            work(task, scratch);
        }
    }
    if (end) std::rethrow_exception(end);
}

}  // namespace aperture::core
