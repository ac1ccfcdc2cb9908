// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cufft.h>

#include "libcore/gpu/complex.cuh"
#include "libcore/gpu/cuda_check.hpp"
#include "libsignal/fft_lengths.hpp"

namespace aperture::core {

inline void check_status(cufftResult status, const char* call,
                         const std::source_location& where = std::source_location::current()) {
    if (status == CUFFT_ALLOC_FAILED) throw_unfit(call, "cuFFT is out of memory", where);
    if (status != CUFFT_SUCCESS) {
        throw_device_error(call, text("cuFFT status ", static_cast<int>(status)), where);
    }
}

}  // namespace aperture::core

namespace aperture::signal {

/// Elements between successive samples of a transform, and between first samples of transforms.
struct CufftLayout {
    core::index_t stride = 1;
    core::index_t distance = 0;
};

/// A batch of one-dimensional transforms of one length by cuFFT, in the executor's stream. Owns its
/// plan and cuFFT's workspace.
class CufftPlan {
  public:
    CufftPlan(core::Gpu& gpu, cufftType type, int length, core::index_t count, CufftLayout from,
              CufftLayout to)
        : gpu_(gpu) {
        for (const CufftLayout& layout : {from, to}) {
            expects_possible({length, count, layout.stride, layout.distance});
        }
        int embedded = length;
        APERTURE_CUDA_TRY(
            cufftPlanMany(&handle_, 1, &length, &embedded, static_cast<int>(from.stride),
                          static_cast<int>(from.distance), &embedded, static_cast<int>(to.stride),
                          static_cast<int>(to.distance), type, static_cast<int>(count)));
    }
    CufftPlan(const CufftPlan&) = delete;
    CufftPlan& operator=(const CufftPlan&) = delete;
    ~CufftPlan() { cufftDestroy(handle_); }

    void complex_to_complex(const core::Complex<float>* from, core::Complex<float>* to,
                            int direction) const {
        APERTURE_CUDA_TRY(cufftExecC2C(in_stream(), mutable_complex(from),
                                       reinterpret_cast<cufftComplex*>(to), direction));
    }
    void real_to_complex(const float* from, core::Complex<float>* to) const {
        APERTURE_CUDA_TRY(cufftExecR2C(in_stream(), const_cast<cufftReal*>(from),
                                       reinterpret_cast<cufftComplex*>(to)));
    }
    void complex_to_real(const core::Complex<float>* from, float* to) const {
        APERTURE_CUDA_TRY(cufftExecC2R(in_stream(), mutable_complex(from), to));
    }

  private:
    /// cuFFT accepts no pointers to const.
    static cufftComplex* mutable_complex(const core::Complex<float>* from) {
        return reinterpret_cast<cufftComplex*>(const_cast<core::Complex<float>*>(from));
    }

    /// The plan, in the executor's current stream.
    cufftHandle in_stream() const {
        APERTURE_CUDA_TRY(cufftSetStream(handle_, gpu_.stream()));
        return handle_;
    }

    core::Gpu& gpu_;
    cufftHandle handle_ = 0;
};

/// The smallest number from n on without prime factors above 7, for which cuFFT has kernels.
inline int good_cufft_length(int n) { return static_cast<int>(good_length(n, {2, 3, 5, 7})); }

}  // namespace aperture::signal
