// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/fft.hpp"
#include "aperture/stap/stages.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libstap/gpu/doppler.cuh"

namespace aperture::stap {

template <>
struct DopplerFilter<core::Gpu>::State {
    core::Gpu& gpu;
    Problem problem;
    core::Array<float, 1, core::Device> taper;
    signal::ForwardFft<core::Gpu> transform;  ///< of one channel

    State(core::Gpu& executor, const Problem& p)
        : gpu(executor),
          problem(p),
          taper({p.shape.pulses}),
          transform(executor, {p.doppler_bins, p.shape.range_cells, p.shape.range_cells, 1}) {
        core::Array<float, 1> weights({p.shape.pulses});
        index_t pulse = 0;
        for (double weight : signal::taper_weights(p.parameters.taper, int(p.shape.pulses))) {
            weights(pulse++) = static_cast<float>(weight);
        }
        core::copy<float, 1, core::Strided>(gpu, weights.view(), taper.view());
        gpu.synchronize();
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
    const Problem& p = state_->problem;
    core::expects(pulses.extent == std::array<index_t, 3>{p.shape.channels, p.shape.pulses,
                                                          p.shape.range_cells} &&
                      pulses.stride[2] == 1,
                  "Doppler processing: wrong extents or strides of the pulses");
    core::expects(cube.extent == std::array<index_t, 3>{p.shape.channels, p.doppler_bins,
                                                        p.shape.range_cells} &&
                      cube.dense(),
                  "Doppler processing: wrong extents or strides of the cube");
    constexpr int threads = gpu::padding_threads;
    const index_t tiles = (p.shape.range_cells + threads - 1) / threads;
    const gpu::PaddingArguments arguments{core::device_cast(pulses.data),
                                          pulses.stride[0],
                                          pulses.stride[1],
                                          core::device_cast(cube.data),
                                          cube.stride[0],
                                          cube.stride[1],
                                          state_->taper.data(),
                                          p.shape.range_cells,
                                          static_cast<int>(p.shape.pulses),
                                          p.doppler_bins};
    core::launch(state_->gpu, &gpu::taper_and_pad_kernel<threads>,
                 core::LaunchConfig(
                     static_cast<unsigned>(p.shape.channels * p.doppler_bins * tiles), threads),
                 arguments);
    for (index_t channel = 0; channel < p.shape.channels; ++channel) {
        state_->transform.run(cube.data + channel * cube.stride[0]);
    }
}

template class DopplerFilter<core::Gpu>;

}  // namespace aperture::stap
