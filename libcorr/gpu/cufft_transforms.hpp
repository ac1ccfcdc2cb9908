// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcorr/gpu/fft_correlation.cuh"
#include "libsignal/gpu/cufft_plan.hpp"

namespace aperture::corr::gpu {

using signal::CufftPlan;

/// The transforms of FftCorrelation by cuFFT.
class CufftTransforms {
  public:
    CufftTransforms(core::Gpu& gpu, const TransformSizes& sizes)
        : rows_(gpu, CUFFT_R2C, sizes.columns, index_t{sizes.image_rows} * sizes.planes,
                {1, sizes.columns}, {1, sizes.frequencies()}),
          columns_(gpu, CUFFT_C2C, sizes.rows, index_t{sizes.planes} * sizes.frequencies(),
                   {index_t{sizes.planes} * sizes.frequencies(), 1}),
          columns_back_(gpu, CUFFT_C2C, sizes.rows, index_t{sizes.surfaces} * sizes.frequencies(),
                        {index_t{sizes.surfaces} * sizes.frequencies(), 1}),
          rows_back_(gpu, CUFFT_C2R, sizes.columns, index_t{sizes.lag_rows} * sizes.surfaces,
                     {1, sizes.frequencies()}, {1, sizes.columns}) {}

    static int good_length(int n) {
        int length = signal::good_cufft_length(n);
        while (length % 2 != 0) length = signal::good_cufft_length(length + 1);
        return length;
    }

    void rows(const float* from, Complex<float>* to) { rows_.real_to_complex(from, to); }
    void columns(const Complex<float>* from, Complex<float>* to) {
        columns_.complex_to_complex(from, to, CUFFT_FORWARD);
    }
    void columns_back(Complex<float>* both) {
        columns_back_.complex_to_complex(both, both, CUFFT_INVERSE);
    }
    void rows_back(Complex<float>* from, float* to) { rows_back_.complex_to_real(from, to); }

  private:
    CufftPlan rows_;
    CufftPlan columns_;
    CufftPlan columns_back_;
    CufftPlan rows_back_;
};

}  // namespace aperture::corr::gpu
