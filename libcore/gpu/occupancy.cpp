// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/occupancy.hpp"

#include "aperture/core/executor.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::core {

MultiprocessorLimits multiprocessor_limits(const Gpu& gpu) {
    const auto attribute = [&](cudaDeviceAttr which) {
        int value = 0;
        APERTURE_CUDA_TRY(cudaDeviceGetAttribute(&value, which, gpu.device()));
        return value;
    };
    const auto bytes = [&](cudaDeviceAttr which) {
        return static_cast<std::size_t>(attribute(which));
    };
    MultiprocessorLimits limits{};
    limits.warps = attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32;
    limits.blocks = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    limits.registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    limits.shared = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    limits.shared_reserved = bytes(cudaDevAttrReservedSharedMemoryPerBlock);
    return limits;
}

KernelNeeds kernel_needs(const Gpu& gpu, const void* kernel, std::size_t dynamic_shared,
                         std::size_t shared_per_thread) {
    // The kernel's attributes are those on the thread's current device.
    static_cast<void>(gpu.stream());
    cudaFuncAttributes attributes{};
    APERTURE_CUDA_TRY(cudaFuncGetAttributes(&attributes, kernel));
    return {attributes.numRegs, attributes.sharedSizeBytes + dynamic_shared, shared_per_thread,
            attributes.maxThreadsPerBlock};
}

}  // namespace aperture::core
