// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/gpu/simt_scheduler.hpp"

#include <bit>
#include <utility>

#include "aperture/core/error.hpp"

namespace aperture::core::simt {

namespace {

constexpr unsigned max_block_threads = 1024;
constexpr unsigned max_block_depth = 64;
constexpr unsigned max_grid_yz = 65535;
constexpr unsigned max_grid_x = 0x7fffffff;
constexpr unsigned max_resident_threads = 2048;

template <class Error = DeviceError>
void require(bool possible, const Shape& shape, const std::string& reason) {
    if (possible) return;
    const auto triple = [](const dim3& d) { return text("(", d.x, ", ", d.y, ", ", d.z, ")"); };
    throw Error(text("launch refused: ", reason, "; grid ", triple(shape.grid), ", block ",
                     triple(shape.block), ", shared ", shape.shared, " bytes, at ",
                     shape.where.file_name(), ":", shape.where.line()));
}

void check(const Simt& simt, const Shape& shape) {
    const dim3 &g = shape.grid, &b = shape.block;
    require(g.x > 0 && g.y > 0 && g.z > 0 && b.x > 0 && b.y > 0 && b.z > 0, shape,
            "a dimension is zero");
    require(g.x <= max_grid_x && g.y <= max_grid_yz && g.z <= max_grid_yz, shape,
            "the grid is too large");
    require(b.x <= max_block_threads && b.y <= max_block_threads && b.z <= max_block_depth &&
                static_cast<std::uint64_t>(b.x) * b.y * b.z <= max_block_threads,
            shape, "the block is too large");
    require<UnfitDevice>(shape.shared <= static_cast<std::size_t>(simt.shared_memory_per_block()),
                         shape,
                         text("too much shared memory: the limit is ",
                              simt.shared_memory_per_block(), " bytes per block"));
    if (shape.cooperative) {
        const std::uint64_t per_multiprocessor = max_resident_threads / (b.x * b.y * b.z);
        require(static_cast<std::uint64_t>(g.x) * g.y * g.z <=
                    per_multiprocessor * static_cast<unsigned>(simt.multiprocessors()),
                shape, "the blocks of a cooperative launch cannot all be resident");
    }
}

}  // namespace

thread_local constinit Scheduler* running = nullptr;

/// Xorshift (Marsaglia 2003), the upper half.
unsigned Scheduler::next_random() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<unsigned>(random >> 32);
}

unsigned Scheduler::pick(std::uint32_t set) {
    switch (order) {
        case LaneOrder::forward:
            return static_cast<unsigned>(std::countr_zero(set));
        case LaneOrder::reverse:
            return 31u - static_cast<unsigned>(std::countl_zero(set));
        case LaneOrder::random:
            break;
    }
    const auto choices = static_cast<unsigned>(std::popcount(set));
    const auto skip = static_cast<unsigned>(std::uint64_t(next_random()) * choices >> 32);
    if (set == ~0u) return skip;
    for (unsigned i = 0; i < skip; ++i) set &= set - 1;
    return static_cast<unsigned>(std::countr_zero(set));
}

void Scheduler::begin_block(Block& next) {
    const std::uint64_t begun = blocks_begun++;
    const std::uint64_t number = order == LaneOrder::reverse ? grid_blocks - 1 - begun : begun;
    next.index = {static_cast<unsigned>(number % shape.grid.x),
                  static_cast<unsigned>(number / shape.grid.x % shape.grid.y),
                  static_cast<unsigned>(number / shape.grid.x / shape.grid.y)};
    next.alive = threads;
    next.waiting = 0;
    const unsigned warps = (threads + lanes_per_warp - 1) / lanes_per_warp;
    next.ready_warps = warps == 32 ? ~0u : (1u << warps) - 1u;
    warp_in_turn = pick(next.ready_warps);
    for (unsigned w = 0; w < warps; ++w) {
        const unsigned lanes = std::min(lanes_per_warp, threads - w * lanes_per_warp);
        Warp& fresh = next.warps[w];
        fresh.alive = lanes == 32 ? ~0u : (1u << lanes) - 1u;
        fresh.ready = fresh.alive;
        fresh.meetings.clear();
    }
    if (shape.shared > 0) std::memset(next.shared.get(), 0xFF, shape.shared);
}

