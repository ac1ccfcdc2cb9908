// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Implementation for a build without CUDA.
#include "aperture/core/executor.hpp"
#include "libcore/allocated_bytes.hpp"

namespace aperture::core {

std::uint64_t device_allocations() { return 0; }
std::uint64_t device_bytes_allocated() { return 0; }

std::uint64_t waits_for_gpu() { return 0; }

GpuStatus gpu_status(int) { return {false, "built without CUDA"}; }

namespace detail {

void* allocate(Device, std::size_t, Pages) {
    throw DeviceError("built without CUDA: no device memory");
}

void release(Device, void*, Pages) noexcept {}

void lock_pages(void*, std::size_t) { throw DeviceError("built without CUDA: no locked memory"); }

void unlock_pages(void*) noexcept {}

}  // namespace detail

}  // namespace aperture::core
