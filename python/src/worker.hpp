// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"

namespace aperture::python {

namespace nb = nanobind;

/// Throws std::runtime_error in a process that was forked after its parent computed: OpenMP's
/// threads are gone there, and waiting for them would never end; a GPU's context is unusable.
void expects_no_fork();
/// Called once, when the module is loaded.
void watch_forks();

/// Python handles signals on its main thread only, and while the library computes only in raise().
class Signals {
  public:
    /// A computation begins.
    void begin() { since_.reset(); }
    /// Now and then lets Python handle signals; throws an exception of theirs, KeyboardInterrupt.
    void raise() {
        constexpr double seconds = 0.05;
        if (since_.seconds() < seconds) return;
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        since_.reset();
    }

  private:
    core::Stopwatch since_;
};

/// The executor of a Python object. It computes without the interpreter's lock, for one thread at a
/// time; others wait.
class CpuWorker {
  public:
    using Executor = core::Cpu;

    /// `threads` = 0: OpenMP's default.
    explicit CpuWorker(int threads) : cpu_(threads) {
        cpu_.set_checkpoint([this] { signals_.raise(); });
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
        signals_.begin();
        return work();
    }
    /// For code that is one for all workers: a CPU has no streams.
    template <class Work>
    auto run(std::uintptr_t /*stream*/, const Work& work) {
        return run(work);
    }

  private:
    core::Cpu cpu_;
    Signals signals_;
    std::mutex mutex_;
};

#if APERTURE_PYTHON_GPU
/// The same on a GPU, where a signal's exception ends the wait for work that then goes on. The
/// calling thread's current device stays as it is.
class GpuWorker {
    /// Calls work() without the interpreter's lock while no other thread uses the executor.
    template <class Work>
    auto alone(const Work& work) {
        const nb::gil_scoped_release release;
        const std::scoped_lock lock(mutex_);
        const core::CurrentDevice restored;
        signals_.begin();
        return work();
    }

  public:
    using Executor = core::Gpu;

    explicit GpuWorker(int device) : GpuWorker(device, core::CurrentDevice()) {}
    ~GpuWorker() {
        if (!read_.empty()) gpu_.finish();
    }
    GpuWorker(const GpuWorker&) = delete;
    GpuWorker& operator=(const GpuWorker&) = delete;

    core::Gpu& executor() { return gpu_; }
    /// Keeps an array until the work of this thread's next call, which reads it, is done: its
    /// library may use the memory again before.
    void retain(nb::object array) {
        read_by_next_.emplace_back(std::this_thread::get_id(), std::move(array));
    }
    std::uintptr_t stream() {
        return reinterpret_cast<std::uintptr_t>(alone([&] { return gpu_.stream(); }));
    }
    /// Later work of the stream starts after what was submitted so far.
    void let_wait(std::uintptr_t stream) {
        alone([&] { gpu_.let_wait(reinterpret_cast<CUstream_st*>(stream)); });
    }
    void synchronize() {
        alone([&] { gpu_.synchronize(); });
    }

    /// Calls work(), asynchronous if the work is.
    template <class Work>
    auto run(const Work& work) {
        expects_no_fork();
        const Reads reads(*this);
        return alone([&] {
            if (unfinished_) {
                // The work reads and writes memory of the host.
                gpu_.synchronize();
                unfinished_ = false;
            }
            try {
                return work();
            } catch (...) {
                unfinished_ = true;
                throw;
            }
        });
    }
    /// The same in the order of the caller's stream: after what it has so far, and before what it
    /// gets next.
    template <class Work>
    auto run(std::uintptr_t stream, const Work& work) {
        return run([&] {
            const core::OnStream on_stream(gpu_, reinterpret_cast<CUstream_st*>(stream));
            return work();
        });
    }

  private:
    GpuWorker(int device, const core::CurrentDevice& /*restored*/) : gpu_(device) {
        gpu_.set_checkpoint([this] { signals_.raise(); });
    }

    /// Around a call, with the interpreter's lock: frees arrays that are no longer read.
    class Reads {
      public:
        explicit Reads(GpuWorker& worker) : worker_(worker) {
            constexpr std::size_t most = 64;
            if (worker.read_.empty()) return;
            if (worker.read_.size() > most) worker.synchronize();
            std::vector<nb::object> done;
            // Another thread that has the executor may need the interpreter's lock.
            const std::unique_lock lock(worker.mutex_, std::try_to_lock);
            if (lock && worker.gpu_.idle()) done.swap(worker.read_);
        }
        ~Reads() {
            const auto mine = [id = std::this_thread::get_id()](const auto& of_thread) {
                return of_thread.first == id;
            };
            for (auto& of_thread : worker_.read_by_next_) {
                if (mine(of_thread)) worker_.read_.push_back(std::move(of_thread.second));
            }
            std::erase_if(worker_.read_by_next_, mine);
        }
        Reads(const Reads&) = delete;
        Reads& operator=(const Reads&) = delete;

      private:
        GpuWorker& worker_;
    };

    core::Gpu gpu_;
    Signals signals_;
    std::mutex mutex_;
    std::vector<std::pair<std::thread::id, nb::object>> read_by_next_;  ///< see retain
    std::vector<nb::object> read_;  ///< by work that may not be done
    bool unfinished_ = false;  ///< work of a call that an exception ended may still be going on
};

using Worker = GpuWorker;
#else
using Worker = CpuWorker;
#endif
/// The memory of the module's executor.
using Space = Worker::Executor::Space;

/// What the package needs to know of an object's stream; nothing on a CPU.
template <class Class>
void bind_stream([[maybe_unused]] Class& bound) {
#if APERTURE_PYTHON_GPU
    using Object = typename Class::Type;
    bound.def_prop_ro("stream", [](Object& object) { return object.worker().stream(); });
    bound.def("let_wait",
              [](Object& object, std::uintptr_t stream) { object.worker().let_wait(stream); });
    bound.def("retain",
              [](Object& object, nb::object array) { object.worker().retain(std::move(array)); });
    bound.def("synchronize", [](Object& object) { object.worker().synchronize(); });
#endif
}

}  // namespace aperture::python
