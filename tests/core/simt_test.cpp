// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "libcore/gpu/grid.cuh"
#include "libcore/gpu/launch.cuh"

namespace aperture {
namespace {

using core::all_lane_orders;
using core::LaneOrder;
using core::Simt;

__global__ void write_coordinates(int* out) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] +=
        static_cast<int>(1 + threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z +
                         1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z);
}

TEST(Simt, RunsEveryThreadOfAThreeDimensionalLaunchOnce) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        std::vector<int> out(3 * 2 * 2 * 5 * 3 * 2);
        core::launch(simt, write_coordinates, {dim3(3, 2, 2), dim3(5, 3, 2)}, out.data());
        std::size_t i = 0;
        for (int bz = 0; bz < 2; ++bz) {
            for (int by = 0; by < 2; ++by) {
                for (int bx = 0; bx < 3; ++bx) {
                    for (int z = 0; z < 2; ++z) {
                        for (int y = 0; y < 3; ++y) {
                            for (int x = 0; x < 5; ++x) {
                                ASSERT_EQ(out[i++], 1 + x + 10 * y + 100 * z + 1000 * bx +
                                                        10000 * by + 100000 * bz);
                            }
                        }
                    }
                }
            }
        }
    }
}

// Each thread reads what its mirror image wrote. `Barrier`: whether a barrier separates the two.
template <bool Barrier>
__global__ void mirror(const int* in, int* out) {
    int* values = core::shared<int>();
    values[threadIdx.x] = in[threadIdx.x];
    if constexpr (Barrier) __syncthreads();
    out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

template <bool Barrier>
std::vector<int> mirrored(LaneOrder order, int threads) {
    Simt simt(order);
    std::vector<int> in(static_cast<std::size_t>(threads)), out(in.size());
    std::iota(in.begin(), in.end(), 1);
    core::launch(simt, mirror<Barrier>,
                 {1, static_cast<unsigned>(threads), in.size() * sizeof(int)}, in.data(),
                 out.data());
    return out;
}

TEST(Simt, BarrierMakesSharedMemoryVisible) {
    for (const int threads : {1, 31, 32, 33, 257, 1024}) {
        std::vector<int> expected(static_cast<std::size_t>(threads));
        std::iota(expected.rbegin(), expected.rend(), 1);
        for (const LaneOrder order : all_lane_orders) {
            EXPECT_EQ(mirrored<true>(order, threads), expected) << threads << " threads";
        }
    }
}

TEST(Simt, AMissingBarrierShowsInTheOrderOfLanes) {
    EXPECT_NE(mirrored<false>(LaneOrder::forward, 64), mirrored<false>(LaneOrder::reverse, 64));
    EXPECT_NE(mirrored<false>(LaneOrder::forward, 64), mirrored<false>(LaneOrder::random, 64));
}

__global__ void record_order(int* next, int* order) {
    for (int phase = 0; phase < 2; ++phase) {
        order[(*next)++] = static_cast<int>(threadIdx.x);
        __syncthreads();
    }
}

std::vector<int> recorded(LaneOrder lanes, unsigned seed) {
    Simt simt(lanes, seed);
    std::vector<int> order(2 * 70);
    int next = 0;
    core::launch(simt, record_order, {1, 70}, &next, order.data());
    return order;
}

TEST(Simt, LanesRunInTheChosenOrderInEveryPhase) {
    std::vector<int> forward(70);
    std::iota(forward.begin(), forward.end(), 0);
    const std::vector<int> reverse(forward.rbegin(), forward.rend());
    const auto phase = [](const std::vector<int>& order, int p) {
        return std::vector<int>(order.begin() + 70 * p, order.begin() + 70 * (p + 1));
    };
    for (int p = 0; p < 2; ++p) {
        EXPECT_EQ(phase(recorded(LaneOrder::forward, 1), p), forward);
        EXPECT_EQ(phase(recorded(LaneOrder::reverse, 1), p), reverse);
        const std::vector<int> shuffled = phase(recorded(LaneOrder::random, 1), p);
        EXPECT_NE(shuffled, forward);
        EXPECT_TRUE(std::is_permutation(shuffled.begin(), shuffled.end(), forward.begin()));
    }
    EXPECT_EQ(recorded(LaneOrder::random, 1), recorded(LaneOrder::random, 1));
    EXPECT_NE(recorded(LaneOrder::random, 1), recorded(LaneOrder::random, 2));
}

template <class T>
__global__ void shuffle_all_kinds(int width, int argument, T* out) {
    const T own = static_cast<T>(100 + threadIdx.x);
    const unsigned all = blockDim.x == 32 ? ~0u : (1u << blockDim.x) - 1u;
    T* row = out + 4 * threadIdx.x;
    row[0] = __shfl_sync(all, own, argument, width);
    row[1] = __shfl_up_sync(all, own, static_cast<unsigned>(argument), width);
    row[2] = __shfl_down_sync(all, own, static_cast<unsigned>(argument), width);
    row[3] = __shfl_xor_sync(all, own, argument, width);
}

// The rules of CUDA's programming guide, for one lane.
int shuffle_source(int kind, int lane, int width, int argument) {
    const int first = lane - lane % width;
    switch (kind) {
        case 0:
            return first + argument % width;
        case 1:
            return lane - argument >= first ? lane - argument : lane;
        case 2:
            return lane + argument < first + width ? lane + argument : lane;
        default:
            return (lane ^ argument) < first + width ? lane ^ argument : lane;
    }
}

template <class T>
void expect_shuffles() {
    for (const LaneOrder order : all_lane_orders) {
        for (int width = 1; width <= 32; width *= 2) {
            for (const int argument : {0, 1, 2, 3, 5, 16, 31}) {
                Simt simt(order);
                std::vector<T> out(4 * 32);
                core::launch(simt, shuffle_all_kinds<T>, {1, 32}, width, argument, out.data());
                for (int lane = 0; lane < 32; ++lane) {
                    for (int kind = 0; kind < 4; ++kind) {
                        ASSERT_EQ(out[static_cast<std::size_t>(4 * lane + kind)],
                                  static_cast<T>(100 + shuffle_source(kind, lane, width, argument)))
                            << "kind " << kind << " width " << width << " argument " << argument
                            << " lane " << lane;
                    }
                }
            }
        }
    }
}

TEST(Simt, ShufflesOfEveryKindAndWidth) {
    expect_shuffles<int>();
    expect_shuffles<unsigned>();
    expect_shuffles<long long>();
    expect_shuffles<float>();
    expect_shuffles<double>();
}

// The halves of a warp diverge and execute different numbers of shuffles.
__global__ void halves_apart(int* out) {
    const bool upper = threadIdx.x >= 16;
    const unsigned mask = upper ? 0xffff0000u : 0x0000ffffu;
    int sum = static_cast<int>(threadIdx.x);
    if (upper) {
        for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(mask, sum, d, 16);
    } else {
        for (int round = 0; round < 7; ++round) sum = __shfl_sync(mask, sum, round + 1, 16);
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 16);
    out[threadIdx.x] = sum;
}

TEST(Simt, SubWarpsMeetOnTheirOwnAndThenTogether) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        std::vector<int> out(32);
        core::launch(simt, halves_apart, {1, 32}, out.data());
        // 16 + ... + 31 = 376. All lower lanes hold the number of lane 1 after the first round.
        EXPECT_EQ(out, std::vector<int>(32, 376 + 1));
    }
}

