// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "aperture/stap/stages.hpp"

namespace aperture::stap::cpu {

/// First range cell of row i = c T + t of the snapshots of Doppler bin k; cells are contiguous.
inline const cfloat* snapshot_row(const Problem& problem, const CubeView<core::Host>& cube,
                                  index_t doppler_bin, index_t row) {
    const index_t taps = problem.parameters.temporal_taps;
    const index_t bins = problem.doppler_bins;
    const index_t bin = (doppler_bin - (taps - 1) / 2 + row % taps + bins) % bins;
    return cube.data + row / taps * cube.stride[0] + bin * cube.stride[1];
}

/// Snapshots with separate real and imaginary parts, [n][stride], range cells contiguous.
template <class Real>
struct SnapshotPlanes {
    Real* re;
    Real* im;
    index_t stride;
};

/// The snapshots of `cells`, in their order; padding up to the stride is zero.
template <class Real>
void split_snapshots(const Problem& problem, const CubeView<core::Host>& cube, index_t doppler_bin,
                     RangeSpan cells, const SnapshotPlanes<Real>& planes) {
    const index_t count = cells.cells();
    for (index_t i = 0; i < problem.order; ++i) {
        const cfloat* row = snapshot_row(problem, cube, doppler_bin, i) + cells.begin;
        Real* re = planes.re + i * planes.stride;
        Real* im = planes.im + i * planes.stride;
        for (index_t r = 0; r < count; ++r) {
            re[r] = static_cast<Real>(row[r].real());
            im[r] = static_cast<Real>(row[r].imag());
        }
        for (index_t r = count; r < planes.stride; ++r) re[r] = im[r] = 0;
    }
}

/// The lower triangle of the sum of x x^H over the first `cells` columns, [order][order].
inline void sum_outer_products(const SnapshotPlanes<double>& x, index_t order, index_t cells,
                               std::complex<double>* sum) {
    for (index_t i = 0; i < order; ++i)
        for (index_t j = 0; j <= i; ++j) {
            const double *a_re = x.re + i * x.stride, *a_im = x.im + i * x.stride;
            const double *b_re = x.re + j * x.stride, *b_im = x.im + j * x.stride;
            double re = 0;
            double im = 0;
#pragma omp simd reduction(+ : re, im)
            for (index_t r = 0; r < cells; ++r) {
                re += a_re[r] * b_re[r] + a_im[r] * b_im[r];
                im += a_im[r] * b_re[r] - a_re[r] * b_im[r];
            }
            sum[i * order + j] = {re, im};
        }
}

/// The cells whose results come from training block `block`.
inline RangeSpan cells_of_block(const Problem& problem, index_t block) {
    const index_t cells = problem.parameters.training_block;
    return {block * cells, std::min((block + 1) * cells, problem.shape.range_cells)};
}

}  // namespace aperture::stap::cpu
