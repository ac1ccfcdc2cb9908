// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Building blocks of a Hermitian sum of outer products, C = sum_s x(s) x(s)^H. Threads hold square
// blocks of the lower triangle in registers. The batched rank-k update wraps these functions; fused
// kernels combine them with their own.
//
//     const LowerBlock block = lower_block(t);      // 0 <= t < lower_blocks<tile>(order)
//     T sum[tile][tile];
//     clear(sum);
//     accumulate_outer_products(sum, panel + tile * block.row, panel + tile * block.column, ...);
//     add_other_lanes(sum, 1);                      // where lanes share the samples of a block
//     for_each_lower_entry(sum, block, order, store);
//
// The panel holds the vectors x(s) in shared memory, one after another (`stride` >= order rounded
// up to a multiple of `tile`; elements beyond the order are read, and their products are dropped).
// Per thread and sample: 2 tile loads from shared memory for tile^2 multiply-adds; with tile = 4
// both take about equally long for Complex<float>. The sum over s runs in ascending order.

#include "libcore/gpu/warp.cuh"

namespace aperture::dense {

using core::RealOf;

/// Block row and column, row >= column.
struct LowerBlock {
    int row, column;
};

/// Number of tile x tile blocks in the lower triangle.
template <int tile>
APERTURE_HD constexpr int lower_blocks(int order) {
    const int side = (order + tile - 1) / tile;
    return side * (side + 1) / 2;
}

/// Block `t` of the lower triangle, counted row after row.
__device__ __forceinline__ LowerBlock lower_block(int t) {
    int row = static_cast<int>((sqrtf(8.0f * static_cast<float>(t) + 1.0f) - 1.0f) * 0.5f);
    if ((row + 1) * (row + 2) / 2 <= t) ++row;
    if (row * (row + 1) / 2 > t) --row;
    return {row, t - row * (row + 1) / 2};
}

template <int tile, class T>
__device__ __forceinline__ void clear(T (&sum)[tile][tile]) {
    APERTURE_UNROLL
    for (int i = 0; i < tile; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < tile; ++j) sum[i][j] = T(RealOf<T>(0));
    }
}

/// sum[i][j] += sum_{s < samples} rows[s stride + i] conj(columns[s stride + j]).
template <int tile, class T>
__device__ __forceinline__ void accumulate_outer_products(T (&sum)[tile][tile], const T* rows,
                                                          const T* columns, int stride,
                                                          int samples) {
    APERTURE_NO_UNROLL
    for (int s = 0; s < samples; ++s) {
        T row[tile], column[tile];
        APERTURE_UNROLL
        for (int i = 0; i < tile; ++i) {
            row[i] = rows[s * stride + i];
            column[i] = columns[s * stride + i];
        }
        APERTURE_UNROLL
        for (int i = 0; i < tile; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < tile; ++j) {
                sum[i][j] = core::multiply_add_conj(sum[i][j], row[i], column[j]);
            }
        }
    }
}

/// Adds the sums of the lane that differs in the bits `lane_mask`; both lanes get identical
/// results. All lanes of the warp must call.
template <int tile, class T>
__device__ __forceinline__ void add_other_lanes(T (&sum)[tile][tile], int lane_mask) {
    APERTURE_UNROLL
    for (int i = 0; i < tile; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < tile; ++j) sum[i][j] += core::exchange_xor(sum[i][j], lane_mask);
    }
}

/// Calls `store(row, column, value)` for the block's entries with row >= column and row < order;
/// the diagonal's imaginary part is exactly zero.
template <int tile, class T, class Store>
__device__ __forceinline__ void for_each_lower_entry(const T (&sum)[tile][tile], LowerBlock block,
                                                     int order, Store store) {
    APERTURE_UNROLL
    for (int i = 0; i < tile; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < tile; ++j) {
            const int row = block.row * tile + i;
            const int column = block.column * tile + j;
            if (row >= order || column > row) continue;
            store(row, column, row == column ? T(core::real_part(sum[i][j])) : sum[i][j]);
        }
    }
}

}  // namespace aperture::dense