bool Scheduler::choose_in_block() {
    if (block->ready_warps == 0) return false;
    if ((block->ready_warps >> warp_in_turn & 1u) == 0 || order == LaneOrder::random) {
        warp_in_turn = pick(block->ready_warps);
    }
    rank = warp_in_turn * lanes_per_warp + pick(block->warps[warp_in_turn].ready);
    return true;
}

/// Makes the next thread the current one; false if all threads have ended, or `error` is set.
bool Scheduler::choose() {
    if (choose_in_block()) return true;
    if (shape.cooperative) {
        const std::size_t first = order == LaneOrder::random ? next_random() % blocks.size() : 0;
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            Block& other = blocks[(first + b) % blocks.size()];
            if (other.ready_warps == 0) continue;
            block = &other;
            warp_in_turn = pick(other.ready_warps);
            return choose_in_block();
        }
        if (grid_alive == 0) return false;
    } else if (block->alive == 0) {
        if (blocks_begun == grid_blocks) return false;
        begin_block(*block);
        return choose_in_block();
    }
    error = std::make_exception_ptr(DeviceError(deadlock()));
    return false;
}

void Scheduler::enter() {
    threadIdx = thread_index[rank];
    blockIdx = block->index;
}

/// Lets others run until the thread on the fiber `own`, now current, is chosen again.
void Scheduler::wait(Fiber* own) {
    if (!choose()) {
        stacks->leave(*own, main);
        return;
    }
    Lane& next = lane();
    if (next.fiber == nullptr) next.fiber = fiber();
    if (next.fiber != own) jump(*own, *next.fiber);
    enter();
}

void Scheduler::end_thread() {
    Lane& ended = lane();
    if (!ended.copies.empty()) {
        throw DeviceError(text("a thread ended with ", ended.copies.size(),
                               " pending asynchronous copies; kernel launched at ",
                               shape.where.file_name(), ":", shape.where.line()));
    }
    ended.fiber = nullptr;
    ended.copy_groups = 0;
    Warp& own = warp();
    own.alive &= ~(1u << lane_of_warp());
    --block->alive;
    --grid_alive;
    sleep(own);
    for (Meeting& meeting : own.meetings) {
        if (meeting.waiting != 0 && meeting.waiting == (meeting.mask & own.alive)) {
            finish(meeting, own);
        }
    }
}

void Scheduler::finish(Meeting& meeting, Warp& own) {
    meeting.arrived[meeting.turn % 2] = meeting.waiting;
    own.ready |= meeting.waiting;
    block->ready_warps |= 1u << (&own - block->warps.data());
    meeting.waiting = 0;
    ++meeting.turn;
}

void Scheduler::release_block(Block& waiting_block) {
    waiting_block.waiting = 0;
    for (std::size_t w = 0; w < waiting_block.warps.size(); ++w) {
        Warp& released = waiting_block.warps[w];
        released.ready = released.alive;
        if (released.alive != 0) waiting_block.ready_warps |= 1u << w;
    }
    warp_in_turn = pick(waiting_block.ready_warps);
}

void Scheduler::fiber_main(boost::context::detail::transfer_t from) {
    arrive(from);
    for (;;) {
        Scheduler& now = *running;
        now.stacks->entered();
        Fiber* own = now.lane().fiber;
        now.enter();
        try {
            now.thread(now.kernel);
            now.end_thread();
        } catch (...) {
            now.error = std::current_exception();
        }
        if (now.error || !now.choose()) {
            now.idle.push_back(own);
            now.stacks->leave(*own, now.main);
        } else if (Lane& next = now.lane(); next.fiber == nullptr) {
            next.fiber = own;
        } else {
            now.idle.push_back(own);
            jump(*own, *next.fiber);
        }
    }
}

