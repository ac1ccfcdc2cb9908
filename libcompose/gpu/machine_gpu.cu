// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// What a GPU can do, for predictions, and what a search needs of it.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>

#include "libcompose/gpu/graph_owners.hpp"
#include "libcompose/search.hpp"
#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/grid.cuh"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/occupancy.hpp"

namespace aperture::compose {
namespace {

using Bytes = core::Array<std::byte, 1, core::Device>;

constexpr int threads = 256;
/// Bytes between what a chain reads: lines of the cache.
constexpr index_t line = 128;

/// Thread: 16 bytes at a time, with a stride of the grid.
__global__ void __launch_bounds__(threads)
    copy_kernel(const double2* from, double2* to, index_t count) {
    const auto step = static_cast<index_t>(gridDim.x) * threads;
    for (auto i = static_cast<index_t>(blockIdx.x) * threads + core::thread_rank(); i < count;
         i += step) {
        to[i] = from[i];
    }
}

/// Thread: makes lines of `memory`, a power of two, point to others. All are one chain without a
/// pattern that hardware would foresee: a linear congruential generator of full period.
__global__ void __launch_bounds__(threads) link_kernel(std::byte* memory, index_t lines) {
    const auto step = static_cast<index_t>(gridDim.x) * threads;
    for (auto i = static_cast<index_t>(blockIdx.x) * threads + core::thread_rank(); i < lines;
         i += step) {
        const index_t next = (i * 1664525 + 1013904223) & (lines - 1);
        *reinterpret_cast<void**>(memory + i * line) = memory + next * line;
    }
}

/// Of one thread: `count` loads, each from the address that the one before read.
__global__ void chain_kernel(void* first, int count, void** last) {
    void* address = first;
    for (int i = 0; i < count; ++i) address = *static_cast<void* volatile*>(address);
    *last = address;
}

__global__ void empty_kernel() {}

__global__ void barrier_kernel(unsigned long long* arrivals, int count) {
    core::GridBarrier grid(arrivals);
    for (int i = 0; i < count; ++i) grid.sync();
}

double attribute_of(const core::Gpu& gpu, cudaDeviceAttr which) {
    int value = 0;
    APERTURE_CUDA_TRY(cudaDeviceGetAttribute(&value, which, gpu.device()));
    return value;
}

/// The least of several runs.
template <class Action>
double least_seconds(core::Gpu& gpu, int runs, const Action& action) {
    core::Timeline timeline;
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs; ++run) {
        least = std::min(least, seconds_of(gpu, timeline, [&] { action(run); }));
    }
    return least;
}

/// Of a kernel of a graph whose kernels wait for each other, as those of plans do.
double launch_seconds(core::Gpu& gpu) {
    constexpr int launches = 256;
    const OwnedGraph graph = new_graph();
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(&empty_kernel);
    parameters.gridDim = parameters.blockDim = dim3(1);
    cudaGraphNode_t last = nullptr;
    for (int i = 0; i < launches; ++i) {
        cudaGraphNode_t node = nullptr;
        APERTURE_CUDA_TRY(
            cudaGraphAddKernelNode(&node, graph.get(), &last, i > 0 ? 1 : 0, &parameters));
        last = node;
    }
    const ReadyGraph ready = instantiate(graph);
    const double seconds = least_seconds(
        gpu, 5, [&](int) { APERTURE_CUDA_TRY(cudaGraphLaunch(ready.get(), gpu.stream())); });
    return seconds / launches;
}

}  // namespace

Machine limits_of(core::Gpu& gpu) {
    const core::MultiprocessorLimits limits = core::multiprocessor_limits(gpu);
    Machine machine;
    machine.cache_bytes = attribute_of(gpu, cudaDevAttrL2CacheSize);
    gpu.stream();  // Of the GPU that the thread used last.
    std::size_t free = 0, total = 0;
    APERTURE_CUDA_TRY(cudaMemGetInfo(&free, &total));
    machine.memory_bytes = static_cast<double>(total);
    machine.multiprocessors = gpu.multiprocessors();
    machine.registers = limits.registers;
    machine.shared_bytes = static_cast<int>(limits.shared);
    machine.warps = limits.warps;
    machine.blocks = limits.blocks;
    return machine;
}

void measure_rates(core::Gpu& gpu, Machine& machine) {
    const auto attribute = [&](cudaDeviceAttr which) { return attribute_of(gpu, which); };
    // Units of 32-bit multiply-adds: the attributes have the rest.
    const int units = gpu.compute_capability() == 80 ? 64 : 128;
    machine.flops_a_second =
        2.0 * units * gpu.multiprocessors() * 1e3 * attribute(cudaDevAttrClockRate);
    machine.double_flops_a_second =
        machine.flops_a_second / attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio);

    // Several times larger than the cache, or as large as is free.
    index_t lines = index_t{1} << 21;
    gpu.stream();  // Arrays are on the GPU that the thread used last.
    while (lines > 1024 && 2 * line * lines > static_cast<index_t>(gpu.free_memory() / 2)) {
        lines /= 2;
    }
    const index_t bytes = line * lines;
    Bytes chain({bytes}), other({bytes}), last({static_cast<index_t>(sizeof(void*))});
    const core::LaunchConfig whole_device(dim3(static_cast<unsigned>(8 * gpu.multiprocessors())),
                                          dim3(threads));
    core::launch(gpu, &link_kernel, whole_device, chain.data(), lines);
    const auto copy = [&](int) {
        core::launch(gpu, &copy_kernel, whole_device,
                     reinterpret_cast<const double2*>(chain.data()),
                     reinterpret_cast<double2*>(other.data()),
                     bytes / static_cast<index_t>(sizeof(double2)));
    };
    machine.bytes_a_second = 2.0 * double(bytes) / least_seconds(gpu, 5, copy);

    constexpr int steps = 2048, runs = 3;
    machine.latency_seconds =
        least_seconds(gpu, runs,
                      [&](int run) {
                          // Each run reads lines that no other has read; the copy has written over
                          // the cache.
                          core::launch(
                              gpu, &chain_kernel, core::LaunchConfig(dim3(1), dim3(1)),
                              static_cast<void*>(chain.data() + line * (run * (lines / runs))),
                              steps, reinterpret_cast<void**>(last.data()));
                      }) /
        steps;
    machine.launch_seconds = launch_seconds(gpu);

    // As many threads as loops have.
    constexpr int barriers = 256;
    auto* const arrivals = reinterpret_cast<unsigned long long*>(last.data());
    APERTURE_CUDA_TRY(cudaMemsetAsync(arrivals, 0, sizeof(*arrivals), gpu.stream()));
    const core::LaunchConfig config(dim3(static_cast<unsigned>(gpu.multiprocessors())), dim3(512));
    const auto wait = [&](int) {
        core::launch_cooperative(gpu, &barrier_kernel, config, arrivals, barriers);
    };
    machine.barrier_seconds = least_seconds(gpu, 5, wait) / barriers;
}

void copy_bytes(core::Gpu& gpu, const void* from, void* to, index_t bytes) {
    APERTURE_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                                      gpu.stream()));
}

template Machine measured_machine(core::Gpu&);
template Tuned<core::Gpu> run_tuned(core::Gpu&, const Program&, const Registry&, const Arguments&,
                                    std::span<const Argument>, const Tuning&);

}  // namespace aperture::compose
