// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/fft.hpp"
#include "libsignal/gpu/cufft_plan.hpp"

namespace aperture::signal {

template <class Executor>
ForwardFft<Executor>::ForwardFft(Executor& executor, const FftBatch& batch) {
    expects_possible(batch);
    if (batch.count == 0) return;
    const CufftLayout layout{batch.stride, batch.distance};
    plan_ =
        std::make_shared<CufftPlan>(executor, CUFFT_C2C, batch.length, batch.count, layout, layout);
}

template <class Executor>
void ForwardFft<Executor>::run(std::complex<float>* first) const {
    if (!plan_) return;
    auto* const data = reinterpret_cast<core::Complex<float>*>(first);
    static_cast<const CufftPlan*>(plan_.get())->complex_to_complex(data, data, CUFFT_FORWARD);
}

template class ForwardFft<core::Gpu>;

}  // namespace aperture::signal
