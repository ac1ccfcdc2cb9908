// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <climits>

#include "aperture/signal/fft.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::signal {

template <>
struct ForwardFft<core::Gpu>::Plan {
    cufftHandle handle = 0;
    bool empty = false;

    Plan(core::Gpu& gpu, const FftBatch& batch) : empty(batch.count == 0) {
        core::expects(batch.length >= 1 && batch.count >= 0 && batch.count <= INT_MAX &&
                          batch.stride >= 1 && batch.stride <= INT_MAX && batch.distance >= 0 &&
                          batch.distance <= INT_MAX,
                      "FFT of length ", batch.length, ", count ", batch.count, ", stride ",
                      batch.stride, ", distance ", batch.distance, " is not possible");
        if (empty) return;
        int length = batch.length;
        const auto count = static_cast<int>(batch.count);
        const auto stride = static_cast<int>(batch.stride);
        const auto distance = static_cast<int>(batch.distance);
        APERTURE_CUDA_TRY(cufftPlanMany(&handle, 1, &length, &length, stride, distance, &length,
                                        stride, distance, CUFFT_C2C, count));
        const cufftResult status = cufftSetStream(handle, gpu.stream());
        if (status != CUFFT_SUCCESS) cufftDestroy(handle);
        core::check_status(status, "cufftSetStream");
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    ~Plan() {
        if (!empty) cufftDestroy(handle);
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
    if (plan_->empty) return;
    auto* data = reinterpret_cast<cufftComplex*>(first);
    APERTURE_CUDA_TRY(cufftExecC2C(plan_->handle, data, data, CUFFT_FORWARD));
}

template class ForwardFft<core::Gpu>;

}  // namespace aperture::signal
