// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libcore/cpu/worker_tasks.hpp"
#include "libstap/doppler_taper.hpp"
#include "libstap/stage_checks.hpp"

namespace aperture::stap {

namespace {

/// Range cells transformed together: two cache lines of every pulse.
constexpr int tile_cells = 16;

}  // namespace

/// Transforms tiles [Doppler bin][range cell].
template <>
DopplerFilter<core::Cpu>::DopplerFilter(core::Cpu& cpu, const Problem& problem)
    : executor_(&cpu),
      problem_(problem),
      taper_(pulse_weights(problem)),
      transform_(cpu, {problem.doppler_bins, tile_cells, tile_cells, 1}) {}

template <>
void DopplerFilter<core::Cpu>::run(CubeView<core::Host> pulses,
                                   core::View<cfloat, 3, core::Host> cube) const {
    check_transform(problem_, pulses, cube);
    const CubeShape& shape = problem_.shape;
    const index_t bins = problem_.doppler_bins;
    const index_t tiles = (shape.range_cells + tile_cells - 1) / tile_cells;
    const std::size_t tile_bytes = static_cast<std::size_t>(bins) * tile_cells * sizeof(cfloat);
    const auto filter_tile = [&](index_t task, std::byte* scratch) {
        const index_t channel = task / tiles;
        const index_t first = task % tiles * tile_cells;
        const index_t cells = std::min<index_t>(tile_cells, shape.range_cells - first);
        auto* tile = reinterpret_cast<cfloat*>(scratch);
        std::fill_n(tile, bins * tile_cells, cfloat(0));
        for (index_t p = 0; p < shape.pulses; ++p) {
            const cfloat* samples = &pulses(channel, p, first);
            const float weight = taper_(p);
            for (index_t i = 0; i < cells; ++i) tile[p * tile_cells + i] = weight * samples[i];
        }
        transform_.run(tile);
        for (index_t k = 0; k < bins; ++k)
            std::copy_n(tile + k * tile_cells, cells, &cube(channel, k, first));
    };
    core::for_each_task(*executor_, shape.channels * tiles, tile_bytes, filter_tile);
}

}  // namespace aperture::stap
