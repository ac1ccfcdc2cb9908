// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "aperture/core/executor.hpp"

namespace aperture::core {

/// Seconds of the steady clock since construction or the last reset.
class Stopwatch {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    double ms() const { return seconds() * 1e3; }
    void reset() { start_ = std::chrono::steady_clock::now(); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// One timed stage of a pipeline run. `gflop` and `mb` are the minimum work of the stage (floating
/// point operations; bytes read once and written once), not an implementation's; 0 if not counted.
struct Stage {
    std::string name;
    double ms = 0;
    double gflop = 0;
    double mb = 0;
};

/// Measures the stages of one run: wall time on the CPU, events in the stream on the GPU. With CUDA
/// each stage is also an NVTX range. One timeline serves many runs: `begin_run` discards the last
/// one but keeps its events, so that the steady state allocates nothing on the device.
class Timeline {
  public:
    Timeline();
    ~Timeline();

    void begin_run();

    /// Times from construction to destruction, around the calls of a stage.
    class Scope {
      public:
        Scope(Scope&& other) noexcept : timeline_(other.timeline_), gpu_(other.gpu_) {
            other.timeline_ = nullptr;
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        Scope& operator=(Scope&&) = delete;
        ~Scope();

      private:
        friend class Timeline;
        Scope(Timeline* timeline, Gpu* gpu) : timeline_(timeline), gpu_(gpu) {}
        Timeline* timeline_;
        Gpu* gpu_;
    };
    /// If `timeline` is null, nothing is measured. Stages do not nest.
    static Scope stage(Timeline* timeline, Cpu& cpu, const char* name, double gflop, double mb);
    static Scope stage(Timeline* timeline, Gpu& gpu, const char* name, double gflop, double mb);

    /// The stages since `begin_run`, in order; stages of one name are summed. Waits for the GPU.
    std::vector<Stage> stages();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::core
