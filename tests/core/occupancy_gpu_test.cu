// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <vector>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/occupancy.hpp"
#include "libcore/gpu/specialise.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::core {

/// The bound of threads allows many registers, of which the arrays need some.
template <int count>
__global__ void __launch_bounds__(256) rotate_registers(float* values, int turns) {
    float own[count];
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) own[i] = values[i * 256 + thread_rank()];
    for (int turn = 0; turn < turns; ++turn) {
        const float first = own[0];
        APERTURE_UNROLL
        for (int i = 0; i + 1 < count; ++i) own[i] = own[i + 1] * own[i];
        own[count - 1] = first;
    }
    APERTURE_UNROLL
    for (int i = 0; i < count; ++i) values[i * 256 + thread_rank()] = own[i];
}

namespace {

/// The result of the header that comes with CUDA.
int blocks_by_header(const MultiprocessorLimits& limits, int capability, const KernelNeeds& kernel,
                     int threads) {
    cudaOccDeviceProp device;
    device.computeMajor = capability / 10;
    device.computeMinor = capability % 10;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = 32 * limits.warps;
    device.regsPerBlock = limits.registers;
    device.regsPerMultiprocessor = limits.registers;
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = limits.shared;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = limits.shared - limits.shared_reserved;
    device.reservedSharedMemPerBlock = limits.shared_reserved;
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = 1024;
    attributes.numRegs = kernel.registers;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = kernel.shared;
    attributes.numBlockBarriers = 1;
    const cudaOccDeviceState state;
    cudaOccResult result{};
    EXPECT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &attributes, &state,
                                                      threads, kernel.shared),
              CUDA_OCC_SUCCESS);
    return result.activeBlocksPerMultiprocessor;
}

TEST(Occupancy, IsThatOfTheHeaderOfCuda) {
    struct Device {
        int capability;
        MultiprocessorLimits limits;
    };
    const Device devices[] = {{80, {64, 32, 65536, 164 * 1024}},
                              {86, {48, 16, 65536, 100 * 1024}},
                              {89, {48, 24, 65536, 100 * 1024}},
                              {90, {64, 32, 65536, 228 * 1024}}};
    for (const Device& device : devices) {
        for (int threads = 1; threads <= 1024; threads += 31) {
            for (int registers = 0; registers <= 255; registers += 5) {
                for (std::size_t shared = 0; shared <= 228 * 1024; shared += 7001) {
                    const KernelNeeds kernel{registers, shared};
                    ASSERT_EQ(occupancy(device.limits, kernel, threads).blocks,
                              blocks_by_header(device.limits, device.capability, kernel, threads))
                        << device.capability << ": " << threads << " threads, " << registers
                        << " registers, " << shared << " bytes";
                }
            }
        }
    }
}

using OccupancyOnGpu = tests::GpuTest;

void expect_that_of_the_driver(Gpu& gpu, const void* kernel) {
    const MultiprocessorLimits limits = multiprocessor_limits(gpu);
    for (const std::size_t shared : {0, 5000, 48 * 1024}) {
        const KernelNeeds needs = kernel_needs(gpu, kernel, shared);
        EXPECT_GT(needs.registers, 0);
        EXPECT_EQ(needs.most_threads, 256);
        for (int threads = 32; threads <= 256; threads += 32) {
            int blocks = 0;
            APERTURE_CUDA_TRY(
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
            EXPECT_EQ(occupancy(limits, needs, threads).blocks, blocks)
                << threads << " threads, " << shared << " bytes";
        }
    }
}

TEST_F(OccupancyOnGpu, IsThatOfTheDriver) {
    Gpu gpu;
    expect_that_of_the_driver(gpu, reinterpret_cast<const void*>(&rotate_registers<4>));
    expect_that_of_the_driver(gpu, reinterpret_cast<const void*>(&rotate_registers<100>));
}

TEST_F(OccupancyOnGpu, OfAKernelThatIsCompiledAtRunTime) {
    static constexpr KernelText text[] = {{"test/hold.cuh", R"(
#include "libcore/gpu/kernel.cuh"
namespace aperture::core {
template <int count>
__global__ void __launch_bounds__(256) hold(float* values) { values[thread_rank()] *= count; }
}
)"}};
    Gpu gpu;
    const KernelSource source{text[0].name, {text, kernel_texts()}};
    const auto kernel = specialise<void(float*)>(gpu, source, "aperture::core::hold<3>");
    if (!kernel) GTEST_SKIP() << "no run-time compiler";
    expect_that_of_the_driver(gpu, kernel.kernel);
}

}  // namespace
}  // namespace aperture::core
