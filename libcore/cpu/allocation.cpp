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
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::atomic<std::uint64_t> host_allocation_count{0};
std::atomic<std::uint64_t> host_allocation_bytes{0};

/// Memory of at least `bytes`, in huge pages from `least_huge` bytes on.
void* allocate_aligned(std::size_t bytes, std::size_t alignment, std::size_t least_huge) {
    const bool huge = bytes >= least_huge;
    if (huge) alignment = huge_page;
    const std::size_t rounded = round_up(bytes, alignment);
    void* block = std::aligned_alloc(alignment, rounded);
    if (block == nullptr) throw DeviceError(text("out of memory: ", bytes, " bytes requested"));
    if (huge) madvise(block, rounded, MADV_HUGEPAGE);
    return block;
}

/// Cubes are streamed through once per stage: without huge pages the first touch and the TLB cost
/// more than the arithmetic.
void* allocate_pageable(std::size_t bytes) {
    return allocate_aligned(bytes, vector_alignment, 4 * huge_page);
}

/// Huge pages that were touched are locked in a tenth of the time that CUDA takes to allocate
/// locked memory: 48 MB in 2 ms instead of 26 (H100, 16 cores).
void* allocate_locked(std::size_t bytes) {
    const std::size_t rounded = round_up(bytes, page);
    void* const block = allocate_aligned(rounded, page, huge_page);
    auto* const bytes_of_block = static_cast<volatile std::byte*>(block);
#pragma omp parallel for if (rounded >= huge_page)
    for (std::size_t at = 0; at < rounded; at += page) bytes_of_block[at] = std::byte{};
    try {
        detail::lock_pages(block, rounded);
    } catch (...) {
        std::free(block);
        throw;
    }
    return block;
}

}  // namespace

std::uint64_t host_allocations() { return host_allocation_count.load(); }
std::uint64_t host_bytes_allocated() { return host_allocation_bytes.load(); }

namespace detail {

void* allocate(Host, std::size_t bytes, Pages pages) {
    ++host_allocation_count;
    host_allocation_bytes += bytes;
    return pages == Pages::locked ? allocate_locked(bytes) : allocate_pageable(bytes);
}

void release(Host, void* block, Pages pages) noexcept {
    if (pages == Pages::locked) unlock_pages(block);
    std::free(block);
}

}  // namespace detail

}  // namespace aperture::core
