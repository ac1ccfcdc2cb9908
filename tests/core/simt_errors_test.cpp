// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "libcore/gpu/block.cuh"
#include "libcore/gpu/grid.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture {
namespace {

using core::all_lane_orders;
using core::LaneOrder;
using core::Simt;
using testing::AllOf;
using testing::HasSubstr;

__global__ void do_nothing() {}

TEST(Copy, RefusesOtherExtentsAndStrides) {
    Simt simt;
    core::Array<float, 2> from({2, 3}), to({2, 4});
    std::fill(from.begin(), from.end(), 1.0F);
    const core::View<const float, 2> source = std::as_const(from).view();
    const core::View<float, 2> target = to.view();
    EXPECT_THAT([&] { core::copy(simt, source, target); },
                testing::ThrowsMessage<core::InvalidArgument>(
                    AllOf(HasSubstr("2 x 4"), HasSubstr("2 x 3"))));
    EXPECT_THAT([&] { core::copy(simt, source, target.slice(1, 0, 3)); },
                testing::ThrowsMessage<core::InvalidArgument>(HasSubstr("strides 4 x 1")));
    core::copy(simt, source.slice(0, 1, 2), target.slice(0, 1, 2).slice(1, 0, 3));
    EXPECT_EQ(to(1, 2), 1);
}

/// The text of the DeviceError that `run` throws; "" if some order of lanes throws none.
template <class Run>
std::string device_error(Run run) {
    std::string words;
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        words.clear();
        try {
            run(simt);
        } catch (const core::DeviceError& error) {
            words = error.what();
        }
        if (words.empty()) return words;
        // The executor stays usable after an error.
        core::launch(simt, do_nothing, {2, 64});
    }
    return words;
}

template <class... Parameters, class... Args>
std::string launch_error(void (*kernel)(Parameters...), const core::LaunchConfig& config,
                         Args... args) {
    return device_error([&](Simt& simt) { core::launch(simt, kernel, config, args...); });
}

__global__ void some_exit_before_the_barrier(int stay) {
    if (static_cast<int>(threadIdx.x) >= stay) return;
    __syncthreads();
}

TEST(SimtErrors, ABarrierThatExitedThreadsNeverReach) {
    EXPECT_THAT(launch_error(some_exit_before_the_barrier, {2, 64}, 40),
                AllOf(HasSubstr("40 of 64 threads wait at the barrier"), HasSubstr("24 have ended"),
                      HasSubstr("simt_errors_test.cpp")));
}

