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

/// The cells whose results come from training block `block`.
inline RangeSpan cells_of_block(const Problem& problem, index_t block) {
    const index_t cells = problem.parameters.training_block;
    return {block * cells, std::min((block + 1) * cells, problem.shape.range_cells)};
}

}  // namespace aperture::stap::cpu
