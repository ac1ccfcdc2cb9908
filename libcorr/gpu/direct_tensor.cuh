// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of products on the tensor cores, with each number as the sum of two TF32 numbers.

#include "libcorr/gpu/row_ring.cuh"

namespace aperture::corr::gpu {

/// Displacements of a warp: 16 rows of 64 * Blocks columns.
template <int Blocks>
struct TensorTile {
    static constexpr int blocks = Blocks;
    static constexpr int block_columns = 64;
    static constexpr int row_pairs = 8;
    static constexpr int rows = 2 * row_pairs;
    static constexpr int columns = block_columns * Blocks;
};

/// How a warp moves along a row (RowRing): 8 columns a matrix product, and `products` of them in a
/// chain of additions that round toward zero.
template <class Tile_>
struct TensorWalk {
    using Tile = Tile_;
    using Form = SplitForm;
    static constexpr int products = 4;
    static constexpr int step = 8 * products;
    static constexpr int max_columns = 64;
    static constexpr int planes = 2;
    static constexpr int rows_of_a = 2;
    static constexpr int columns_behind = 8;
    static constexpr int columns_over = 7;
    static constexpr int saved_rows = Tile::rows / 4;
    /// In fourths of a step, as is the overhead of a piece. Measured: a step of one block takes
    /// three fourths of a step of two.
    APERTURE_HD static constexpr index_t work_of_row(int columns, int left) {
        const int of_second = max(0, min(columns, left - Tile::block_columns));
        const int both = Tile::blocks == 2 ? (of_second + step - 1) / step : 0;
        return 3 * ((columns + step - 1) / step) + both;
    }
    static constexpr index_t work_of_start = 40;
    /// Groups of 8 cells are 12 cells apart: a warp's lanes have no bank conflicts.
    APERTURE_HD static constexpr int place(int i) { return i + i / 8 * 4; }
    APERTURE_HD static constexpr int cells_of_a(int columns) {
        return place(columns + Tile::columns + columns_beyond);
    }
    APERTURE_HD static constexpr int cells_of_b(int columns) { return columns_behind + columns; }
};

/// Adds the products of columns begin to end-1, for the first `blocks` blocks of a warp's columns
/// and the first `pairs` pairs of rows, to total [pair of rows][block]. `a`: two rows; `b`: the row
/// of the first pair; the next pair's is two rows before it.
template <int blocks, int pairs, class Walk>
__device__ __forceinline__ void add_products(
    const float* const (&a)[2], const float* b, int begin, int end,
    float (&total)[Walk::Tile::row_pairs][Walk::Tile::blocks][4]) {
    using Tile = typename Walk::Tile;
    using Ring = RowRing<Walk>;
    // Independent chains of additions: a product waits for the previous one in its chain.
    constexpr int together = 8 / blocks < pairs ? 8 / blocks : pairs;
    const int group = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    APERTURE_NO_UNROLL
    for (int x = begin; x < end; x += Walk::step) {
        // [high, low part][product][block]
        float left[2][Walk::products][blocks][4];
        APERTURE_UNROLL
        for (int k = 0; k < Walk::products; ++k) {
            APERTURE_UNROLL
            for (int n = 0; n < blocks; ++n) {
                APERTURE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    const float* const from = a[i % 2] + Walk::place(x) +
                                              Walk::place(8 * k + Tile::block_columns * n) +
                                              Walk::place(8) * group + place + i / 2 * 4;
                    left[0][k][n][i] = from[0];
                    left[1][k][n][i] = from[Ring::plane_of_a];
                }
            }
        }
        // Double buffering: a group's sums are added to the totals after the next group's products.
        float sums[2][together][blocks][4];
        const auto add_sums = [&](int first) {
            APERTURE_UNROLL
            for (int i = 0; i < 4 * together * blocks; ++i) {
                const int d = i / (4 * blocks);
                const int n = i / 4 % blocks;
                total[first + d][n][i % 4] += sums[first / together % 2][d][n][i % 4];
            }
        };
        APERTURE_UNROLL
        for (int first = 0; first < pairs; first += together) {
            auto& now = sums[first / together % 2];
            float right[together][2][Walk::products][2];
            APERTURE_UNROLL
            for (int d = 0; d < together; ++d) {
                APERTURE_UNROLL
                for (int k = 0; k < Walk::products; ++k) {
                    APERTURE_UNROLL
                    for (int i = 0; i < 2; ++i) {
                        const float* const from = b + x + 8 * k + 4 * i + place - group -
                                                  2 * (first + d) * Ring::pitch_of_b;
                        right[d][0][k][i] = from[0];
                        right[d][1][k][i] = from[Ring::plane_of_b];
                    }
                }
            }
            APERTURE_UNROLL
            for (int i = 0; i < 4 * together * blocks; ++i) {
                now[i / (4 * blocks)][i / 4 % blocks][i % 4] = 0;
            }
            // Small products first: truncating them costs little.
            APERTURE_UNROLL
            for (int part = 0; part < 3; ++part) {
                APERTURE_UNROLL
                for (int k = 0; k < Walk::products; ++k) {
                    APERTURE_UNROLL
                    for (int i = 0; i < together * blocks; ++i) {
                        const int d = i / blocks;
                        const int n = i % blocks;
                        core::detail::multiply_add_tf32(now[d][n], left[part == 0][k][n],
                                                        right[d][part == 1][k]);
                    }
                }
            }
            if (first > 0) add_sums(first - together);
        }
        add_sums(pairs - together);
    }
}

