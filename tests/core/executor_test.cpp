// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/executor.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace aperture::core {
namespace {

TEST(Cpu, TakesTheThreadsItIsGiven) {
    EXPECT_EQ(Cpu(3).threads(), 3);
    EXPECT_GE(Cpu().threads(), 1);
    EXPECT_THROW(Cpu(-1), InvalidArgument);
    EXPECT_NE(Cpu(3).name().find("3 threads"), std::string::npos);
    EXPECT_NE(Cpu(1).name().find("1 thread,"), std::string::npos);
}

TEST(Cpu, ScratchGrowsOnly) {
    Cpu cpu(2);
    std::byte* first = cpu.scratch(1, 1000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    const std::uint64_t before = host_allocations();
    EXPECT_EQ(cpu.scratch(1, 10), first);
    EXPECT_EQ(cpu.scratch(1, 1000), first);
    EXPECT_EQ(host_allocations(), before);
    cpu.scratch(1, 2000);
    EXPECT_EQ(host_allocations(), before + 1);
}

TEST(Gpu, StatusAgreesWithConstruction) {
#if APERTURE_CUDA
    const GpuStatus status = gpu_status();
    if (status.usable) {
        Gpu gpu;
        EXPECT_FALSE(gpu.name().empty());
        gpu.synchronize();
    } else {
        EXPECT_FALSE(status.reason.empty());
        EXPECT_THROW(Gpu(), DeviceError);
    }
    EXPECT_FALSE(gpu_status(4096).usable);
#else
    EXPECT_FALSE(gpu_status().usable);
    EXPECT_EQ(gpu_status().reason, "built without CUDA");
#endif
}

}  // namespace
}  // namespace aperture::core
