// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "aperture/core/timing.hpp"
#include "bench/block_policies.cuh"
#include "bench/gpu_column_qr.cuh"
#include "bench/tall_blocks.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/tree_qr.cuh"

namespace aperture::bench {
namespace {

using core::Array;
using core::Device;

template <class Work>
double fastest(core::Gpu& gpu, const Work& work) {
    double best = std::numeric_limits<double>::infinity();
    core::Timeline timeline;
    for (int run = 0; run < 5; ++run) {
        timeline.begin_run();
        {
            const auto scope = core::Timeline::stage(&timeline, gpu, "run", 0, 0);
            work();
        }
        best = std::min(best, timeline.stages().front().ms * 1e-3);
    }
    return best;
}

template <BlockPolicy policy>
double seconds_of(core::Gpu& gpu, int blocks) {
    Array<float, 1, Device> reflectors({PolicyBlock::elements});
    Array<float, 1, Device> memory({index_t{blocks} * PolicyBlock::elements});
    cudaMemsetAsync(reflectors.data(), 0, PolicyBlock::elements * sizeof(float), gpu.stream());
    cudaMemsetAsync(memory.data(), 0, static_cast<std::size_t>(memory.size()) * sizeof(float),
                    gpu.stream());
    return fastest(gpu, [&] {
        core::launch(gpu, &block_policy_kernel<policy>,
                     core::LaunchConfig(dim3(static_cast<unsigned>(blocks)),
                                        dim3(PolicyBlock::threads), PolicyBlock::shared_bytes),
                     reflectors.data(), memory.data());
    });
}

template <int groups>
double seconds_of_groups(core::Gpu& gpu, core::View<const float, 2, Device> a,
                         core::View<float, 2, Device> r) {
    dense::gpu::TreeQr<float, core::Gpu, groups> qr(gpu, a.extent[0], a.extent[1]);
    return fastest(gpu, [&] { qr.factor(a, r, false); });
}

}  // namespace

double seconds_of_policy(core::Gpu& gpu, int approach, int blocks) {
    switch (approach) {
        case 1:
            return seconds_of<BlockPolicy::shared_parallel>(gpu, blocks);
        case 2:
            return seconds_of<BlockPolicy::shared_serial>(gpu, blocks);
        case 3:
            return seconds_of<BlockPolicy::registers>(gpu, blocks);
        default:
            return seconds_of<BlockPolicy::transposed>(gpu, blocks);
    }
}
double policy_flops() { return PolicyBlock::flops; }

double seconds_of_tree(core::Gpu& gpu, int groups, core::View<const float, 2, Device> a,
                       core::View<float, 2, Device> r) {
    switch (groups) {
        case 5:
            return seconds_of_groups<5>(gpu, a, r);
        case 7:
            return seconds_of_groups<7>(gpu, a, r);
        case 11:
            return seconds_of_groups<11>(gpu, a, r);
        default:
            return seconds_of_groups<15>(gpu, a, r);
    }
}

double seconds_of_columns(core::Gpu& gpu, core::View<const float, 2, Device> a,
                          core::View<float, 2, Device> r) {
    GpuColumnQr<float, core::Gpu> qr(gpu, a.extent[0], a.extent[1]);
    return fastest(gpu, [&] { qr.factor(a, r); });
}

int groups_of_library(index_t rows) {
    using namespace dense::tuning;
    return rows < large_tall_rows ? tall_groups : large_tall_groups;
}

}  // namespace aperture::bench
