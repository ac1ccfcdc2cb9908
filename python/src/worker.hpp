// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
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
    /// For code that is one for all workers: a CPU has no streams.
    template <class Work>
    auto run(std::uintptr_t /*stream*/, const Work& work) {
        return run(work);
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

#if APERTURE_CUDA
/// The same on a GPU. The calling thread's current device stays as it is.
class GpuWorker {
  public:
    using Executor = core::Gpu;

    explicit GpuWorker(int device) : GpuWorker(device, core::CurrentDevice()) {}
    GpuWorker(const GpuWorker&) = delete;
    GpuWorker& operator=(const GpuWorker&) = delete;

    core::Gpu& executor() { return gpu_; }

    /// Calls work() in the order of the caller's stream: after what it has so far, and before what
    /// it gets next. Asynchronous if the work is.
    template <class Work>
    auto run(std::uintptr_t stream, const Work& work) {
        expects_no_fork();
        const nb::gil_scoped_release release;
        const std::scoped_lock lock(mutex_);
        const core::CurrentDevice restored;
        const Order order(gpu_, reinterpret_cast<CUstream_st*>(stream));
        return work();
    }

  private:
    GpuWorker(int device, const core::CurrentDevice& /*restored*/) : gpu_(device) {}

    /// Even work that fails may have started to use the caller's arrays.
    class Order {
      public:
        Order(core::Gpu& gpu, CUstream_st* stream) : gpu_(gpu), stream_(stream) {
            gpu_.wait_for(stream_);
        }
        ~Order() {
            try {
                gpu_.let_wait(stream_);
            } catch (const core::DeviceError&) {
                // The caller's next call on this device reports it.
            }
        }
        Order(const Order&) = delete;
        Order& operator=(const Order&) = delete;

      private:
        core::Gpu& gpu_;
        CUstream_st* stream_;
    };

    core::Gpu gpu_;
    std::mutex mutex_;
};
#endif

}  // namespace aperture::python