Fiber* Scheduler::fiber() {
    if (!idle.empty()) {
        Fiber* reused = idle.back();
        idle.pop_back();
        return reused;
    }
    fibers.push_back(stacks->fiber(fibers.size(), &Scheduler::fiber_main));
    return &fibers.back();
}

void Scheduler::abandon_fibers() {
    idle.clear();
    fibers.clear();
    stacks.reset();
}

void Scheduler::launch(const Simt& simt, const Shape& launched, void (*body)(const void*),
                       const void* closure) {
    require(running == nullptr, launched, "a kernel is running");
    check(simt, launched);
    order = simt.order;
    random = 0x9e3779b97f4a7c15u * (simt.seed + 1ull);
    shape = launched;
    thread = body;
    kernel = closure;
    run();
    if (error) {
        // Threads are abandoned where they stand: their stacks are not reused.
        blocks.clear();
        abandon_fibers();
        std::rethrow_exception(std::exchange(error, nullptr));
    }
}

void Scheduler::run() {
    threads = shape.block.x * shape.block.y * shape.block.z;
    grid_blocks = static_cast<std::uint64_t>(shape.grid.x) * shape.grid.y * shape.grid.z;
    blocks_begun = 0;
    grid_alive = grid_blocks * threads;
    grid_waiting = 0;
    error = nullptr;
    thread_index.clear();
    for (unsigned z = 0; z < shape.block.z; ++z) {
        for (unsigned y = 0; y < shape.block.y; ++y) {
            for (unsigned x = 0; x < shape.block.x; ++x) thread_index.push_back({x, y, z});
        }
    }
    blocks.resize(shape.cooperative ? grid_blocks : 1);
    for (Block& resident : blocks) {
        resident.warps.resize((threads + lanes_per_warp - 1) / lanes_per_warp);
        resident.lanes.resize(threads);
        if (!resident.shared || resident.shared.get_deleter().bytes != shape.shared) {
            resident.shared = {
                static_cast<std::byte*>(::operator new (shape.shared, std::align_val_t{128})),
                ReleaseShared{shape.shared}};
        }
        begin_block(resident);
    }
    if (const std::size_t most = blocks.size() * threads; !stacks || stacks->count() < most) {
        abandon_fibers();
        stacks = std::make_unique<Stacks>(most);
    }
    block = &blocks.front();
    choose_in_block();
    blockDim = shape.block;
    gridDim = shape.grid;
    running = this;
    lane().fiber = fiber();
    stacks->enter(main, *lane().fiber);
    running = nullptr;
}

std::string Scheduler::deadlock() const {
    std::string what = "deadlock: ";
    for (const Block& stuck : blocks) {
        if (stuck.alive == 0) continue;
        what += text("in block (", stuck.index.x, ", ", stuck.index.y, ", ", stuck.index.z, ") ");
        if (stuck.waiting > 0) {
            what += text(stuck.waiting, " of ", threads, " threads wait at the barrier ",
                         stuck.barrier.file_name(), ":", stuck.barrier.line(), ", ");
        }
        what += text(threads - stuck.alive, " have ended");
        for (const Warp& w : stuck.warps) {
            for (const Meeting& meeting : w.meetings) {
                if (meeting.waiting == 0) continue;
                what += text(", ", std::popcount(meeting.waiting), " of ",
                             std::popcount(meeting.mask), " lanes wait in the warp operation ",
                             meeting.where.file_name(), ":", meeting.where.line());
            }
        }
        break;
    }
    if (grid_waiting > 0) what += text(", ", grid_waiting, " threads wait for the grid");
    return what + text("; kernel launched at ", shape.where.file_name(), ":", shape.where.line());
}

}  // namespace aperture::core::simt
