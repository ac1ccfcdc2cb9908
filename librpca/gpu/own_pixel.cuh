// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels with a thread for each pixel or value.

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"

namespace aperture::rpca::gpu {

using core::index_t;
using core::KernelView;

inline constexpr int pixel_threads = 256;

/// A thread a pixel, or a value.
inline core::LaunchConfig for_each_pixel(
    index_t pixels, std::source_location call = std::source_location::current()) {
    return {dim3(core::blocks_for(pixels, pixel_threads)), dim3(pixel_threads), 0, call};
}
/// Of the thread.
__device__ __forceinline__ index_t own_pixel() {
    return index_t{blockIdx.x} * pixel_threads + threadIdx.x;
}

}  // namespace aperture::rpca::gpu
