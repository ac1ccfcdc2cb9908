// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "aperture/signal/fft.hpp"
#include "libsignal/gpu/cufft_plan.hpp"

namespace aperture::signal {

template <>
struct ForwardFft<core::Gpu>::Plan {
    std::optional<CufftPlan> plan;  ///< none for an empty batch

    Plan(core::Gpu& gpu, const FftBatch& batch) {
        core::expects(batch.count >= 0 && batch.stride >= 1, "FFT of count ", batch.count,
                      ", stride ", batch.stride, " is not possible");
        if (batch.count == 0) return;
        plan.emplace(gpu, CUFFT_C2C, batch.length, batch.count,
                     CufftLayout{batch.stride, batch.distance});
    }
};

template <class Executor>
ForwardFft<Executor>::ForwardFft(Executor& executor, const FftBatch& batch)
    : plan_(std::make_unique<Plan>(executor, batch)) {}
template <class Executor>
ForwardFft<Executor>::~ForwardFft() = default;
template <class Executor>
ForwardFft<Executor>::ForwardFft(ForwardFft&&) noexcept = default;
template <class Executor>
ForwardFft<Executor>& ForwardFft<Executor>::operator=(ForwardFft&&) noexcept = default;

template <class Executor>
void ForwardFft<Executor>::run(std::complex<float>* first) const {
    if (!plan_->plan) return;
    auto* const data = reinterpret_cast<core::Complex<float>*>(first);
    plan_->plan->complex_to_complex(data, data, CUFFT_FORWARD);
}

template class ForwardFft<core::Gpu>;

}  // namespace aperture::signal
