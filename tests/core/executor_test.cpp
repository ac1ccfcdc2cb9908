// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/executor.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#if APERTURE_CUDA
#include <cuda_runtime_api.h>

#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/waits.hpp"
#endif

namespace aperture::core {
namespace {

TEST(Cpu, TakesTheThreadsItIsGiven) {
    EXPECT_EQ(Cpu(3).threads(), 3);
    EXPECT_GE(Cpu().threads(), 1);
    EXPECT_THROW(Cpu(-1), InvalidArgument);
    EXPECT_NE(Cpu(3).name().find("3 threads"), std::string::npos);
    EXPECT_NE(Cpu(1).name().find("1 thread,"), std::string::npos);
}

/// Processor seconds of all threads while all but one wait for that one, again and again.
double seconds_of_waiting() {
    constexpr int rounds = 100;
    const std::clock_t before = std::clock();
#pragma omp parallel num_threads(omp_get_num_procs())
    for (int i = 0; i < rounds; ++i) {
        if (omp_get_thread_num() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
#pragma omp barrier
    }
    return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
}

TEST(Cpu, ThreadsLeaveTheirProcessorsToOneThatShares) {
    if (omp_get_num_procs() == 1) GTEST_SKIP() << "needs two processors";
    // OpenMP reads its variables when a program starts.
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    ::unsetenv("OMP_WAIT_POLICY");
    EXPECT_EXIT(
        {
            const double alone = seconds_of_waiting();
            std::promise<void> shared;
            std::promise<void> end;
            std::jthread sharing([&] {
                share_processors();
                shared.set_value();
                end.get_future().wait();
            });
            shared.get_future().wait();
            const double beside = seconds_of_waiting();
            end.set_value();
            std::fprintf(stderr, "%f s alone, %f s beside\n", alone, beside);
            std::exit(beside < alone / 4 ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
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

/// 1000 numbers, there and back.
bool copies(Gpu& gpu) {
    Array<float, 1> host({1000});
    std::fill(host.begin(), host.end(), 5.0F);
    Array<float, 1> back({1000});
    Array<float, 1, Device> there({1000});
    copy(gpu, std::as_const(host).view(), there.view());
    copy(gpu, std::as_const(there).view(), back.view());
    gpu.synchronize();
    return std::equal(host.begin(), host.end(), back.begin());
}

TEST(Gpu, TwoOfAProcessTakeTurns) {
    if (!gpu_status(1).usable) GTEST_SKIP() << "needs two GPUs: " << gpu_status(1).reason;
    Gpu first(0);
    Gpu second(1);
    for (int round = 0; round < 2; ++round) {
        // Arrays are on the GPU used last.
        first.stream();
        EXPECT_TRUE(copies(first));
        second.stream();
        EXPECT_TRUE(copies(second));
    }
    EXPECT_EQ(second.device(), 1);
}

TEST(Gpu, CountsWaits) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    Gpu gpu;
    const auto before = waits_for_gpu();
    Array<float, 1> host({10});
    Array<float, 1, Device> there({10});
    copy(gpu, std::as_const(host).view(), there.view());
    { const OnStream on_stream(gpu, nullptr); }
    gpu.let_wait(nullptr);
    EXPECT_EQ(waits_for_gpu(), before);
    gpu.synchronize();
    EXPECT_EQ(waits_for_gpu(), before + 1);
}

/// Work in an executor's stream that goes on until it is ended.
class LongWork {
  public:
    explicit LongWork(Gpu& gpu) {
        APERTURE_CUDA_TRY(cudaLaunchHostFunc(
            gpu.stream(), [](void* work) { static_cast<LongWork*>(work)->ended_.wait(false); },
            this));
    }
    ~LongWork() { end(); }
    LongWork(const LongWork&) = delete;
    LongWork& operator=(const LongWork&) = delete;

    void end() {
        ended_ = true;
        ended_.notify_all();
    }

  private:
    std::atomic<bool> ended_ = false;
};

struct Ended {};

/// Calls test(gpu, wait) for each way to wait for all work of an executor.
template <class Test>
void for_each_wait(const Test& test) {
    Gpu gpu;
    test(gpu, std::function<void()>([&] { gpu.synchronize(); }));
    cudaEvent_t event{};
    gpu.stream();
    APERTURE_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    test(gpu, std::function<void()>([&] {
             APERTURE_CUDA_TRY(cudaEventRecord(event, gpu.stream()));
             wait_for_event(gpu, event);
         }));
    cudaEventDestroy(event);
}

TEST(Gpu, CallsItsCheckpointWhileTheHostWaits) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    for_each_wait([](Gpu& gpu, const std::function<void()>& wait) {
        LongWork work(gpu);
        int calls = 0;
        gpu.set_checkpoint([&] {
            if (++calls == 5) work.end();
        });
        const auto before = waits_for_gpu();
        wait();
        EXPECT_EQ(waits_for_gpu(), before + 1);
        EXPECT_GE(calls, 5);
        EXPECT_TRUE(gpu.has_checkpoint());
        EXPECT_TRUE(copies(gpu));
        gpu.set_checkpoint({});
        EXPECT_FALSE(gpu.has_checkpoint());
        EXPECT_TRUE(copies(gpu));
    });
}

TEST(Gpu, ACheckpointEndsAWaitButNotTheWork) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    for_each_wait([](Gpu& gpu, const std::function<void()>& wait) {
        LongWork work(gpu);
        int calls = 0;
        gpu.set_checkpoint([&] {
            if (++calls == 3) throw Ended();
        });
        const auto before = waits_for_gpu();
        EXPECT_THROW(wait(), Ended);
        EXPECT_EQ(calls, 3);
        EXPECT_EQ(waits_for_gpu(), before + 1);
        EXPECT_EQ(cudaStreamQuery(gpu.stream()), cudaErrorNotReady);
        static_cast<void>(cudaGetLastError());
        work.end();
        gpu.finish();
        EXPECT_EQ(calls, 3) << "a destructor must not throw";
        EXPECT_EQ(cudaStreamQuery(gpu.stream()), cudaSuccess);
        EXPECT_EQ(waits_for_gpu(), before + 2);
        EXPECT_TRUE(copies(gpu));
    });
}

/// Whether freeing memory waits for work that uses it.
template <class Memory>
bool freeing_waits(Gpu& gpu, LongWork& work, Memory memory) {
    std::atomic<bool> freed = false;
    std::jthread freeing([&] {
        gpu.stream();
        memory = {};
        freed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const bool waited = !freed;
    work.end();
    freeing.join();
    gpu.synchronize();
    return waited;
}

TEST(Gpu, MemoryIsNotFreedBeforeItsWorkIsDone) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    Gpu gpu;
    for (const bool of_host : {false, true}) {
        Array<float, 1, Device> there({1 << 20});
        Array<float, 1> here({1 << 20}, Pages::locked);
        LongWork work(gpu);
        copy(gpu, std::as_const(there).view(), here.view());
        EXPECT_TRUE(of_host ? freeing_waits(gpu, work, std::move(here))
                            : freeing_waits(gpu, work, std::move(there)))
            << "memory of the " << (of_host ? "host" : "device");
    }
}

TEST(Gpu, OtherStreamsWaitForIt) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    Gpu first;
    Gpu second;
    constexpr index_t count = 1 << 26;
    Array<float, 1> host({count}, Pages::locked);
    Array<float, 1> back({count}, Pages::locked);
    Array<float, 1, Device> there({count});
    for (int round = 1; round <= 4; ++round) {
        std::fill(host.begin(), host.end(), static_cast<float>(round));
        copy(first, std::as_const(host).view(), there.view());
        first.let_wait(second.stream());
        copy(second, std::as_const(there).view(), back.view());
        second.synchronize();
        EXPECT_EQ(back(count - 1), static_cast<float>(round));
    }
}

/// Counts on in the executor's memory, each time in another stream or its own.
TEST(Gpu, KeepsItsOrderInTheStreamsOfCallers) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    Gpu gpu;
    constexpr index_t count = 1 << 24;
    Array<float, 1, Device> there({count});
    std::vector<Array<float, 1>> steps;
    constexpr int most = 6;
    for (int i = 0; i <= most; ++i) {
        steps.emplace_back(Extents<1>{count}, Pages::locked);
        std::fill(steps.back().begin(), steps.back().end(), static_cast<float>(i));
    }
    Array<float, 1> back({count}, Pages::locked);
    const auto store = [&](int i) {
        copy(gpu, std::as_const(steps[static_cast<std::size_t>(i)]).view(), there.view());
    };
    for (int last = 1; last <= most; ++last) {
        // A caller may destroy its stream at once.
        for (int i = 0; i <= last; ++i) {
            cudaStream_t stream{};
            if (i % 3 != 0) APERTURE_CUDA_TRY(cudaStreamCreate(&stream));
            if (i % 3 == 2) {
                store(i);
            } else {
                const OnStream on_stream(gpu, stream);
                EXPECT_EQ(gpu.stream(), stream);
                store(i);
            }
            if (stream != nullptr) APERTURE_CUDA_TRY(cudaStreamDestroy(stream));
        }
        copy(gpu, std::as_const(there).view(), back.view());
        gpu.synchronize();
        EXPECT_EQ(back(0), static_cast<float>(last));
        EXPECT_EQ(back(count - 1), static_cast<float>(last));
    }
    const OnStream on_stream(gpu, gpu.stream());
    store(0);
    gpu.synchronize();
}

/// Work of a caller's stream comes before and after.
TEST(Gpu, IsInTheOrderOfACallersStream) {
    if (!gpu_status().usable) GTEST_SKIP() << "no usable GPU: " << gpu_status().reason;
    Gpu gpu;
    Gpu caller;
    Array<float, 1, Device> there({1000});
    Array<float, 1> five({1000}, Pages::locked);
    Array<float, 1> six({1000}, Pages::locked);
    Array<float, 1> back({1000}, Pages::locked);
    std::fill(five.begin(), five.end(), 5.0F);
    std::fill(six.begin(), six.end(), 6.0F);
    LongWork before(caller);
    copy(caller, std::as_const(five).view(), there.view());
    {
        const OnStream on_stream(gpu, caller.stream());
        copy(gpu, std::as_const(there).view(), back.view());
    }
    copy(caller, std::as_const(six).view(), there.view());
    EXPECT_FALSE(gpu.idle());
    before.end();
    gpu.synchronize();
    EXPECT_TRUE(gpu.idle());
    EXPECT_EQ(back(999), 5);
}

#endif

}  // namespace
}  // namespace aperture::core
