// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libstap/doppler_taper.hpp"
#include "libstap/gpu/doppler.cuh"
#include "libstap/stage_checks.hpp"

namespace aperture::stap {

/// Transforms one channel at a time.
template <>
DopplerFilter<core::Gpu>::DopplerFilter(core::Gpu& gpu, const Problem& problem)
    : executor_(&gpu),
      problem_(problem),
      taper_({problem.shape.pulses}),
      transform_(gpu,
                 {problem.doppler_bins, problem.shape.range_cells, problem.shape.range_cells, 1}) {
    const core::Array<float, 1> weights = pulse_weights(problem);
    core::copy<float, 1, core::Strided>(gpu, weights.view(), taper_.view());
    gpu.synchronize();
}

template <>
void DopplerFilter<core::Gpu>::run(CubeView<core::Device> pulses,
                                   core::View<cfloat, 3, core::Device> cube) const {
    check_transform(problem_, pulses, cube);
    gpu::taper_and_pad(*executor_, pulses, taper_.view(), cube);
    for (index_t channel = 0; channel < problem_.shape.channels; ++channel) {
        transform_.run(cube.data + channel * cube.stride[0]);
    }
}

}  // namespace aperture::stap
