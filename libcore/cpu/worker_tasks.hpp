// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <atomic>
#include <exception>

#include "aperture/core/executor.hpp"
#include "libcore/rounding.hpp"

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

/// Allocates consecutive parts of one scratch block, each aligned to 64 bytes. Without a block it
/// only counts, so that the same code also computes the bytes needed.
class ScratchParts {
  public:
    explicit ScratchParts(std::byte* block = nullptr) : block_(block) {}

    template <class T>
    T* allocate(index_t elements) {
        T* part = block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + bytes_);
        bytes_ += round_up(static_cast<std::size_t>(elements) * sizeof(T), 64);
        return part;
    }
    /// Bytes of all parts so far.
    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* block_;
    std::size_t bytes_ = 0;
};

/// Bytes of scratch memory for `Parts`, constructed from ScratchParts and `arguments`.
template <class Parts, class... Arguments>
std::size_t scratch_bytes_of(const Arguments&... arguments) {
    ScratchParts parts;
    [[maybe_unused]] const Parts counted(parts, arguments...);
    return parts.bytes();
}

}  // namespace aperture::core
