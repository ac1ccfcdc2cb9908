// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "aperture/core/shape.hpp"
#include "aperture/signal/fft.hpp"
#include "aperture/stap/stages.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::stap {

namespace {

/// Range cells transformed together: two cache lines of every pulse.
constexpr int tile_cells = 16;

}  // namespace

template <>
struct DopplerFilter<core::Cpu>::State {
    core::Cpu& cpu;
    Problem problem;
    std::vector<float> taper;
    /// Transforms a tile [Doppler bin][range cell].
    signal::ForwardFft<core::Cpu> transform;

    State(core::Cpu& executor, const Problem& p)
        : cpu(executor),
          problem(p),
          transform(executor, {p.doppler_bins, tile_cells, tile_cells, 1}) {
        for (double weight : signal::taper_weights(p.parameters.taper, int(p.shape.pulses)))
            taper.push_back(static_cast<float>(weight));
    }

    void filter_tile(core::View<const cfloat, 3, core::Host> pulses,
                     core::View<cfloat, 3, core::Host> cube, index_t channel, index_t first,
                     cfloat* tile) const {
        const index_t cells = std::min<index_t>(tile_cells, problem.shape.range_cells - first);
        std::fill_n(tile, index_t(problem.doppler_bins) * tile_cells, cfloat(0));
        for (index_t p = 0; p < problem.shape.pulses; ++p) {
            const cfloat* samples = &pulses(channel, p, first);
            const float weight = taper[static_cast<std::size_t>(p)];
            for (index_t i = 0; i < cells; ++i) tile[p * tile_cells + i] = weight * samples[i];
        }
        transform.run(tile);
        for (index_t k = 0; k < problem.doppler_bins; ++k)
            std::copy_n(tile + k * tile_cells, cells, &cube(channel, k, first));
    }
};

template <class Executor>
DopplerFilter<Executor>::DopplerFilter(Executor& executor, const Problem& problem) {
    core::expects(problem.shape.domain == Domain::pulse,
                  "the cube is in the Doppler domain already");
    state_ = std::make_unique<State>(executor, problem);
}
template <class Executor>
DopplerFilter<Executor>::~DopplerFilter() = default;
template <class Executor>
DopplerFilter<Executor>::DopplerFilter(DopplerFilter&&) noexcept = default;
template <class Executor>
DopplerFilter<Executor>& DopplerFilter<Executor>::operator=(DopplerFilter&&) noexcept = default;

template <class Executor>
void DopplerFilter<Executor>::run(core::View<const cfloat, 3, typename Executor::Space> pulses,
                                  core::View<cfloat, 3, typename Executor::Space> cube) const {
    const CubeShape& shape = state_->problem.shape;
    const index_t bins = state_->problem.doppler_bins;
    core::expects_shape("cube of pulses", pulses, {shape.channels, shape.pulses, shape.range_cells},
                        core::Strides::unit_last);
    core::expects_shape("cube of Doppler bins", cube, {shape.channels, bins, shape.range_cells},
                        core::Strides::dense);
    const index_t tiles = (shape.range_cells + tile_cells - 1) / tile_cells;
    const std::size_t tile_bytes = static_cast<std::size_t>(bins) * tile_cells * sizeof(cfloat);
    core::for_each_task(
        state_->cpu, shape.channels * tiles, tile_bytes, [&](index_t task, std::byte* scratch) {
            state_->filter_tile(pulses, cube, task / tiles, task % tiles * tile_cells,
                                reinterpret_cast<cfloat*>(scratch));
        });
}

template class DopplerFilter<core::Cpu>;

}  // namespace aperture::stap
