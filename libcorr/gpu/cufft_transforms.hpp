// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "libcorr/gpu/fft_correlation.cuh"
#include "libsignal/gpu/cufft_plan.hpp"

namespace aperture::corr::gpu {

using signal::CufftLayout;
using signal::CufftPlan;

/// By cuFFT. Each is planned on first use: planning takes longer than the correlations of many
/// programs.
template <>
class Transforms<core::Gpu> {
  public:
    Transforms(core::Gpu& gpu, const TransformSizes& sizes) : gpu_(gpu), sizes_(sizes) {}

    static int good_length(int n) { return 2 * signal::good_cufft_length((n + 1) / 2); }

    void rows(const float* from, Complex<float>* to) {
        planned(rows_, CUFFT_R2C, sizes_.columns, index_t{sizes_.image_rows} * sizes_.planes,
                {1, sizes_.columns}, {1, sizes_.frequencies()})
            .real_to_complex(from, to);
    }
    void columns(const Complex<float>* from, Complex<float>* to) {
        planned_columns(columns_, sizes_.planes).complex_to_complex(from, to, CUFFT_FORWARD);
    }
    void columns_back(Complex<float>* both) {
        planned_columns(columns_back_, sizes_.surfaces)
            .complex_to_complex(both, both, CUFFT_INVERSE);
    }
    void rows_back(Complex<float>* from, float* to) {
        planned(rows_back_, CUFFT_C2R, sizes_.columns, index_t{sizes_.lag_rows} * sizes_.surfaces,
                {1, sizes_.frequencies()}, {1, sizes_.columns})
            .complex_to_real(from, to);
    }

  private:
    using Plan = std::optional<CufftPlan>;

    const CufftPlan& planned(Plan& plan, cufftType type, int length, index_t count,
                             const CufftLayout& from, const CufftLayout& to) {
        if (!plan) plan.emplace(gpu_, type, length, count, from, to);
        return *plan;
    }
    const CufftPlan& planned_columns(Plan& plan, int count) {
        const index_t all = index_t{count} * sizes_.frequencies();
        return planned(plan, CUFFT_C2C, sizes_.rows, all, {all, 1}, {all, 1});
    }

    core::Gpu& gpu_;
    TransformSizes sizes_;
    Plan rows_;
    Plan columns_;
    Plan columns_back_;
    Plan rows_back_;
};

}  // namespace aperture::corr::gpu
