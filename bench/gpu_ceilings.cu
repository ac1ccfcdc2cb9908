// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "aperture/core/timing.hpp"
#include "bench/gpu_ceilings.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/tensor_core.cuh"

namespace aperture::bench {
namespace {

constexpr int threads = 256;
constexpr int blocks_a_multiprocessor = 4;
// Independent sums per thread, which hide latency.
constexpr int chains = 8;
constexpr int repetitions = 1 << 14;
constexpr int products = 1 << 11;
constexpr double flops_a_product = 2.0 * 16 * 8 * 8;

__device__ double& own_result(double* results) {
    return results[static_cast<int>(blockIdx.x) * threads + core::thread_rank()];
}

/// Thread: `chains` sums of `repetitions` fused multiply-adds, 2 flops each. Writes only the result
/// to memory.
template <class T>
__global__ void __launch_bounds__(threads) multiply_add_kernel(T factor, T term, double* results) {
    T sum[chains];
    APERTURE_UNROLL
    for (int k = 0; k < chains; ++k) sum[k] = static_cast<T>(core::thread_rank() + k);
    APERTURE_UNROLL_BY(16)
    for (int i = 0; i < repetitions; ++i) {
        APERTURE_UNROLL
        for (int k = 0; k < chains; ++k) sum[k] = sum[k] * factor + term;
    }
    T total = 0;
    APERTURE_UNROLL
    for (int k = 0; k < chains; ++k) total += sum[k];
    own_result(results) = static_cast<double>(total);
}

/// Warp: `chains` sums of `products` products of 16 x 8 and 8 x 8 matrices. Writes only the result
/// to memory.
__global__ void __launch_bounds__(threads) matrix_kernel(float factor, double* results) {
    const float x = factor * static_cast<float>(core::thread_rank() + 1);
    const float a[4] = {x, x + 1, x + 2, x + 3};
    const float b[2] = {x + 4, x + 5};
    float sums[chains][4] = {};
    APERTURE_UNROLL_BY(8)
    for (int i = 0; i < products; ++i) {
        APERTURE_UNROLL
        for (int k = 0; k < chains; ++k) core::detail::multiply_add_tf32(sums[k], a, b);
    }
    float total = 0;
    APERTURE_UNROLL
    for (int i = 0; i < 4 * chains; ++i) total += sums[i / 4][i % 4];
    own_result(results) = static_cast<double>(total);
}

/// Thread: 16 bytes at a time, with a stride of the grid.
__global__ void __launch_bounds__(threads)
    copy_kernel(const double2* from, double2* to, core::index_t count) {
    const auto step = static_cast<core::index_t>(gridDim.x) * threads;
    for (auto i = static_cast<core::index_t>(blockIdx.x) * threads + core::thread_rank(); i < count;
         i += step) {
        to[i] = from[i];
    }
}

}  // namespace

GpuCeiling::GpuCeiling(core::Gpu& gpu, GpuUnit unit)
    : gpu_(gpu), unit_(unit), results_({core::index_t{blocks()} * threads}) {}

int GpuCeiling::blocks() const { return blocks_a_multiprocessor * gpu_.multiprocessors(); }

double GpuCeiling::flops() const {
    const double all_threads = double{threads} * blocks();
    if (unit_ == GpuUnit::tf32) {
        return flops_a_product * chains * products * all_threads / core::warp_size;
    }
    return 2.0 * chains * repetitions * all_threads;
}

void GpuCeiling::run() {
    const core::LaunchConfig config(dim3(static_cast<unsigned>(blocks())), dim3(threads));
    switch (unit_) {
        case GpuUnit::fp32:
            core::launch(gpu_, &multiply_add_kernel<float>, config, 0.999F, 0.001F,
                         results_.data());
            return;
        case GpuUnit::fp64:
            core::launch(gpu_, &multiply_add_kernel<double>, config, 0.999, 0.001, results_.data());
            return;
        case GpuUnit::tf32:
            core::launch(gpu_, &matrix_kernel, config, 0.01F, results_.data());
            return;
    }
}

double gpu_copy_gbs(core::Gpu& gpu) {
    static double best = 0;
    if (best > 0) return best;
    // Half a GB per direction, or a quarter of a small device's free memory.
    const auto room = static_cast<core::index_t>(gpu.free_memory() / 4 / sizeof(double2));
    const core::index_t count = std::min(core::index_t{1} << 25, room);
    const core::Array<double, 1, core::Device> from({2 * count});
    core::Array<double, 1, core::Device> to({2 * count});
    core::Timeline timeline;
    for (int run = 0; run < 25; ++run) {
        timeline.begin_run();
        {
            const auto scope = core::Timeline::stage(&timeline, gpu, "ceiling", 0, 0);
            const dim3 grid(static_cast<unsigned>(8 * gpu.multiprocessors()));
            core::launch(gpu, &copy_kernel, core::LaunchConfig(grid, dim3(threads)),
                         reinterpret_cast<const double2*>(from.data()),
                         reinterpret_cast<double2*>(to.data()), count);
        }
        const double bytes = 2.0 * sizeof(double2) * static_cast<double>(count);
        best = std::max(best, 1e-6 * bytes / timeline.stages().front().ms);
    }
    return best;
}

double gpu_peak_gflops(core::Gpu& gpu, GpuUnit unit) {
    static std::map<GpuUnit, double> known;
    double& peak = known[unit];
    if (peak == 0) {
        GpuCeiling ceiling(gpu, unit);
        core::Timeline timeline;
        for (int run = 0; run < 25; ++run) {
            timeline.begin_run();
            {
                const auto scope = core::Timeline::stage(&timeline, gpu, "ceiling", 0, 0);
                ceiling.run();
            }
            peak = std::max(peak, 1e-6 * ceiling.flops() / timeline.stages().front().ms);
        }
    }
    return peak;
}

}  // namespace aperture::bench
