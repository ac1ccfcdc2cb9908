// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/fft.hpp"

#include <climits>

#include "libsignal/cpu/fftw_plan.hpp"

namespace aperture::signal {

namespace {

FftwPlan make_plan(const FftBatch& batch) {
    core::expects(batch.length >= 1 && batch.count >= 0 && batch.stride >= 1 && batch.distance >= 0,
                  "FFT of length ", batch.length, ", count ", batch.count, ", stride ",
                  batch.stride, ", distance ", batch.distance, " is not possible");
    core::expects(batch.count <= INT_MAX && batch.stride <= INT_MAX && batch.distance <= INT_MAX,
                  "FFT batch of count ", batch.count, ", stride ", batch.stride, ", distance ",
                  batch.distance, " is above ", INT_MAX);
    if (batch.count == 0) return {};
    const auto count = static_cast<int>(batch.count);
    const auto stride = static_cast<int>(batch.stride);
    const auto distance = static_cast<int>(batch.distance);
    alignas(64) fftwf_complex aligned[8];
    return FftwPlan([&] {
        return fftwf_plan_many_dft(1, &batch.length, count, aligned, nullptr, stride, distance,
                                   aligned, nullptr, stride, distance, FFTW_FORWARD,
                                   FFTW_ESTIMATE);
    });
}

}  // namespace

template <>
struct ForwardFft<core::Cpu>::Plan {
    FftwPlan plan;
};

template <class Executor>
ForwardFft<Executor>::ForwardFft(Executor&, const FftBatch& batch)
    : plan_(new Plan{make_plan(batch)}) {}
template <class Executor>
ForwardFft<Executor>::~ForwardFft() = default;
template <class Executor>
ForwardFft<Executor>::ForwardFft(ForwardFft&&) noexcept = default;
template <class Executor>
ForwardFft<Executor>& ForwardFft<Executor>::operator=(ForwardFft&&) noexcept = default;

template <class Executor>
void ForwardFft<Executor>::run(std::complex<float>* first) const {
    if (plan_->plan.get() == nullptr) return;
    auto* data = reinterpret_cast<fftwf_complex*>(first);
    fftwf_execute_dft(plan_->plan.get(), data, data);
}

template class ForwardFft<core::Cpu>;

}  // namespace aperture::signal
