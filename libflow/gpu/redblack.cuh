// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gauss-Seidel on the 2x2 blocks with a kernel for each colour. The same as
// libflow/cpu/checkered_level.cpp.

#include "libflow/gpu/sweeps.cuh"

namespace aperture::flow::gpu {

/// Whether pixel (y, x) has a stage's colour: of a chess board, or for Coupling::nine its position
/// in a 2x2 block. Always true for kinds without colours.
template <SweepKind kind, Coupling coupling>
APERTURE_HD constexpr bool has_colour(int stage, int y, int x) {
    if (kind != SweepKind::redblack) return true;
    return coupling == Coupling::nine ? (y % 2) * 2 + x % 2 == stage : (y + x) % 2 == stage;
}

/// x += omega (D^-1 (S(x) + b) - x) on the pixels of one colour, in place; no two of them are
/// neighbours. A thread for a pixel of the colour, a block for prepare_rows rows (every other one
/// for nine points) of 2 prepare_columns columns, no shared memory. 60 bytes moved (76 for nine
/// points), 26 flops a pixel.
/// Source: Young 1971 (successive over-relaxation); Anderson 2014, section 7.2.
template <Coupling coupling>
__global__ void relax_colour_kernel(SweepProblem problem, int colour, Planes<float> x) {
    constexpr SweepKind kind = SweepKind::redblack;
    int y = static_cast<int>(blockIdx.y) * prepare_rows + static_cast<int>(threadIdx.y);
    int column =
        2 * (static_cast<int>(blockIdx.x) * prepare_columns + static_cast<int>(threadIdx.x));
    if constexpr (coupling == Coupling::nine) {
        y = 2 * y + colour / 2;
        column += colour % 2;
    } else {
        column += (y + colour) % 2;
    }
    if (y >= rows_of(x) || column >= columns_of(x)) return;
    const Outside outside = outside_of<kind, coupling>(problem.boundary);
    const auto update = update_at<kind, coupling>(problem, y, column);
    const Planes<const float>& weights = problem.system.weights;
    const Unknowns sum{sum_at<coupling>(x, 0, weights, outside, y, column),
                       sum_at<coupling>(x, 1, weights, outside, y, column)};
    const Unknowns next = update(sum, {x(0, y, column), x(1, y, column)}, 1.0F - problem.omega);
    x(0, y, column) = next.u;
    x(1, y, column) = next.v;
}

}  // namespace aperture::flow::gpu
