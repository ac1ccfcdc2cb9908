// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// What a CPU can do, for predictions.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "aperture/core/array.hpp"
#include "aperture/core/timing.hpp"
#include "libcompose/search.hpp"
#include "libcore/cpu/simd.hpp"

namespace aperture::compose {
namespace {

/// The least of several runs.
template <class Action>
double least_seconds(int runs, const Action& action) {
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs; ++run) {
        const core::Stopwatch watch;
        action();
        least = std::min(least, watch.seconds());
    }
    return least;
}

/// Multiplications and additions of one thread a second, as kernels have them: not contracted.
template <class T>
double flops_a_second() {
    constexpr int chains = 12, steps = 20000;
    core::Pack<T> sums[chains] = {};
    core::Pack<T> factor = core::broadcast(T(0.999)), term = core::broadcast(T(0.001));
    core::hold(factor);
    core::hold(term);
    const double seconds = least_seconds(10, [&] {
        for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
            for (core::Pack<T>& sum : sums) sum = sum * factor + term;
        }
    });
    for (core::Pack<T>& sum : sums) core::hold(sum);
    return 2.0 * core::lanes<T> * chains * steps / seconds;
}

/// Loads and stores of all threads, of arrays larger than caches.
double bytes_a_second(int threads) {
    constexpr index_t count = index_t{16} << 20;
    core::Array<float, 1, core::Host> from({count}), to({count});
    float* const a = from.data();
    float* const b = to.data();
    // The first run touches the memory.
    const auto run = [&] {
#pragma omp parallel for simd schedule(static) num_threads(threads)
        for (index_t i = 0; i < count; ++i) b[i] = a[i] + 1;
    };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (index_t i = 0; i < count; ++i) a[i] = 0;
    run();
    return 2.0 * sizeof(float) * double(count) / least_seconds(3, run);
}

/// Begin and end of a parallel region.
double region_seconds(int threads) {
    return least_seconds(100, [&] {
        int begun = 0;
#pragma omp parallel num_threads(threads) reduction(+ : begun)
        ++begun;
    });
}

}  // namespace

Machine limits_of(core::Cpu&) {
    // Of one third cache; sysconf counts those of all cores, of a virtual machine's host, too.
    double kilobytes = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kilobytes;
    Machine machine;
    machine.cache_bytes = 1024 * kilobytes;
    machine.memory_bytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
    return machine;
}

void measure_rates(core::Cpu& cpu, Machine& machine) {
    const int threads = cpu.threads();
    machine.bytes_a_second = bytes_a_second(threads);
    machine.flops_a_second = threads * flops_a_second<float>();
    machine.double_flops_a_second = threads * flops_a_second<double>();
    // Without threads a kernel takes some calls of functions; what is longer than the other bound
    // is the wait for a processor that another program has.
    constexpr double least_launch = 1e-7, most_launch = 5e-5;
    machine.launch_seconds = std::clamp(region_seconds(threads), least_launch, most_launch);
}

}  // namespace aperture::compose
