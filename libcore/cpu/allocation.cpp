// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "aperture/core/array.hpp"
#include "libcore/allocated_bytes.hpp"
#include "libcore/rounding.hpp"

namespace aperture::core {

namespace {

constexpr std::size_t vector_alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::atomic<std::uint64_t> host_allocation_count{0};
std::atomic<std::uint64_t> host_allocation_bytes{0};

}  // namespace

std::uint64_t host_allocations() { return host_allocation_count.load(); }
std::uint64_t host_bytes_allocated() { return host_allocation_bytes.load(); }

namespace detail {

void* allocate(Host, std::size_t bytes, Pages pages) {
    ++host_allocation_count;
    host_allocation_bytes += bytes;
    if (pages == Pages::locked) return allocate_locked(bytes);
    // Cubes are streamed through once per stage: without huge pages the first touch and the TLB
    // cost more than the arithmetic.
    const bool large = bytes >= 4 * huge_page;
    const std::size_t alignment = large ? huge_page : vector_alignment;
    const std::size_t rounded = round_up(bytes, alignment);
    void* block = std::aligned_alloc(alignment, rounded);
    if (block == nullptr) throw DeviceError(text("out of memory: ", bytes, " bytes requested"));
    if (large) madvise(block, rounded, MADV_HUGEPAGE);
    return block;
}

void release(Host, void* block, Pages pages) noexcept {
    if (pages == Pages::locked) {
        release_locked(block);
    } else {
        std::free(block);
    }
}

}  // namespace detail

}  // namespace aperture::core
