// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/allocation/counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> news = 0;
std::atomic<long> new_bytes = 0;
}  // namespace

long calls_of_new() { return news; }
long bytes_of_new() { return new_bytes; }

void* operator new(std::size_t bytes) {
    ++news;
    new_bytes += static_cast<long>(bytes);
    if (void* block = std::malloc(bytes)) return block;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    ++news;
    new_bytes += static_cast<long>(bytes);
    const auto align = static_cast<std::size_t>(alignment);
    if (void* block = std::aligned_alloc(align, (bytes + align - 1) / align * align)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
