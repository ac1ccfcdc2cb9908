// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/signal/fft.hpp"

#include "libsignal/cpu/any_length_fft.hpp"

namespace aperture::signal {

template <class Executor>
ForwardFft<Executor>::ForwardFft(Executor&, const FftBatch& batch)
    : plan_(std::make_shared<LaneFftBatch>(batch)) {}

template <class Executor>
void ForwardFft<Executor>::run(std::complex<float>* first) const {
    static_cast<const LaneFftBatch*>(plan_.get())->run(first);
}

template class ForwardFft<core::Cpu>;

}  // namespace aperture::signal
