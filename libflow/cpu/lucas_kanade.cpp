// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/lucas_kanade.hpp"

#include <cmath>

#include "aperture/signal/box_sum.hpp"
#include "libflow/cpu/row_loops.hpp"
#include "libflow/model_constants.hpp"

namespace aperture::flow {

void WindowedLeastSquares::solve(const PaddedPlanes& terms, PaddedPlanes& increment) {
    const Shape shape = increment.shape();
    signal::box_sum(*cpu_, terms.view(), window_, sums_.view());
    const auto pixels = static_cast<float>(window_ * window_);
    const float added = static_cast<float>(regularisation_) * pixels;
    const float least = least_eigenvalue * pixels;
    for_rows(*cpu_, shape, [&](index_t y) {
        const float* j11 = sums_.row(0, y);
        const float* j12 = sums_.row(1, y);
        const float* j22 = sums_.row(2, y);
        const float* b_u = sums_.row(3, y);
        const float* b_v = sums_.row(4, y);
        float* const u = increment.row(0, y);
        float* const v = increment.row(1, y);
        const auto columns = static_cast<int>(shape.columns);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const float half_trace = 0.5F * (j11[x] + j22[x]);
            const float half_difference = 0.5F * (j11[x] - j22[x]);
            const float smaller =
                half_trace - std::sqrt(half_difference * half_difference + j12[x] * j12[x]);
            const float d11 = j11[x] + added;
            const float d22 = j22[x] + added;
            const float determinant = d11 * d22 - j12[x] * j12[x];
            const bool textured = smaller >= least && determinant > 0;
            const float scale = textured ? 1.0F / determinant : 0.0F;
            u[x] = scale * (d22 * b_u[x] - j12[x] * b_v[x]);
            v[x] = scale * (d11 * b_v[x] - j12[x] * b_u[x]);
        }
    });
}

}  // namespace aperture::flow
