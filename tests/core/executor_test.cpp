// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

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

TEST(Cpu, CheckpointsRunTheirActionUntilItIsReplaced) {
    Cpu cpu(1);
    cpu.checkpoint();
    int calls = 0;
    cpu.set_checkpoint([&] { ++calls; });
    cpu.checkpoint();
    cpu.checkpoint();
    EXPECT_EQ(calls, 2);
    cpu.set_checkpoint([] { throw InvalidArgument("ended"); });
    EXPECT_THROW(cpu.checkpoint(), InvalidArgument);
    cpu.set_checkpoint({});
    cpu.checkpoint();
    EXPECT_EQ(calls, 2);
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

#if APERTURE_CUDA

TEST(Gpu, WorksInTheThreadThatItIsMovedTo) {
    const int device = gpu_status(1).usable ? 1 : 0;
    if (!gpu_status(device).usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    Gpu gpu(device);
    Array<float, 1> host({1000});
    std::fill(host.begin(), host.end(), 3.0F);
    Array<float, 1> back({1000});
    std::jthread([&, moved = std::move(gpu)]() mutable {
        // The executor has not been used in this thread before.
        Array<float, 1, Device> there({1000});
        copy(moved, std::as_const(host).view(), there.view());
        copy(moved, std::as_const(there).view(), back.view());
        moved.synchronize();
    }).join();
    EXPECT_TRUE(std::equal(host.begin(), host.end(), back.begin()));
}

TEST(Gpu, IsTheOnlyOneOfItsProcess) {
    if (!gpu_status(1).usable) GTEST_SKIP() << "needs two GPUs: " << gpu_status(1).reason;
    {
        const Gpu first(0), second(0);
        EXPECT_THROW(Gpu(1), InvalidArgument);
    }
    EXPECT_EQ(Gpu(1).device(), 1);
}

#endif

}  // namespace
}  // namespace aperture::core
