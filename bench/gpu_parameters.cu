// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/gpu_parameters.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/occupancy.hpp"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;
using core::index_t;

constexpr int steps = 2048;
constexpr int runs = 5;
/// Bytes between the elements of a chain in device memory: lines of the cache.
constexpr index_t line = 128;

/// What a kernel took, and its result, without which the compiler would remove its work.
struct Measured {
    long long cycles;
    double result;
};

struct MultiplyAdd {
    template <class T>
    __device__ T operator()(T x) const {
        return x * T(0.999) + T(0.001);
    }
};
/// The reciprocal alone would be cheaper.
struct Divide {
    template <class T>
    __device__ T operator()(T x) const {
        return T(1.7) / x;
    }
};
struct SquareRoot {
    template <class T>
    __device__ T operator()(T x) const {
        return sqrt(x);
    }
};
struct ReciprocalRoot {
    template <class T>
    __device__ T operator()(T x) const {
        return rsqrt(x);
    }
};

/// Warp: `count` operations, each on the result of the one before.
template <class Operation, class T>
__global__ void arithmetic_kernel(T start, int count, Measured* measured) {
    T x = start;
    const long long begin = clock64();
    APERTURE_UNROLL_BY(16)
    for (int i = 0; i < count; ++i) x = Operation()(x);
    const long long end = clock64();
    *measured = {end - begin, static_cast<double>(x)};
}

/// Block: `count` barriers.
__global__ void barrier_kernel(int count, Measured* measured) {
    const long long begin = clock64();
    APERTURE_UNROLL_BY(16)
    for (int i = 0; i < count; ++i) __syncthreads();
    const long long end = clock64();
    if (core::thread_rank() == 0) *measured = {end - begin, 0};
}

/// Warp: loads from shared memory, each at the address that the one before read. The chain is one
/// of all words of a KB.
__global__ void shared_chain_kernel(int count, Measured* measured) {
    constexpr unsigned words = 256;
    unsigned* chain = core::shared<unsigned>();
    const auto first = static_cast<unsigned>(__cvta_generic_to_shared(chain));
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        chain[i] = first + 4 * ((i + 33) % words);
    }
    __syncthreads();
    unsigned address = first;
    const long long begin = clock64();
    APERTURE_UNROLL_BY(16)
    for (int i = 0; i < count; ++i) {
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(address)::"memory");
    }
    const long long end = clock64();
    *measured = {end - begin, static_cast<double>(address)};
}

/// Thread: makes each line of `memory` point to another. All are one chain, without a pattern that
/// hardware would foresee: a linear congruential generator of full period. `lines` is a power of
/// two.
__global__ void link_lines_kernel(unsigned char* memory, index_t lines) {
    for (index_t i = index_t{blockIdx.x} * blockDim.x + threadIdx.x; i < lines;
         i += index_t{gridDim.x} * blockDim.x) {
        const index_t next = (i * 1664525 + 1013904223) & (lines - 1);
        *reinterpret_cast<void**>(memory + i * line) = memory + next * line;
    }
}

/// Warp: loads from device memory, each at the address that the one before read.
__global__ void global_chain_kernel(void* first, int count, Measured* measured) {
    void* address = first;
    const long long begin = clock64();
    APERTURE_UNROLL_BY(16)
    for (int i = 0; i < count; ++i) {
        asm volatile("ld.global.u64 %0, [%0];" : "+l"(address)::"memory");
    }
    const long long end = clock64();
    *measured = {end - begin, static_cast<double>(reinterpret_cast<unsigned long long>(address))};
}

/// Thread: `count` loads of 16 bytes from shared memory, a warp's without conflicts.
__global__ void __launch_bounds__(1024)
    shared_loads_kernel(int count, unsigned stride, double* results) {
    float4* values = core::shared<float4>();
    const unsigned all = blockDim.x;
    values[threadIdx.x] = {1, 2, 3, static_cast<float>(threadIdx.x)};
    __syncthreads();
    float4 sum{};
    unsigned at = threadIdx.x;
    APERTURE_UNROLL_BY(8)
    for (int i = 0; i < count; ++i) {
        const float4 value = values[at];
        sum = {sum.x + value.x, sum.y + value.y, sum.z + value.z, sum.w + value.w};
        // The compiler cannot know that the stride is a warp's.
        at = (at + stride) & (all - 1);
    }
    results[index_t{blockIdx.x} * all + threadIdx.x] =
        static_cast<double>(sum.x + sum.y + sum.z + sum.w);
}

/// Waits until `cycles` are over.
__global__ void spin_kernel(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void empty_kernel() {}

/// Cycles of each of the `steps` steps of the kernel that launch(measured) submits, the least of
/// several runs.
template <class Launch>
double cycles_a_step(core::Gpu& gpu, const Launch& launch) {
    Array<Measured, 1, Device> on_device({1});
    Array<Measured, 1, core::Host> on_host({1});
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs; ++run) {
        launch(on_device.data());
        core::copy(gpu, std::as_const(on_device).view(), on_host.view());
        gpu.synchronize();
        best = std::min(best, static_cast<double>(on_host.data()[0].cycles) / steps);
    }
    return best;
}

