// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// What kernels call on the SIMT host executor: barriers, warp operations, copies, shared memory.
#include <cstdlib>
#include <cstring>

#include "aperture/core/error.hpp"
#include "libcore/gpu/simt_scheduler.hpp"

namespace aperture::core {

namespace simt {

namespace {

/// While a copy is pending, AddressSanitizer reports accesses to its target. It can mark multiples
/// of 8 bytes.
void mark_as_filling([[maybe_unused]] const PendingCopy& copy) {
#if defined(APERTURE_SANITIZE)
    if (copy.bytes % 8 == 0) __asan_poison_memory_region(copy.to, copy.bytes);
#endif
}
void finish_copy(const PendingCopy& copy) {
#if defined(APERTURE_SANITIZE)
    if (copy.bytes % 8 == 0) __asan_unpoison_memory_region(copy.to, copy.bytes);
#endif
    std::memcpy(copy.to, copy.from, copy.bytes);
}

/// Mostly compares addresses only: the places of one kernel have one name.
bool same_place(std::source_location a, std::source_location b) {
    return a.line() == b.line() && a.column() == b.column() &&
           (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

[[noreturn, gnu::noinline]] void fail_outside(const char* what) {
    throw DeviceError(text(what, " outside of a kernel"));
}

Scheduler& current(const char* what) {
    if (running == nullptr) fail_outside(what);
    return *running;
}

}  // namespace

Exchange exchange(std::uint32_t mask, std::uint64_t value, WarpOperation operation,
                  std::source_location where) {
    Scheduler& state = current("warp operation");
    Warp& warp = state.warp();
    const unsigned lane = state.lane_of_warp();
    if ((mask >> lane & 1u) == 0) {
        fail(where, "lane ", lane, " is not in the mask ", std::hex, mask, " it calls with");
    }
    std::size_t m = 0;
    while (m < warp.meetings.size() && warp.meetings[m].mask != mask) ++m;
    if (m == warp.meetings.size()) {
        warp.meetings.emplace_back().mask = mask;
    }
    Meeting* meeting = &warp.meetings[m];
    if (meeting->waiting == 0) {
        meeting->operation = operation;
        meeting->where = where;
    } else if (meeting->operation != operation) {
        fail(where, "lanes of one mask meet in different warp operations, one at ",
             meeting->where.file_name(), ":", meeting->where.line());
    }
    const unsigned turn = meeting->turn % 2;
    meeting->values[turn][lane] = value;
    meeting->waiting |= 1u << lane;
    state.sleep(warp);
    if (meeting->waiting == (mask & warp.alive)) state.finish(*meeting, warp);
    state.wait(state.lane().fiber);
    meeting = &warp.meetings[m];
    return {meeting->values[turn], meeting->arrived[turn], static_cast<int>(lane)};
}

void block_barrier(std::source_location where) {
    Scheduler& state = current("__syncthreads");
    Block& block = *state.block;
    if (block.waiting == 0) {
        block.barrier = where;
    } else if (!same_place(block.barrier, where)) {
        fail(where, "divergent __syncthreads: other threads of the block wait at ",
             block.barrier.file_name(), ":", block.barrier.line());
    }
    state.sleep(state.warp());
    if (++block.waiting == state.threads) state.release_block(block);
    state.wait(state.lane().fiber);
}

void grid_barrier(std::source_location where) {
    Scheduler& state = current("grid_sync");
    if (!state.shape.cooperative) fail(where, "grid_sync requires a cooperative launch");
    Fiber* const own = state.lane().fiber;
    state.sleep(state.warp());
    if (++state.grid_waiting == state.grid_blocks * state.threads) {
        state.grid_waiting = 0;
        for (Block& block : state.blocks) state.release_block(block);
        state.block = &state.blocks.front();
    }
    state.wait(own);
}

void* shared_memory() { return current("shared memory").block->shared.get(); }

void copy_later(void* to, const void* from, std::size_t bytes) {
    Lane& lane = current("copy_async").lane();
    const auto misaligned = [=](const void* p) {
        return reinterpret_cast<std::uintptr_t>(p) % bytes != 0;
    };
    if (misaligned(to) || misaligned(from)) {
        fail(std::source_location::current(), "asynchronous copy of ", bytes,
             " bytes between misaligned addresses");
    }
    lane.copies.push_back({to, from, static_cast<unsigned>(bytes), lane.copy_groups});
    mark_as_filling(lane.copies.back());
}

void commit_copies() { ++current("commit_copies").lane().copy_groups; }

void wait_for_copies(int groups_left) {
    Lane& lane = current("wait_for_copies").lane();
    std::size_t kept = 0;
    for (const PendingCopy& copy : lane.copies) {
        // Uncommitted copies are in no group and may stay pending.
        if (copy.group + static_cast<unsigned>(groups_left) < lane.copy_groups) {
            finish_copy(copy);
        } else {
            lane.copies[kept++] = copy;
        }
    }
    lane.copies.resize(kept);
}

void fail_with(const std::string& what, std::source_location where) {
    const Scheduler& scheduler = current("warp operation");
    throw DeviceError(text(what, " at ", where.file_name(), ":", where.line(), " in block (",
                           blockIdx.x, ", ", blockIdx.y, ", ", blockIdx.z, "), thread (",
                           threadIdx.x, ", ", threadIdx.y, ", ", threadIdx.z,
                           "); kernel launched at ", scheduler.shape.where.file_name(), ":",
                           scheduler.shape.where.line()));
}

}  // namespace simt

SimtDevice simt_device() {
    const char* const name = std::getenv("APERTURE_SIMT_DEVICE");
    if (name == nullptr) return {};
    // Shared memory of a block: the CUDA programming guide's technical specifications.
    for (const SimtDevice& device :
         {SimtDevice{80, 163 * 1024}, SimtDevice{86, 99 * 1024}, SimtDevice{89, 99 * 1024},
          SimtDevice{90, 227 * 1024}, SimtDevice{100, 227 * 1024}, SimtDevice{120, 99 * 1024}}) {
        if (text(device.compute_capability) == name) return device;
    }
    throw InvalidArgument(text("APERTURE_SIMT_DEVICE is ", name,
                               ", expected a compute capability: 80, 86, 89, 90, 100 or 120"));
}

Simt::Simt(LaneOrder lane_order, unsigned random_seed)
    : order(lane_order), seed(random_seed), scheduler_(std::make_unique<simt::Scheduler>()) {}
Simt::~Simt() = default;
Simt::Simt(Simt&&) noexcept = default;
Simt& Simt::operator=(Simt&&) noexcept = default;

void Simt::run(const simt::Shape& shape, void (*thread)(const void*), const void* kernel) {
    scheduler_->launch(*this, shape, thread, kernel);
}

}  // namespace aperture::core
