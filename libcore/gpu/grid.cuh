// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/kernel.cuh"

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cooperative_groups.h>
#endif

#if !defined(__CUDACC_RTC__)
namespace aperture::core {

/// Waits for all threads of the grid and makes their writes visible to all; only in kernels
/// launched by `launch_cooperative`, and not in those compiled at run time.
__device__ __forceinline__ void grid_sync() {
#if defined(__CUDA_ARCH__)
    cooperative_groups::this_grid().sync();
#elif !defined(__CUDACC__)
    simt::grid_barrier(std::source_location::current());
#endif
}

}  // namespace aperture::core
#endif