__global__ void vote(unsigned* ballots, int* any_all) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    ballots[threadIdx.x] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    any_all[4 * threadIdx.x + 0] = __any_sync(0xffffffffu, lane == 2);
    any_all[4 * threadIdx.x + 1] = __any_sync(0xffffffffu, lane < 0);
    any_all[4 * threadIdx.x + 2] = __all_sync(0xffffffffu, lane >= 0);
    any_all[4 * threadIdx.x + 3] = __all_sync(0xffffffffu, lane != 2);
}

TEST(Simt, VotesCountThePresentLanesOnly) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        std::vector<unsigned> ballots(36);
        std::vector<int> any_all(4 * 36);
        core::launch(simt, vote, {1, 36}, ballots.data(), any_all.data());
        for (std::size_t t = 0; t < 36; ++t) {
            EXPECT_EQ(ballots[t], t < 32 ? 0x49249249u : 0x9u);
            EXPECT_EQ(std::vector<int>(&any_all[4 * t], &any_all[4 * t] + 4),
                      (std::vector<int>{1, 0, 1, 0}));
        }
    }
}

// Lanes exit one after the other. The remaining lanes continue to shuffle under the full mask.
__global__ void leave_early(int* out) {
    const int lane = static_cast<int>(threadIdx.x);
    int value = lane;
    for (int round = 1; round < 32; ++round) {
        if (lane >= 33 - round) return;
        value = __shfl_sync(0xffffffffu, value, 0);
    }
    out[lane] = value + 1;
}

