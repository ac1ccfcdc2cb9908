// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/fft.hpp"

#include "libsignal/cpu/any_length_fft.hpp"

namespace aperture::signal {

template <class Executor>
ForwardFft<Executor>::ForwardFft(Executor& executor, const FftBatch& batch) {
    const auto plan = std::make_shared<LaneFftBatch>(batch);
    // Each thread allocates its scratch memory here, and none in a run.
#pragma omp parallel num_threads(executor.threads())
    plan->prepare_thread();
    plan_ = plan;
}

template <class Executor>
void ForwardFft<Executor>::run(std::complex<float>* first) const {
    static_cast<const LaneFftBatch*>(plan_.get())->run(first);
}

template class ForwardFft<core::Cpu>;

}  // namespace aperture::signal