__global__ void different_barriers() {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

TEST(SimtErrors, ThreadsOfABlockAtDifferentBarriers) {
    EXPECT_THAT(launch_error(different_barriers, {1, 64}), HasSubstr("divergent __syncthreads"));
}

__global__ void barrier_against_shuffle() {
    if (threadIdx.x == 5) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

TEST(SimtErrors, ABarrierAgainstAWarpOperationIsADeadlock) {
    EXPECT_THAT(launch_error(barrier_against_shuffle, {1, 32}),
                AllOf(HasSubstr("deadlock"), HasSubstr("1 of 32 threads wait at the barrier"),
                      HasSubstr("31 of 32 lanes wait in the warp operation")));
}

__global__ void read_lane(int source, unsigned mask) {
    if ((mask >> threadIdx.x & 1u) != 0) __shfl_sync(mask, 1, source);
}

TEST(SimtErrors, AShuffleThatReadsAnInactiveLane) {
    EXPECT_THAT(launch_error(read_lane, {1, 32}, 20, 0xffffu),
                HasSubstr("reads the inactive lane 20"));
    // A partial warp has no lane 20 either.
    EXPECT_THAT(launch_error(read_lane, {1, 20}, 20, ~0u), HasSubstr("reads the inactive lane 20"));
}

__global__ void call_with_mask(unsigned mask, int width) {
    __shfl_sync(mask, threadIdx.x, 0, width);
}

TEST(SimtErrors, MaskAndWidthOfWarpOperations) {
    EXPECT_THAT(launch_error(call_with_mask, {1, 32}, 0xffu, 32),
                HasSubstr("is not in the mask ff"));
    EXPECT_THAT(launch_error(call_with_mask, {1, 32}, ~0u, 12), HasSubstr("width 12"));
}

__global__ void vote_against_shuffle() {
    if (threadIdx.x % 2 == 0) {
        __ballot_sync(~0u, 1);
    } else {
        __shfl_sync(~0u, 1, 0);
    }
}

TEST(SimtErrors, DifferentWarpOperationsDoNotMeet) {
    EXPECT_THAT(launch_error(vote_against_shuffle, {1, 32}),
                HasSubstr("different warp operations"));
}

__global__ void sync_grid_in_some_blocks() {
    if (blockIdx.x > 0) core::grid_sync();
}

TEST(SimtErrors, GridSynchronisation) {
    EXPECT_THAT(launch_error(sync_grid_in_some_blocks, {2, 32}),
                HasSubstr("grid_sync requires a cooperative launch"));
    EXPECT_THAT(device_error([](Simt& simt) {
                    core::launch_cooperative(simt, sync_grid_in_some_blocks, {3, 32});
                }),
                AllOf(HasSubstr("deadlock"), HasSubstr("64 threads wait for the grid")));
}

__global__ void end_with_copies(int* to, const int* from) { core::copy_async<4>(to, from); }
__global__ void copy_misaligned(char* to, const char* from) { core::copy_async<16>(to, from + 4); }

TEST(SimtErrors, AsynchronousCopies) {
    alignas(16) int from[8] = {}, to[8] = {};
    EXPECT_THAT(launch_error(end_with_copies, {1, 1}, to, from),
                HasSubstr("pending asynchronous copies"));
    EXPECT_THAT(launch_error(copy_misaligned, {1, 1}, reinterpret_cast<char*>(to),
                             reinterpret_cast<const char*>(from)),
                HasSubstr("misaligned"));
}

TEST(SimtErrors, ImpossibleLaunches) {
    const auto refusal = [](const core::LaunchConfig& config) {
        return launch_error(do_nothing, config);
    };
    EXPECT_THAT(refusal({0, 32}), HasSubstr("a dimension is zero"));
    EXPECT_THAT(refusal({1, 0}), HasSubstr("a dimension is zero"));
    EXPECT_THAT(refusal({1, 1025}), HasSubstr("the block is too large"));
    EXPECT_THAT(refusal({1, dim3(64, 32)}), HasSubstr("the block is too large"));
    EXPECT_THAT(refusal({1, dim3(1, 1, 65)}), HasSubstr("the block is too large"));
    EXPECT_THAT(refusal({dim3(1, 65536), 1}), HasSubstr("the grid is too large"));
    EXPECT_THAT(refusal({dim3(1, 1, 65536), 1}), HasSubstr("the grid is too large"));
    EXPECT_THAT(device_error([](Simt& simt) {
                    core::launch_cooperative(simt, do_nothing, {9, 1024});
                }),
                HasSubstr("cannot all be resident"));
    EXPECT_THAT(refusal({1, 1025}), HasSubstr("simt_errors_test.cpp"));
    Simt simt;
    EXPECT_NO_THROW(core::launch(simt, do_nothing, {dim3(1, 65535), 1}));
    EXPECT_NO_THROW(core::launch_cooperative(simt, do_nothing, {8, 1024}));
}

TEST(SimtErrors, MoreSharedMemoryThanTheDeviceHas) {
    const std::pair<const char*, std::size_t> devices[] = {{"80", 166'912},  {"86", 101'376},
                                                           {"89", 101'376},  {"90", 232'448},
                                                           {"100", 232'448}, {"120", 101'376}};
    const char* const before = std::getenv("APERTURE_SIMT_DEVICE");
    const std::string device = before == nullptr ? "90" : before;
    for (const auto& [name, bytes] : devices) {
        setenv("APERTURE_SIMT_DEVICE", name, 1);
        Simt simt;
        EXPECT_EQ(std::to_string(simt.compute_capability()), name);
        EXPECT_NO_THROW(core::launch(simt, do_nothing, {1, 32, bytes}));
        const core::LaunchConfig more(1, 32, bytes + 1);
        EXPECT_THAT(
            [&] { core::launch(simt, do_nothing, more); },
            testing::ThrowsMessage<core::UnfitDevice>(AllOf(
                HasSubstr("too much shared memory"), HasSubstr(std::to_string(bytes) + " bytes"))));
    }
    setenv("APERTURE_SIMT_DEVICE", "75", 1);
    EXPECT_THROW(Simt(), core::InvalidArgument);
    setenv("APERTURE_SIMT_DEVICE", device.c_str(), 1);
}

__global__ void throw_in_one_thread(int thrower) {
    const std::vector<int> owned(static_cast<std::size_t>(threadIdx.x) + 1);
    if (static_cast<int>(threadIdx.x) == thrower) throw std::out_of_range("thread throws");
}

TEST(SimtErrors, WhatAKernelThrowsReachesTheCaller) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        EXPECT_THROW(core::launch(simt, throw_in_one_thread, {2, 64}, 37), std::out_of_range);
        EXPECT_NO_THROW(core::launch(simt, throw_in_one_thread, {2, 64}, 64));
    }
}

#if defined(APERTURE_SANITIZE)

__global__ void write_beyond_shared(int index) { core::shared<float>()[index] = 1; }
__global__ void write_global(float* out, int index) {
    __syncthreads();
    out[index] = 1;
}

__global__ void read_while_copied(const float* from, int index, float* out) {
    auto* const to = core::shared<float>();
    core::copy_async<16>(to + 4, from);
    core::commit_copies();
    *out = to[index];
    core::wait_for_copies();
    *out += to[4];
}

TEST(SimtDeathTest, AddressSanitizerSeesReadsOfWhatACopyFills) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    alignas(16) const float from[4] = {2, 2, 2, 2};
    float out = 0;
    Simt simt;
    core::launch(simt, read_while_copied, {1, 1, 48}, from, 3, &out);
    core::launch(simt, read_while_copied, {1, 1, 48}, from, 8, &out);
    for (const int index : {4, 7}) {
        EXPECT_DEATH(core::launch(simt, read_while_copied, {1, 1, 48}, from, index, &out),
                     "use-after-poison[^$]*read_while_copied");
    }
}

TEST(SimtDeathTest, AddressSanitizerSeesWritesOutOfBounds) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    Simt simt;
    core::launch(simt, write_beyond_shared, {1, 32, 100}, 24);
    EXPECT_DEATH(core::launch(simt, write_beyond_shared, {1, 32, 100}, 25),
                 "heap-buffer-overflow[^$]*write_beyond_shared");
    std::vector<float> out(10);
    core::launch(simt, write_global, {1, 64}, out.data(), 9);
    EXPECT_DEATH(core::launch(simt, write_global, {1, 64}, out.data(), 10),
                 "heap-buffer-overflow[^$]*write_global");
}

#endif

}  // namespace
}  // namespace aperture
