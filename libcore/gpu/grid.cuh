// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/kernel.cuh"

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cooperative_groups.h>
#endif

namespace aperture::core {

/// A barrier of the grid of one cooperative launch, in kernels compiled at run time, too. One in
/// each thread. `arrivals`, of the device and 0 at first, belongs to such launches of one number of
/// blocks, one after the other.
class GridBarrier {
  public:
    __device__ __forceinline__ explicit GridBarrier([[maybe_unused]] unsigned long long* arrivals) {
#if defined(__CUDACC__)
        arrivals_ = arrivals;
        if (thread_rank() != 0) return;
        // Blocks may have arrived already, but not all of them.
        goal_ = arrived();
        goal_ -= goal_ % gridDim.x;
#endif
    }
    /// Waits for all threads of the grid and makes their writes visible to all.
    __device__ __forceinline__ void sync() {
#if defined(__CUDACC__)
        __syncthreads();
        if (thread_rank() == 0) {
            goal_ += gridDim.x;
            asm volatile("red.release.gpu.add.u64 [%0], 1;" ::"l"(arrivals_) : "memory");
            while (arrived() < goal_) {
            }
        }
        __syncthreads();
#else
        simt::grid_barrier(std::source_location::current());
#endif
    }

  private:
#if defined(__CUDACC__)
    __device__ __forceinline__ unsigned long long arrived() const {
        unsigned long long count;
        asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(count) : "l"(arrivals_) : "memory");
        return count;
    }
    unsigned long long* arrivals_;
    unsigned long long goal_ = 0;  ///< of the first thread of the block
#endif
};

#if !defined(__CUDACC_RTC__)
/// Waits for all threads of the grid and makes their writes visible to all; only in kernels
/// launched by `launch_cooperative`, and not in those compiled at run time.
__device__ __forceinline__ void grid_sync() {
#if defined(__CUDA_ARCH__)
    cooperative_groups::this_grid().sync();
#elif !defined(__CUDACC__)
    simt::grid_barrier(std::source_location::current());
#endif
}
#endif

}  // namespace aperture::core
