// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/shape.hpp"
#include "aperture/signal/fft.hpp"
#include "aperture/stap/stages.hpp"
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
    core::expects_shape("cube of pulses", pulses,
                        {p.shape.channels, p.shape.pulses, p.shape.range_cells},
                        core::Strides::unit_last);
    core::expects_shape("cube of Doppler bins", cube,
                        {p.shape.channels, p.doppler_bins, p.shape.range_cells},
                        core::Strides::dense);
    const core::Array<float, 1, core::Device>& taper = state_->taper;
    gpu::taper_and_pad(state_->gpu, pulses, taper.view(), cube);
    for (index_t channel = 0; channel < p.shape.channels; ++channel) {
        state_->transform.run(cube.data + channel * cube.stride[0]);
    }
}

template class DopplerFilter<core::Gpu>;

}  // namespace aperture::stap
