// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one header every kernel file includes. A kernel file is read by nvcc and, for the SIMT host
// executor, plain g++. Those that a library embeds (aperture_embed_kernels) are also read by NVRTC,
// which has no standard headers: they include only other kernel files, aperture/core/portable.hpp
// and view.hpp; host-only code is inside `#if !defined(__CUDACC_RTC__)`.

#include "aperture/core/portable.hpp"

#if !defined(__CUDACC__)
#include "libcore/gpu/simt_host.hpp"
#endif

// Unroll the loop that follows on the device: completely, by a constant, or not at all. (g++ would
// warn about `#pragma unroll`.)
#if defined(__CUDACC__)
#define APERTURE_UNROLL _Pragma("unroll")
#define APERTURE_PRAGMA(text) _Pragma(#text)
#define APERTURE_UNROLL_BY(count) APERTURE_PRAGMA(unroll count)
#define APERTURE_NO_UNROLL _Pragma("unroll 1")
#else
#define APERTURE_UNROLL
#define APERTURE_UNROLL_BY(count)
#define APERTURE_NO_UNROLL
#endif

namespace aperture::core {

/// std::conditional, which NVRTC does not have.
template <bool first, class A, class B>
struct Conditional {
    using Type = A;
};
template <class A, class B>
struct Conditional<false, A, B> {
    using Type = B;
};

inline constexpr int warp_size = 32;
inline constexpr unsigned full_warp = 0xffffffffu;

#if defined(__CUDACC__)
/// The block's dynamic shared memory, aligned to 16 bytes: the only way kernels get shared memory.
template <class T>
__device__ __forceinline__ T* shared() {
    extern __shared__ __align__(16) unsigned char aperture_dynamic_shared[];
    return reinterpret_cast<T*>(aperture_dynamic_shared);
}
#endif

/// The thread's number within its block, x fastest, and the number of threads of the block.
__device__ __forceinline__ int thread_rank() {
    return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
__device__ __forceinline__ int block_threads() {
    return static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}
__device__ __forceinline__ int lane_rank() { return thread_rank() % warp_size; }
__device__ __forceinline__ int warp_rank() { return thread_rank() / warp_size; }

/// The number, of which the compiler no longer knows where it comes from: what follows from it is
/// computed again where it is needed, and takes no registers in between.
__device__ __forceinline__ int anew(int number) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(number));
#endif
    return number;
}

}  // namespace aperture::core
