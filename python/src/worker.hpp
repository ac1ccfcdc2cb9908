// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"

namespace aperture::python {

namespace nb = nanobind;

/// Throws std::runtime_error in a process that was forked after its parent computed: OpenMP's
/// threads are gone there, and waiting for them would never end.
void expects_no_fork();

/// The executor of a Python object. It computes without the interpreter's lock, for one thread at a
/// time; others wait.
class CpuWorker {
  public:
    using Executor = core::Cpu;

    /// `threads` = 0: OpenMP's default.
    explicit CpuWorker(int threads) : cpu_(threads) {
        cpu_.set_checkpoint([this] { raise_signals(); });
    }
    CpuWorker(const CpuWorker&) = delete;
    CpuWorker& operator=(const CpuWorker&) = delete;

    core::Cpu& executor() { return cpu_; }

    /// Calls work(). A signal's exception, such as KeyboardInterrupt, ends the call.
    template <class Work>
    auto run(const Work& work) {
        expects_no_fork();
        const nb::gil_scoped_release release;
        const std::scoped_lock lock(mutex_);
        since_signals_.reset();
        return work();
    }

  private:
    /// Python handles signals on its main thread only, and only here while the library computes.
    void raise_signals() {
        constexpr double seconds = 0.05;
        if (since_signals_.seconds() < seconds) return;
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        since_signals_.reset();
    }

    core::Cpu cpu_;
    core::Stopwatch since_signals_;
    std::mutex mutex_;
};

}  // namespace aperture::python
