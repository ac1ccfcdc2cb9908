// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/pair_correlator.hpp"
#include "libcorr/gpu/cufft_transforms.hpp"
#include "libcorr/gpu/pair_correlator.cuh"

namespace aperture::corr {

template <>
struct PairCorrelator<core::Gpu>::State {
    gpu::DevicePairCorrelator<core::Gpu, gpu::CufftTransforms> correlator;
};

template <class Executor>
PairCorrelator<Executor>::PairCorrelator(Executor& executor, const Problem& problem, index_t images)
    : state_(new State{
          gpu::DevicePairCorrelator<Executor, gpu::CufftTransforms>(executor, problem, images)}) {}
template <class Executor>
PairCorrelator<Executor>::~PairCorrelator() = default;
template <class Executor>
PairCorrelator<Executor>::PairCorrelator(PairCorrelator&&) noexcept = default;
template <class Executor>
PairCorrelator<Executor>& PairCorrelator<Executor>::operator=(PairCorrelator&&) noexcept = default;

template <class Executor>
void PairCorrelator<Executor>::take(index_t image, PlanesView<Space> planes) {
    state_->correlator.take(image, planes);
}
template <class Executor>
void PairCorrelator<Executor>::run(index_t a, index_t b, core::View<double, 3, Space> sums) {
    state_->correlator.run(a, b, sums);
}

template class PairCorrelator<core::Gpu>;

}  // namespace aperture::corr
