// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A position in the work submitted to an executor: a host waits for the work before it while the
// work after it continues. For orchestration that is a template on the executor.

#include "libcore/gpu/kernel.cuh"

#if !defined(__CUDACC_RTC__)

#include <utility>

#include "aperture/core/executor.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/waits.hpp"
#endif

namespace aperture::core {

#if defined(__CUDACC__)
class Mark {
  public:
    Mark() { APERTURE_CUDA_TRY(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
    ~Mark() {
        if (event_ != nullptr) cudaEventDestroy(event_);
    }
    Mark(Mark&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Mark& operator=(Mark&& other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }

    /// Sets the mark after all work submitted so far.
    void set(Gpu& gpu) { APERTURE_CUDA_TRY(cudaEventRecord(event_, gpu.stream())); }
    /// Waits until all work before the mark is done; throws DeviceError if any of it failed.
    void wait(Gpu& gpu) { wait_for_event(gpu, event_); }

  private:
    cudaEvent_t event_{};
};
#else
/// The SIMT host executor has finished all submitted work.
class Mark {
  public:
    void set(Simt&) {}
    void wait(Simt&) {}
};
#endif

}  // namespace aperture::core

#endif
