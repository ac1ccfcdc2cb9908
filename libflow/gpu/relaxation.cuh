// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Multigrid at one pixel: Gauss-Seidel on its 2x2 block, restriction and prolongation. Stages of
// the kernels in multigrid.cuh and multigrid_tail.cuh; the same as libflow/cpu/checkered_level.cpp.

#include "libflow/gpu/operator.cuh"

namespace aperture::flow::gpu {

/// A level's system. Its zeros beyond the border, for Boundary::zero, have weights of their own.
struct LevelPlanes : SystemPlanes {
    BorderWeights border;
};

/// The weight of the pixel itself in S, in units of alpha^2, through replicated borders. It is left
/// out, so that a border pixel is relaxed as fully as any other.
template <Coupling coupling, Boundary boundary>
__device__ __forceinline__ float repeats(const LevelPlanes& system, int y, int x) {
    if constexpr (boundary == Boundary::zero) return 0.0F;
    return weight_of_repeats(coupling, rows_of(system.tensor), columns_of(system.tensor), y, x);
}

/// The weight of a pixel's zeros beyond the border in excess of a finest level's, in units of
/// alpha^2.
__device__ __forceinline__ float excess(const LevelPlanes& system, int y, int x) {
    return system.border.excess(rows_of(system.tensor), columns_of(system.tensor), y, x);
}

/// The inverse of the block that multiplies a pixel's own unknowns.
template <Coupling coupling, Boundary boundary>
__device__ __forceinline__ SymmetricBlock relaxation_block(const LevelPlanes& system, int y,
                                                           int x) {
    float d = degree<coupling>(system, y, x);
    if constexpr (coupling != Coupling::weighted) {
        float weight = weight_of_neighbours(coupling) - repeats<coupling, boundary>(system, y, x);
        if constexpr (boundary == Boundary::zero) weight += excess(system, y, x);
        d = system.smoothness * weight;
    }
    return inverse_block(block_at(system.tensor, y, x), d);
}

/// The unknowns that solve the equations of pixel (y, x) for given neighbours.
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair relaxed(const LevelPlanes& system, const SymmetricBlock& inverse,
                                        int y, int x, const Field& field) {
    Pair sum = neighbour_sum<coupling>(boundary, system, y, x, field);
    if constexpr (coupling != Coupling::weighted) {
        if constexpr (boundary == Boundary::replicate) {
            sum = sum - repeats<coupling, boundary>(system, y, x) * field(y, x);
        }
        sum = system.smoothness * sum;
    }
    return inverse * (sum + pair_at(system.right, y, x));
}

/// b - A x at pixel (y, x) of a level.
template <Coupling coupling, Boundary boundary, class Field>
__device__ __forceinline__ Pair level_residual(const LevelPlanes& system, int y, int x,
                                               const Field& field) {
    Pair residual = residual_at<coupling, boundary>(system, y, x, field);
    if constexpr (boundary == Boundary::zero) {
        residual = residual - (system.smoothness * excess(system, y, x)) * field(y, x);
    }
    return residual;
}

/// Pixel number `i` of one colour in a window with its corner at (y0, x0); `columns` are the
/// window's, rounded up to even. Both coordinates are relative to that corner.
struct ColouredPixel {
    int y;
    int x;
};
template <Coupling coupling>
__device__ __forceinline__ ColouredPixel coloured_pixel(int i, int colour, int y0, int x0,
                                                        int columns) {
    const int pairs = columns / 2;
    if constexpr (coupling == Coupling::nine) {
        return {2 * (i / pairs) + ((y0 + colour / 2) & 1),
                2 * (i % pairs) + ((x0 + colour % 2) & 1)};
    } else {
        const int y = i / pairs;
        return {y, 2 * (i % pairs) + ((y0 + y + x0 + colour) & 1)};
    }
}
/// Number of pixels of one colour; both extents are even.
template <Coupling coupling>
__device__ __forceinline__ int coloured_pixels(int rows, int columns) {
    return coupling == Coupling::nine ? rows * columns / 4 : rows * columns / 2;
}

/// A quarter of the sum of value(y, x) over the fine pixels of coarse pixel (y, x); see is_alone
/// for a block that lacks some.
template <class Value>
__device__ __forceinline__ auto average(int rows, int columns, int y, int x, const Value& value) {
    const int below = min(2 * y + 1, rows - 1);
    const int right = min(2 * x + 1, columns - 1);
    const float below_share = is_alone(y, rows) ? 0.0F : 1.0F;
    const float right_share = is_alone(x, columns) ? 0.0F : 1.0F;
    return 0.25F * ((value(2 * y, 2 * x) + right_share * value(2 * y, right)) +
                    below_share * (value(below, 2 * x) + right_share * value(below, right)));
}

/// The weights of pixel (y, x) of the coarser level: an eighth of those of the two edges that leave
/// its 2x2 pixels.
__device__ __forceinline__ Pair coarse_weights(const Planes<const float>& fine, int y, int x) {
    const int below = min(2 * y + 1, rows_of(fine) - 1);
    const int right = min(2 * x + 1, columns_of(fine) - 1);
    const bool last_column = 2 * x + 2 >= columns_of(fine);
    const bool last_row = 2 * y + 2 >= rows_of(fine);
    const float below_share = is_alone(y, rows_of(fine)) ? 0.0F : 1.0F;
    const float right_share = is_alone(x, columns_of(fine)) ? 0.0F : 1.0F;
    return {
        last_column ? 0.0F : 0.125F * (fine(0, 2 * y, right) + below_share * fine(0, below, right)),
        last_row ? 0.0F : 0.125F * (fine(1, below, 2 * x) + right_share * fine(1, below, right))};
}

/// Bilinear: three quarters of the coarse pixel's own value and a quarter of the nearest other one
/// along each axis.
template <Boundary boundary, class Field>
__device__ __forceinline__ Pair prolonged(int coarse_rows, int coarse_columns, int y, int x,
                                          const Field& coarse) {
    const int near_y = y / 2;
    const int near_x = x / 2;
    const int far_y = y % 2 == 0 ? near_y - 1 : near_y + 1;
    const int far_x = x % 2 == 0 ? near_x - 1 : near_x + 1;
    const auto at = [&](int i, int j) {
        return value_at(boundary, coarse_rows, coarse_columns, i, j, coarse);
    };
    const Pair near_mixed = 0.75F * at(near_y, near_x) + 0.25F * at(far_y, near_x);
    const Pair far_mixed = 0.75F * at(near_y, far_x) + 0.25F * at(far_y, far_x);
    return 0.75F * near_mixed + 0.25F * far_mixed;
}

}  // namespace aperture::flow::gpu
