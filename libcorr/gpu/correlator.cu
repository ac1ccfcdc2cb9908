// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/gpu/correlator.cuh"
#include "libcorr/gpu/cufft_transforms.hpp"

namespace aperture::corr {

template <>
struct Correlator<core::Gpu>::State {
    gpu::DeviceCorrelator<core::Gpu, gpu::CufftTransforms> correlator;
};

template <class Executor>
Correlator<Executor>::Correlator(Executor& executor, const Problem& problem)
    : state_(new State{gpu::DeviceCorrelator<Executor, gpu::CufftTransforms>(executor, problem)}) {}
template <class Executor>
Correlator<Executor>::~Correlator() = default;
template <class Executor>
Correlator<Executor>::Correlator(Correlator&&) noexcept = default;
template <class Executor>
Correlator<Executor>& Correlator<Executor>::operator=(Correlator&&) noexcept = default;

template <class Executor>
void Correlator<Executor>::run(PlanesView<Space> a, PlanesView<Space> b,
                               core::View<double, 3, Space> sums) {
    state_->correlator.run(a, b, sums);
}

template class Correlator<core::Gpu>;

}  // namespace aperture::corr