/// The same for a piece of a row, columns x0 to end-1 of B.
template <int pairs, class Walk>
__device__ __forceinline__ void add_piece(
    const float* const (&a)[2], const float* b, int x0, int end, int columns,
    float (&total)[Walk::Tile::row_pairs][Walk::Tile::blocks][4]) {
    using Tile = typename Walk::Tile;
    static_assert(Tile::blocks <= 2);
    int both_end = 0;
    if constexpr (Tile::blocks == 2) {
        // The second block's displacements lead out of the image earlier.
        const int left = columns - Tile::block_columns - x0;
        both_end = max(0, (min(end - x0, left) + Walk::step - 1) / Walk::step * Walk::step);
        add_products<2, pairs, Walk>(a, b, 0, both_end, total);
    }
    add_products<1, pairs, Walk>(a, b, both_end, end - x0, total);
}

/// Sums of products over a part of the rows of A, as matrix products. For columns x .. x+7 the left
/// matrix has entries (m, k) = A(r, x + k + 8 m + dx0), and the right one (k, n) = B(y, x + k - n).
/// Their product adds to displacement dx0 + 8 m + n for m, n < 8: all of its entries count. Rows 8
/// to 15 of the left matrix have row r + 1 of A, and add to the dy below. Block: one warp, with
/// Tile::rows x Tile::columns displacements in the accumulators of 8 x Tile::blocks products. Grid:
/// planes of the image, warps. Shared memory: RowRing. Three products of TF32 numbers for one of
/// floats (core::Tf32Sum), of 1024 multiply-adds each.
/// Source: Bordawekar, Bondhugula & Rao 2010; Ootomo & Yokota 2022.
template <class Walk>
__global__ void __launch_bounds__(core::warp_size, 8)
    tensor_kernel(SumTask<float> task, const PlaneGround*, const PlaneGround*, float* sums) {
    core::wait_for_previous_kernel();
    using Tile = typename Walk::Tile;
    const int plane = static_cast<int>(blockIdx.x);
    const int parts = task.first_parts[gridDim.y];
    const int end_part = task.first_parts[blockIdx.y + 1];
    APERTURE_NO_UNROLL
    for (int p = task.first_parts[blockIdx.y]; p < end_part; ++p) {
        const PartOfTile part = task.parts[p];
        const int columns = task.b.columns - part.lag_x;
        float total[Tile::row_pairs][Tile::blocks][4] = {};
        for_rows<Walk>(
            task, part, 2 * plane, [&](const RowRing<Walk>& ring, int r, int x0, int end) {
                const float* const a[2] = {ring.a(0), ring.a(1)};
                // The tile's lower half has rows of B from later rows of A on only.
                if (r - part.lag_y < Tile::row_pairs) {
                    add_piece<Tile::row_pairs / 2, Walk>(a, ring.b(0), x0, end, columns, total);
                } else {
                    add_piece<Tile::row_pairs, Walk>(a, ring.b(0), x0, end, columns, total);
                }
            });
        float* const to = sums + (index_t{plane} * parts + p) * Tile::rows * Tile::columns;
        APERTURE_UNROLL
        for (int d = 0; d < Tile::row_pairs; ++d) {
            APERTURE_UNROLL
            for (int n = 0; n < Tile::blocks; ++n) {
                APERTURE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    const int row = 2 * d + i / 2;
                    const int column = Tile::block_columns * n + 8 * (core::lane_rank() / 4) +
                                       core::lane_rank() % 4 * 2 + i % 2;
                    to[row * Tile::columns + column] = total[d][n][i];
                }
            }
        }
    }
}

}  // namespace aperture::corr::gpu