TEST(Simt, ThreadsThatEndedAreNotWaitedForInAWarp) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        std::vector<int> out(32);
        core::launch(simt, leave_early, {1, 32}, out.data());
        EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 2);
    }
}

__global__ void read_untouched_shared(int words, std::uint32_t* out) {
    std::uint32_t* values = core::shared<std::uint32_t>();
    for (int i = 0; i < words; ++i) {
        if (values[i] != 0xffffffffu) ++*out;
        values[i] = 0;
    }
}

TEST(Simt, SharedMemoryBeginsPoisonedInEveryBlock) {
    Simt simt;
    std::uint32_t touched = 0;
    core::launch(simt, read_untouched_shared, {3, 1, 400}, 100, &touched);
    EXPECT_EQ(touched, 0u);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(0xffffffffu)));
}

__global__ void count_threads(long long* threads) {
    if (threadIdx.x == 0) *threads += blockDim.x;
}

TEST(Simt, HugeGridsAreQuick) {
    Simt simt;
    long long threads = 0;
    const auto begin = std::chrono::steady_clock::now();
    core::launch(simt, count_threads, {600000, 32}, &threads);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(threads, 600000 * 32);
    // 0.2 s on an idle machine; several times that with sanitizers on a busy machine.
    EXPECT_LT(taken.count(), 20);
}

__global__ void rotate_over_grid(int rounds, int* values, int* sums) {
    const int total = static_cast<int>(gridDim.x * blockDim.x);
    const int own = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    values[own] = own;
    for (int round = 0; round < rounds; ++round) {
        core::grid_sync();
        const int read = values[(own + 1) % total];
        __syncthreads();
        core::grid_sync();
        values[own] = read;
    }
    int* block_values = core::shared<int>();
    block_values[threadIdx.x] = values[own];
    __syncthreads();
    sums[own] = block_values[blockDim.x - 1 - threadIdx.x];
}

TEST(Simt, CooperativeLaunchSynchronisesTheGrid) {
    for (const LaneOrder order : all_lane_orders) {
        Simt simt(order);
        constexpr int blocks = 7, threads = 40, rounds = 5, total = blocks * threads;
        std::vector<int> values(total), sums(total);
        core::launch_cooperative(simt, rotate_over_grid, {blocks, threads, threads * sizeof(int)},
                                 rounds, values.data(), sums.data());
        for (int i = 0; i < total; ++i) {
            ASSERT_EQ(values[static_cast<std::size_t>(i)], (i + rounds) % total);
            const int mirror = i / threads * threads + threads - 1 - i % threads;
            ASSERT_EQ(sums[static_cast<std::size_t>(i)], (mirror + rounds) % total);
        }
    }
}

__global__ void convert_arguments(double factor, const float* in, double* out) {
    *out = factor * static_cast<double>(*in);
}

TEST(Simt, ArgumentsConvertToTheKernelsParameters) {
    Simt simt;
    float in = 1.5f;
    double out = 0;
    core::launch(simt, convert_arguments, {1, 1}, 2, &in, &out);
    EXPECT_EQ(out, 3.0);
}

}  // namespace
}  // namespace aperture
