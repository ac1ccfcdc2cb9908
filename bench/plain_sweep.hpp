// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/flow/linear_system.hpp"

namespace aperture::bench {

/// Horn & Schunck's iteration written with OpenMP and SIMD: inverse blocks computed beforehand,
/// rows with margins, two copies of the flow, sweeps over the whole image, one parallel region for
/// all. Replicated border, five points.
class PlainSweep {
  public:
    PlainSweep(const flow::LinearSystem<core::Host>& system, int threads)
        : threads_(threads),
          rows_(system.tensor.extent[1]),
          columns_(system.tensor.extent[2]),
          weight_(system.smoothness),
          inverse_({3, rows_, columns_}),
          right_({2, rows_, columns_}),
          now_({2, rows_, columns_ + 2}),
          next_({2, rows_, columns_ + 2}) {
        for (core::index_t y = 0; y < rows_; ++y) {
            for (core::index_t x = 0; x < columns_; ++x) {
                const float a = system.tensor(0, y, x) + 4 * weight_;
                const float b = system.tensor(1, y, x);
                const float c = system.tensor(2, y, x) + 4 * weight_;
                const float scale = 1 / (a * c - b * b);
                inverse_(0, y, x) = scale * c;
                inverse_(1, y, x) = -scale * b;
                inverse_(2, y, x) = scale * a;
                for (core::index_t i : {0, 1}) right_(i, y, x) = system.right(i, y, x);
            }
        }
    }

    /// Starts from zero; `flow` is [2][row][column].
    void run(int iterations, core::Array<float, 3>& flow) {
        std::fill(now_.begin(), now_.end(), 0.0F);
#pragma omp parallel num_threads(threads_)
        for (int i = 0; i < iterations; ++i) {
            const core::Array<float, 3>& from = i % 2 == 0 ? now_ : next_;
            core::Array<float, 3>& to = i % 2 == 0 ? next_ : now_;
#pragma omp for schedule(static)
            for (core::index_t y = 0; y < rows_; ++y) sweep_row(from, to, y);
        }
        const core::Array<float, 3>& last = iterations % 2 == 0 ? now_ : next_;
        for (core::index_t i : {0, 1}) {
            for (core::index_t y = 0; y < rows_; ++y) {
                std::copy_n(&last(i, y, 1), columns_, &flow(i, y, 0));
            }
        }
    }

  private:
    void sweep_row(const core::Array<float, 3>& from, core::Array<float, 3>& to, core::index_t y) {
        const core::index_t above = std::max<core::index_t>(y - 1, 0);
        const core::index_t below = std::min(y + 1, rows_ - 1);
        const float* const u = &from(0, y, 1);
        const float* const v = &from(1, y, 1);
        const float* const u_above = &from(0, above, 1);
        const float* const v_above = &from(1, above, 1);
        const float* const u_below = &from(0, below, 1);
        const float* const v_below = &from(1, below, 1);
        const float* const b0 = &right_(0, y, 0);
        const float* const b1 = &right_(1, y, 0);
        const float* const m00 = &inverse_(0, y, 0);
        const float* const m01 = &inverse_(1, y, 0);
        const float* const m11 = &inverse_(2, y, 0);
        float* const new_u = &to(0, y, 1);
        float* const new_v = &to(1, y, 1);
        const float weight = weight_;
        const core::index_t columns = columns_;
#pragma omp simd
        for (core::index_t x = 0; x < columns; ++x) {
            const float s = weight * (u[x - 1] + u[x + 1] + u_above[x] + u_below[x]) + b0[x];
            const float t = weight * (v[x - 1] + v[x + 1] + v_above[x] + v_below[x]) + b1[x];
            new_u[x] = m00[x] * s + m01[x] * t;
            new_v[x] = m01[x] * s + m11[x] * t;
        }
        for (float* row : {new_u, new_v}) {
            row[-1] = row[0];
            row[columns] = row[columns - 1];
        }
    }

    int threads_;
    core::index_t rows_, columns_;
    float weight_;
    core::Array<float, 3> inverse_, right_, now_, next_;
};

}  // namespace aperture::bench
