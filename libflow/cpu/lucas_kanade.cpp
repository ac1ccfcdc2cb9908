// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libflow/cpu/lucas_kanade.hpp"

#include "aperture/signal/box_sum.hpp"
#include "libflow/cpu/pixel_rows.hpp"
#include "libflow/cpu/row_loops.hpp"

namespace aperture::flow {

void WindowedLeastSquares::solve(core::Cpu& cpu, const PaddedPlanes& terms,
                                 PaddedPlanes& increment) {
    signal::box_sum(cpu, terms.view(), window_, sums_.view());
    const auto columns = static_cast<int>(increment.shape().columns);
    for_rows(cpu, increment.shape(), [&](index_t y) {
        const TermRows<const float> sums(std::as_const(sums_), y);
        float* const u = increment.row(0, y);
        float* const v = increment.row(1, y);
#pragma omp simd
        for (int x = 0; x < columns; ++x) {
            const Increment added = solve_window(sums.load(x), guard_);
            u[x] = added.u;
            v[x] = added.v;
        }
    });
}

}  // namespace aperture::flow
