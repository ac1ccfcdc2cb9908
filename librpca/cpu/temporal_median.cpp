// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/temporal_median.hpp"

#include <algorithm>

#include "aperture/core/shape.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::rpca {
namespace {

/// Values gathered together, so that whole cache lines of the frames are read.
constexpr index_t together = 64;

float median_of(float* values, index_t count) {
    float* const middle = values + count / 2;
    std::nth_element(values, middle, values + count);
    if (count % 2 == 1) return *middle;
    return (*std::max_element(values, middle) + *middle) / 2;
}

}  // namespace

void temporal_median(core::Cpu& cpu, FramesView<const float, core::Host> frames,
                     core::View<float, 1, core::Host> background) {
    const index_t count = frames.extent[0];
    const index_t values = frames.extent[1];
    core::expects(count > 0, "the median requires at least 1 frame");
    core::expects_shape("background", background, {values});
    const auto scratch_bytes = static_cast<std::size_t>(count * together) * sizeof(float);
    const auto of_some = [&](index_t task, std::byte* scratch) {
        auto* const gathered = reinterpret_cast<float*>(scratch);
        const index_t begin = task * together;
        const index_t end = std::min(begin + together, values);
        for (index_t f = 0; f < count; ++f) {
            for (index_t v = begin; v < end; ++v) gathered[(v - begin) * count + f] = frames(f, v);
        }
        for (index_t v = begin; v < end; ++v) {
            background(v) = median_of(gathered + (v - begin) * count, count);
        }
    };
    core::for_each_task(cpu, core::ceil_div(values, together), scratch_bytes, of_some);
}

}  // namespace aperture::rpca
