// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/occupancy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace aperture::core {
namespace {

// CUDA Programming Guide, technical specifications by compute capability.
constexpr MultiprocessorLimits capability_90{64, 32, 65536, 228 * 1024};
constexpr MultiprocessorLimits capability_80{64, 32, 65536, 164 * 1024};
constexpr MultiprocessorLimits capability_86{48, 16, 65536, 100 * 1024};
constexpr MultiprocessorLimits capability_20{48, 8, 32768, 48 * 1024, 2, 64, 0, 128};

void expect_occupancy(const MultiprocessorLimits& device, const KernelNeeds& kernel, int threads,
                      int blocks, OccupancyLimit limit) {
    const Occupancy result = occupancy(device, kernel, threads);
    EXPECT_EQ(result.blocks, blocks) << threads << " threads";
    EXPECT_EQ(result.warps, blocks * ((threads + 31) / 32)) << threads << " threads";
    EXPECT_EQ(result.limit, limit) << threads << " threads";
}

TEST(Occupancy, ExamplesOfTheBestPracticesGuide) {
    // Section "Occupancy", for 64 warps and 64 K registers: 37 registers give 12 blocks of 128
    // threads, 75 %, and 4 of 320, 63 %; all threads are there with up to 32 registers.
    for (const MultiprocessorLimits& device : {capability_90, capability_80}) {
        expect_occupancy(device, {37}, 128, 12, OccupancyLimit::registers);
        expect_occupancy(device, {37}, 320, 4, OccupancyLimit::registers);
        expect_occupancy(device, {32}, 1024, 2, OccupancyLimit::warps);
        expect_occupancy(device, {33}, 1024, 1, OccupancyLimit::registers);
    }
}

TEST(Occupancy, RegistersOfAWarpLieInOneFile) {
    // Each of the four files holds two warps of 8 KB registers; a ninth warp fits nowhere.
    expect_occupancy(capability_90, {255}, 256, 1, OccupancyLimit::registers);
    expect_occupancy(capability_90, {255}, 288, 0, OccupancyLimit::registers);
    // Nine warps of 7168 registers would fit in 65,536, but not in four times 16,384.
    expect_occupancy(capability_90, {224}, 32, 8, OccupancyLimit::registers);
}

TEST(Occupancy, SharedMemoryHasWhatTheDriverTakesAndPortions) {
    constexpr std::size_t kib = 1024;
    const auto expect_two_up_to = [&](const MultiprocessorLimits& device, std::size_t half,
                                      std::size_t whole) {
        expect_occupancy(device, {16, half}, 128, 2, OccupancyLimit::shared);
        expect_occupancy(device, {16, half + 1}, 128, 1, OccupancyLimit::shared);
        expect_occupancy(device, {16, whole}, 128, 1, OccupancyLimit::shared);
        expect_occupancy(device, {16, whole + 1}, 128, 0, OccupancyLimit::shared);
    };
    expect_two_up_to(capability_90, 113 * kib, 227 * kib);
    expect_two_up_to(capability_80, 81 * kib, 163 * kib);
    expect_two_up_to(capability_86, 49 * kib, 99 * kib);
    expect_two_up_to(capability_20, 24 * kib, 48 * kib);
    // 12 KB and 1 KB for the driver, 17 times in 228 KB.
    expect_occupancy(capability_90, {8, 12 * kib}, 32, 17, OccupancyLimit::shared);
    expect_occupancy(capability_90, {8, 8 * kib, 128}, 32, 17, OccupancyLimit::shared);
    // 107 portions of 128 bytes, 17 times; one byte more is a portion more.
    expect_occupancy(capability_90, {8, 107 * 128 - kib}, 32, 17, OccupancyLimit::shared);
    expect_occupancy(capability_90, {8, 107 * 128 - kib + 1}, 32, 16, OccupancyLimit::shared);
}

TEST(Occupancy, NumbersOfBlocksAndWarps) {
    expect_occupancy(capability_90, {16}, 32, 32, OccupancyLimit::blocks);
    expect_occupancy(capability_90, {16}, 33, 32, OccupancyLimit::warps);
    expect_occupancy(capability_90, {16}, 192, 10, OccupancyLimit::warps);
    expect_occupancy(capability_86, {16}, 64, 16, OccupancyLimit::blocks);
    expect_occupancy(capability_86, {16}, 96, 16, OccupancyLimit::warps);
    expect_occupancy(capability_86, {16}, 1024, 1, OccupancyLimit::warps);
    expect_occupancy(capability_90, {16, 0, 0, 256}, 288, 0, OccupancyLimit::threads);
    expect_occupancy(capability_20, {0}, 1024, 1, OccupancyLimit::warps);
    EXPECT_THROW(occupancy(capability_90, {16}, 0), InvalidArgument);
}

// Ha et al. 2013, Table I: blocks of 192 to 768 threads fill a C2050, and the least of them is the
// fastest. Table I has 75 % and 50 % for 128 and 64 threads; a multiprocessor of that capability
// has 8 blocks at most, which is 67 % and 33 %.
TEST(ChooseBlock, TableOfThePaper) {
    for (const int registers : {10, 16, 20}) {
        for (const int threads : {192, 256, 512, 768}) {
            EXPECT_EQ(occupancy(capability_20, {registers}, threads).warps, 48) << threads;
        }
        expect_occupancy(capability_20, {registers}, 128, 8, OccupancyLimit::blocks);
        expect_occupancy(capability_20, {registers}, 64, 8, OccupancyLimit::blocks);
        const std::vector<int> of_the_table{64, 128, 192, 256, 512, 768};
        EXPECT_EQ(choose_block(capability_20, {registers}, 48).threads, 192);
        EXPECT_EQ(choose_block(capability_20, {registers}, 48, of_the_table).threads, 192);
    }
    EXPECT_FALSE(choose_block(capability_20, {21}, 48).enough);
    // Anderson 2014, section 4.5: 8 blocks of 64 threads, which have 64 registers at most.
    expect_occupancy(capability_20, {63}, 64, 8, OccupancyLimit::blocks);
}

TEST(ChooseBlock, GrowsUntilThereAreEnoughWarps) {
    // Three blocks of 65 KB: 11 warps in each.
    const BlockChoice choice = choose_block(capability_90, {32, 64 * 1024}, 32);
    EXPECT_EQ(choice.threads, 352);
    EXPECT_EQ(choice.occupancy.warps, 33);
    EXPECT_TRUE(choice.enough);
    const std::vector<int> powers{32, 64, 128, 256, 512, 1024};
    EXPECT_EQ(choose_block(capability_90, {32, 64 * 1024}, 32, powers).threads, 512);
    EXPECT_EQ(choose_block(capability_90, {32}, 32).threads, 32);
    EXPECT_EQ(choose_block(capability_90, {32}, 64).threads, 64);
}

TEST(ChooseBlock, SaysWhatIsInTheWay) {
    const BlockChoice few_registers = choose_block(capability_90, {128}, 32);
    EXPECT_FALSE(few_registers.enough);
    EXPECT_EQ(few_registers.threads, 32);
    EXPECT_EQ(few_registers.occupancy.warps, 16);
    EXPECT_EQ(few_registers.occupancy.limit, OccupancyLimit::registers);
    // 512 bytes a thread: two blocks of 113 KB. Blocks of 32 threads leave room that is too small
    // for a 14th.
    const BlockChoice little_memory = choose_block(capability_90, {32, 0, 512}, 32);
    EXPECT_FALSE(little_memory.enough);
    EXPECT_EQ(little_memory.threads, 224);
    EXPECT_EQ(little_memory.occupancy.warps, 14);
    EXPECT_EQ(little_memory.occupancy.limit, OccupancyLimit::shared);
    const std::vector<int> large{256, 512};
    const BlockChoice none = choose_block(capability_90, {32, 0, 0, 128}, 1, large);
    EXPECT_FALSE(none.enough);
    EXPECT_EQ(none.occupancy.blocks, 0);
    EXPECT_EQ(none.occupancy.limit, OccupancyLimit::threads);
    EXPECT_THROW(choose_block(capability_90, {32}, 0), InvalidArgument);
}

}  // namespace
}  // namespace aperture::core
