// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/ceilings.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "aperture/core/timing.hpp"
#include "libcore/cpu/simd.hpp"

namespace aperture::bench {
namespace {

constexpr int runs = 25;

// Enough independent sums to hide a latency of 4 to 5 cycles at two operations per cycle.
constexpr int chains = 12;

/// Hides a value from the optimiser, which would otherwise remove the loop.
template <class Pack>
[[gnu::always_inline]] inline void keep(Pack& value) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(value));
#else
    asm volatile("" : "+w"(value));
#endif
}

template <class Real>
void multiply_add(long repetitions) {
    core::Pack<Real> sum[chains] = {};
    core::Pack<Real> factor = core::broadcast(Real(0.999));
    core::Pack<Real> term = core::broadcast(Real(0.001));
    keep(factor);
    keep(term);
    for (long i = 0; i < repetitions; ++i) {
#pragma GCC unroll 12
        for (auto& s : sum) {
            s = s * factor + term;
            keep(s);
        }
    }
}

/// The minimum time of several runs of `body` on all threads at once, in seconds.
template <class Body>
double best_seconds(int threads, const Body& body) {
    double best = 1e30;
    for (int run = 0; run < runs; ++run) {
        const core::Stopwatch watch;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int t = 0; t < threads; ++t) body(t);
        best = std::min(best, watch.seconds());
    }
    return best;
}

}  // namespace

template <class Real>
double fma_peak_gflops(int threads) {
    static std::map<int, double> known;
    double& peak = known[threads];
    if (peak == 0) {
        constexpr long repetitions = 1'000'000;
        const double seconds = best_seconds(threads, [](int) { multiply_add<Real>(repetitions); });
        peak = 2.0 * core::lanes<Real> * chains * repetitions * threads / seconds / 1e9;
    }
    return peak;
}
template double fma_peak_gflops<float>(int);
template double fma_peak_gflops<double>(int);

double copy_bandwidth_gbs(int threads) {
    static std::map<int, double> known;
    double& bandwidth = known[threads];
    if (bandwidth == 0) {
        constexpr std::size_t bytes = std::size_t{128} << 20;
        const std::vector<char> from(bytes, 1);
        std::vector<char> to(bytes);
        const std::size_t part = bytes / static_cast<std::size_t>(threads);
        const double seconds = best_seconds(threads, [&](int t) {
            const std::size_t begin = part * static_cast<std::size_t>(t);
            std::memcpy(to.data() + begin, from.data() + begin, part);
        });
        bandwidth = 2.0 * double(part) * threads / seconds / 1e9;
    }
    return bandwidth;
}

}  // namespace aperture::bench