/// Milliseconds of the work that `submit` submits, the least of several runs.
template <class Submit>
double least_ms(core::Gpu& gpu, const Submit& submit) {
    core::Timeline timeline;
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs; ++run) {
        timeline.begin_run();
        {
            const auto scope = core::Timeline::stage(&timeline, gpu, "work", 0, 0);
            submit();
        }
        best = std::min(best, timeline.stages().front().ms);
    }
    return best;
}

template <class Operation, class T>
double latency_of(core::Gpu& gpu) {
    return cycles_a_step(gpu, [&](Measured* measured) {
        core::launch(gpu, &arithmetic_kernel<Operation, T>, core::LaunchConfig(1, core::warp_size),
                     T(3), steps, measured);
    });
}

template <class T>
dense::ArithmeticParameters arithmetic_parameters(core::Gpu& gpu) {
    dense::ArithmeticParameters result;
    result.multiply_add = latency_of<MultiplyAdd, T>(gpu);
    result.division = latency_of<Divide, T>(gpu);
    result.square_root = latency_of<SquareRoot, T>(gpu);
    result.reciprocal_root = latency_of<ReciprocalRoot, T>(gpu);
    return result;
}

double global_latency(core::Gpu& gpu) {
    // Both many times larger than the second-level cache: writing one leaves nothing of the other.
    index_t lines = index_t{1} << 22;
    while (2 * line * lines > static_cast<index_t>(gpu.free_memory() / 2)) lines /= 2;
    Array<unsigned char, 1, Device> chain({line * lines});
    Array<unsigned char, 1, Device> other({line * lines});
    const core::LaunchConfig whole_device(static_cast<unsigned>(8 * gpu.multiprocessors()), 256);
    core::launch(gpu, &link_lines_kernel, whole_device, chain.data(), lines);
    index_t start = 0;
    return cycles_a_step(gpu, [&](Measured* measured) {
        // Each run reads lines that no other has read.
        core::launch(gpu, &link_lines_kernel, whole_device, other.data(), lines);
        core::launch(gpu, &global_chain_kernel, core::LaunchConfig(1, 1),
                     chain.data() + line * start, steps, measured);
        start += lines / runs;
    });
}

/// GB/s of the whole device.
double shared_bandwidth(core::Gpu& gpu) {
    constexpr int count = 1 << 14;
    constexpr int threads = 1024;
    const int blocks = 2 * gpu.multiprocessors();
    Array<double, 1, Device> results({index_t{blocks} * threads});
    const double ms = least_ms(gpu, [&] {
        core::launch(
            gpu, &shared_loads_kernel,
            core::LaunchConfig(static_cast<unsigned>(blocks), threads, threads * sizeof(float4)),
            count, static_cast<unsigned>(core::warp_size), results.data());
    });
    return 1e-6 * sizeof(float4) * count * threads * blocks / ms;
}

}  // namespace

dense::DeviceParameters measure_gpu_parameters(core::Gpu& gpu) {
    dense::DeviceParameters device;
    device.multiprocessors = gpu.multiprocessors();
    const core::MultiprocessorLimits limits = core::multiprocessor_limits(gpu);
    device.registers = limits.registers;
    device.shared_bytes = static_cast<int>(limits.shared);
    device.warps = limits.warps;
    device.blocks = limits.blocks;
    constexpr long long spin = 1 << 24;
    device.clock_ghz = 1e-6 * spin / least_ms(gpu, [&] {
                           core::launch(gpu, &spin_kernel, core::LaunchConfig(1, 1), spin);
                       });
    constexpr int launches = 256;
    device.launch_us = 1e3 / launches * least_ms(gpu, [&] {
                           for (int i = 0; i < launches; ++i) {
                               core::launch(gpu, &empty_kernel, core::LaunchConfig(1, 1));
                           }
                       });
    device.global_latency = global_latency(gpu);
    device.global_bandwidth = gpu_copy_gbs(gpu);
    device.shared_latency = cycles_a_step(gpu, [&](Measured* measured) {
        core::launch(gpu, &shared_chain_kernel, core::LaunchConfig(1, core::warp_size, 1024), steps,
                     measured);
    });
    device.shared_bandwidth = shared_bandwidth(gpu);
    for (int threads = 32; threads <= 1024; threads *= 2) {
        const double cycles = cycles_a_step(gpu, [&](Measured* measured) {
            core::launch(gpu, &barrier_kernel,
                         core::LaunchConfig(1, static_cast<unsigned>(threads)), steps, measured);
        });
        device.barriers.push_back({threads, cycles});
    }
    device.fp32 = arithmetic_parameters<float>(gpu);
    device.fp64 = arithmetic_parameters<double>(gpu);
    const auto begun_a_cycle = [&](GpuUnit unit) {
        return gpu_peak_gflops(gpu, unit) / 2 / device.clock_ghz / device.multiprocessors;
    };
    device.fp32.multiply_adds_a_cycle = begun_a_cycle(GpuUnit::fp32);
    device.fp64.multiply_adds_a_cycle = begun_a_cycle(GpuUnit::fp64);
    return device;
}

}  // namespace aperture::bench
