// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <vector>

#include "libcore/gpu/fiber.hpp"
#include "libcore/gpu/simt_host.hpp"

namespace aperture::core::simt {

inline constexpr unsigned lanes_per_warp = 32;

struct PendingCopy {
    void* to;
    const void* from;
    unsigned bytes;
    unsigned group;
};

/// A thread of a block that has begun and not ended.
struct Lane {
    Fiber* fiber = nullptr;
    unsigned copy_groups = 0;
    std::vector<PendingCopy> copies;
};

/// A meeting point of the lanes in `mask`. The values are double buffered: a lane can be ahead by
/// at most one meeting of those that still read the last meeting's values.
struct Meeting {
    std::uint32_t mask = 0;
    std::uint32_t waiting = 0;
    unsigned turn = 0;
    WarpOperation operation = WarpOperation::sync;
    std::source_location where;
    std::uint32_t arrived[2] = {};
    std::uint64_t values[2][lanes_per_warp] = {};
};

struct Warp {
    std::uint32_t alive = 0;
    std::uint32_t ready = 0;
    std::vector<Meeting> meetings;
};

struct ReleaseShared {
    std::size_t bytes = 0;  ///< of the allocation
    // Not the sized form, which clang before 19 does not have by default.
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{128}); }
};

struct Block {
    uint3 index{};
    unsigned alive = 0;
    unsigned waiting = 0;
    std::uint32_t ready_warps = 0;
    std::source_location barrier;
    std::vector<Warp> warps;
    std::vector<Lane> lanes;
    std::unique_ptr<std::byte, ReleaseShared> shared;
};

/// Runs one launch at a time: the current thread, and what all the others wait for.
class Scheduler {
  public:
    // The launch.
    LaneOrder order = LaneOrder::forward;
    std::uint64_t random = 1;
    Shape shape;
    void (*thread)(const void*) = nullptr;
    const void* kernel = nullptr;
    unsigned threads = 0;
    std::uint64_t blocks_begun = 0;
    std::uint64_t grid_blocks = 0;
    std::uint64_t grid_alive = 0;
    std::uint64_t grid_waiting = 0;
    std::vector<uint3> thread_index;
    std::exception_ptr error;

    // The current thread.
    Block* block = nullptr;
    unsigned rank = 0;
    unsigned warp_in_turn = 0;

    // Kept from launch to launch.
    Fiber main;
    std::vector<Block> blocks;
    std::unique_ptr<Stacks> stacks;
    std::deque<Fiber> fibers;
    std::vector<Fiber*> idle;

    void launch(const Simt& simt, const Shape& launched, void (*body)(const void*),
                const void* closure);
    void run();
    Fiber* fiber();
    void abandon_fibers();
    void begin_block(Block& next);
    bool choose();
    bool choose_in_block();
    unsigned next_random();
    unsigned pick(std::uint32_t set);
    void wait(Fiber* own);
    void enter();
    void end_thread();
    void finish(Meeting& meeting, Warp& warp);
    void release_block(Block& waiting_block);
    std::string deadlock() const;

    static void fiber_main(boost::context::detail::transfer_t from);
    Warp& warp() { return block->warps[rank / lanes_per_warp]; }
    Lane& lane() { return block->lanes[rank]; }
    unsigned lane_of_warp() const { return rank % lanes_per_warp; }
    void sleep(Warp& sleeping) {
        sleeping.ready &= ~(1u << lane_of_warp());
        if (sleeping.ready == 0) block->ready_warps &= ~(1u << (rank / lanes_per_warp));
    }
};

/// The scheduler whose launch runs on this host thread; null outside of kernels.
extern thread_local constinit Scheduler* running;

}  // namespace aperture::core::simt
