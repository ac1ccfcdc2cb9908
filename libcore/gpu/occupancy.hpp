// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "aperture/core/error.hpp"
#include "libcore/rounding.hpp"

/// How many blocks of a kernel are on a multiprocessor at a time, and the least block that is
/// enough.
namespace aperture::core {

class Gpu;

/// What a multiprocessor has for the blocks on it, and in which portions. The portions that are set
/// here are those of compute capability 8.0 and later.
struct MultiprocessorLimits {
    int warps;
    int blocks;
    int registers;
    std::size_t shared;          ///< bytes, of which one block may use all that are not reserved
    int register_files = 4;      ///< of equal size; a warp's registers are in one of them
    int register_portion = 256;  ///< registers of a warp are a multiple of this
    std::size_t shared_reserved = 1024;  ///< bytes of each block that the driver uses
    std::size_t shared_portion = 128;    ///< bytes of a block are a multiple of this
};

/// What a kernel needs.
struct KernelNeeds {
    int registers;                      ///< of a thread
    std::size_t shared = 0;             ///< bytes of a block, static and dynamic
    std::size_t shared_per_thread = 0;  ///< bytes that each thread of the block adds to them
    int most_threads = 1024;            ///< that the kernel was compiled for
};

/// What leaves no room for a further block. If several do, the first in this order is named.
enum class OccupancyLimit {
    warps,      ///< the multiprocessor has no more
    blocks,     ///< likewise
    registers,  ///< in the register files
    shared,     ///< memory
    threads,    ///< the kernel cannot have such a block
};

struct Occupancy {
    int blocks = 0;  ///< on a multiprocessor; 0 if the launch would be refused
    int warps = 0;   ///< of these blocks
    OccupancyLimit limit = OccupancyLimit::threads;
};

/// The blocks of `threads` > 0 threads that a multiprocessor holds at a time, with as much of its
/// memory as possible for shared memory. The rules are those of NVIDIA's occupancy calculator.
inline Occupancy occupancy(const MultiprocessorLimits& device, const KernelNeeds& kernel,
                           int threads) {
    expects(threads > 0, "a block of ", threads, " threads");
    const std::size_t shared =
        kernel.shared + static_cast<std::size_t>(threads) * kernel.shared_per_thread;
    if (threads > kernel.most_threads) return {0, 0, OccupancyLimit::threads};

    const int warps = ceil_div(threads, 32);
    const std::size_t block_shared =
        round_up(shared + device.shared_reserved, device.shared_portion);
    const int warp_registers = round_up(32 * kernel.registers, device.register_portion);
    // At least 1, so that what needs nothing is not limited.
    const int warps_by_registers =
        device.register_files *
        (device.registers / device.register_files / std::max(warp_registers, 1));
    const auto by_shared = static_cast<int>(device.shared / std::max(block_shared, std::size_t{1}));
    const std::array<std::pair<int, OccupancyLimit>, 4> most{
        {{device.warps / warps, OccupancyLimit::warps},
         {device.blocks, OccupancyLimit::blocks},
         {warps_by_registers / warps, OccupancyLimit::registers},
         {by_shared, OccupancyLimit::shared}}};
    const auto& [blocks, limit] = *std::min_element(
        most.begin(), most.end(), [](auto& a, auto& b) { return a.first < b.first; });
    return {blocks, blocks * warps, limit};
}

/// 32, 64, ... 1024
inline constexpr std::array<int, 32> multiples_of_a_warp = [] {
    std::array<int, 32> multiples{};
    for (int i = 0; i < 32; ++i) multiples[static_cast<std::size_t>(i)] = 32 * (i + 1);
    return multiples;
}();

struct BlockChoice {
    int threads = 0;
    Occupancy occupancy;
    bool enough = false;  ///< whether a multiprocessor holds the warps that were asked for
};

/// The least block of `candidates`, which ascend, with which a multiprocessor holds `least_warps` >
/// 0 warps: of the blocks that hide latencies well enough, it has the fewest idle threads. If none
/// is enough, the one with which it holds most; `occupancy.limit` says what is in the way of more.
/// For a share of the device, ask for that share of `device.warps`. Source: Ha et al. 2013, section
/// III-E.1.
inline BlockChoice choose_block(const MultiprocessorLimits& device, const KernelNeeds& kernel,
                                int least_warps,
                                std::span<const int> candidates = multiples_of_a_warp) {
    expects(least_warps > 0 && !candidates.empty(), "a choice for ", least_warps, " warps of ",
            candidates.size(), " blocks");
    BlockChoice best;
    for (const int threads : candidates) {
        const Occupancy here = occupancy(device, kernel, threads);
        if (best.threads == 0 || here.warps > best.occupancy.warps) {
            best = {threads, here, here.warps >= least_warps};
        }
        if (best.enough) break;
    }
    return best;
}

/// What the GPU has, and what a compiled kernel needs with `dynamic_shared` bytes of dynamic shared
/// memory a block and `shared_per_thread` more for each thread. `kernel` is a function or, compiled
/// at run time, SpecialisedKernel::kernel. Defined in builds with CUDA.
MultiprocessorLimits multiprocessor_limits(const Gpu& gpu);
KernelNeeds kernel_needs(const Gpu& gpu, const void* kernel, std::size_t dynamic_shared = 0,
                         std::size_t shared_per_thread = 0);

}  // namespace aperture::core
