// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <fftw3.h>

#include <climits>
#include <mutex>

#include "aperture/signal/fft.hpp"
#include "libsignal/fft_lengths.hpp"

namespace aperture::signal {

namespace {

/// FFTW creates and destroys plans in global tables.
std::mutex& planner() {
    static std::mutex mutex;
    return mutex;
}

/// Owns a new plan.
std::shared_ptr<void> owned(fftwf_plan created) {
    if (created == nullptr) throw core::DeviceError("FFTW could not plan a transform");
    return {created, [](fftwf_plan plan) {
                const std::lock_guard lock(planner());
                fftwf_destroy_plan(plan);
            }};
}

}  // namespace

template <class Executor>
ForwardFft<Executor>::ForwardFft(Executor&, const FftBatch& batch) {
    expects_possible(batch);
    if (batch.count == 0) return;
    const auto count = static_cast<int>(batch.count);
    const auto stride = static_cast<int>(batch.stride);
    const auto distance = static_cast<int>(batch.distance);
    // Estimating a plan uses the alignment of the data, never the data.
    alignas(64) fftwf_complex aligned[8];
    const std::lock_guard lock(planner());
    plan_ =
        owned(fftwf_plan_many_dft(1, &batch.length, count, aligned, nullptr, stride, distance,
                                  aligned, nullptr, stride, distance, FFTW_FORWARD, FFTW_ESTIMATE));
}

template <class Executor>
void ForwardFft<Executor>::run(std::complex<float>* first) const {
    if (!plan_) return;
    auto* data = reinterpret_cast<fftwf_complex*>(first);
    fftwf_execute_dft(static_cast<fftwf_plan>(plan_.get()), data, data);
}

template class ForwardFft<core::Cpu>;

}  // namespace aperture::signal
