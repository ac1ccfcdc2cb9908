// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "libcorr/gpu/fft_correlation.cuh"
#include "libsignal/gpu/cufft_plan.hpp"

namespace aperture::corr::gpu {

using signal::CufftLayout;
using signal::CufftPlan;

/// By cuFFT. Each is planned on first use: planning takes longer
/// than the correlations of many programs.
template <>
class Transforms<core::Gpu> {
  public:
    Transforms(core::Gpu& gpu, const TransformSizes& sizes) : gpu_(gpu), sizes_(sizes) {}

    static int good_length(int n) {
        int length = signal::good_cufft_length(n);
        while (length % 2 != 0) length = signal::good_cufft_length(length + 1);
        return length;
    }

    void rows(const float* from, Complex<float>* to) {
        if (!rows_) {
            rows_.emplace(gpu_, CUFFT_R2C, sizes_.columns,
                          index_t{sizes_.image_rows} * sizes_.planes,
                          CufftLayout{1, sizes_.columns}, CufftLayout{1, sizes_.frequencies()});
        }
        rows_->real_to_complex(from, to);
    }
    void columns(const Complex<float>* from, Complex<float>* to) {
        plan_columns(columns_, sizes_.planes).complex_to_complex(from, to, CUFFT_FORWARD);
    }
    void columns_back(Complex<float>* both) {
        plan_columns(columns_back_, sizes_.surfaces).complex_to_complex(both, both, CUFFT_INVERSE);
    }
    void rows_back(Complex<float>* from, float* to) {
        if (!rows_back_) {
            rows_back_.emplace(
                gpu_, CUFFT_C2R, sizes_.columns, index_t{sizes_.lag_rows} * sizes_.surfaces,
                CufftLayout{1, sizes_.frequencies()}, CufftLayout{1, sizes_.columns});
        }
        rows_back_->complex_to_real(from, to);
    }

  private:
    const CufftPlan& plan_columns(std::optional<CufftPlan>& plan, int count) {
        const index_t all = index_t{count} * sizes_.frequencies();
        if (!plan) plan.emplace(gpu_, CUFFT_C2C, sizes_.rows, all, CufftLayout{all, 1});
        return *plan;
    }

    core::Gpu& gpu_;
    TransformSizes sizes_;
    std::optional<CufftPlan> rows_;
    std::optional<CufftPlan> columns_;
    std::optional<CufftPlan> columns_back_;
    std::optional<CufftPlan> rows_back_;
};

}  // namespace aperture::corr::gpu
