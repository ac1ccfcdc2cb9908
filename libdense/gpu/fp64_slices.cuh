// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data layouts of 32 x 32 matrix products per warp in fp64 on tensor cores.

#include "libcore/gpu/tensor_core_fp64.cuh"
#include "libdense/gpu/tall_shape.cuh"

namespace aperture::dense::gpu {

/// A 32 x 32 product distributed over a warp: [2][4] tiles of 16 rows by 8 columns.
struct WarpTile {
    static constexpr int rows = 32;
    static constexpr int elements = rows * rows;
    double sums[2][4][4] = {};

    /// Adds left right over 8 terms of the sum: slices of 8 rows each, and right(n) of 8 columns
    /// each. Skips n < first_n, where right is zero.
    template <class Right>
    __device__ __forceinline__ void add(const core::Fp64Slice (&left)[4], const Right& right,
                                        int first_n = 0) {
        APERTURE_UNROLL
        for (int n = 0; n < 4; ++n) {
            if (n < first_n) continue;
            const core::Fp64Slice slice = right(n);
            APERTURE_UNROLL
            for (int m = 0; m < 2; ++m) {
                core::multiply_add(sums[m][n], left[2 * m], left[2 * m + 1], slice);
            }
        }
    }
    /// Adds both^T both, without the blocks below the block diagonal.
    __device__ __forceinline__ void add_upper(const core::Fp64Slice (&both)[4]) {
        APERTURE_UNROLL
        for (int m = 0; m < 2; ++m) {
            APERTURE_UNROLL
            for (int n = 2 * m; n < 4; ++n) {
                core::multiply_add(sums[m][n], both[2 * m], both[2 * m + 1], both[n]);
            }
        }
    }
    /// Columns 8 k + {2 p, 2 p + 1} of lane 4 g + p, as rows of a left factor. The right factor
    /// must use the same order (slice_row).
    __device__ __forceinline__ void as_left(int k, core::Fp64Slice (&left)[4]) const {
        APERTURE_UNROLL
        for (int m = 0; m < 2; ++m) {
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                left[2 * m].v[i] = sums[m][k][i];
                left[2 * m + 1].v[i] = sums[m][k][2 + i];
            }
        }
    }
    /// Calls visit(row, column, sum) for the lane's own sums.
    template <class Visit>
    __device__ __forceinline__ void for_each(const Visit& visit) {
        const int lane = core::lane_rank();
        APERTURE_UNROLL
        for (int m = 0; m < 2; ++m) {
            APERTURE_UNROLL
            for (int n = 0; n < 4; ++n) {
                APERTURE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    visit(16 * m + i / 2 * 8 + lane / 4, 8 * n + lane % 4 * 2 + i % 2,
                          sums[m][n][i]);
                }
            }
        }
    }
};

/// Summation index of entry i of a lane's slice, in the order of WarpTile::as_left.
APERTURE_HD constexpr int slice_row(int lane, int i) { return lane % 4 * 2 + i; }

/// Two numbers that are loaded together.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
    T v[2];
};
template <class T>
__device__ __forceinline__ core::Fp64Slice load_pair(const T* from) {
    const Pair<T> pair = *reinterpret_cast<const Pair<T>*>(from);
    return {{static_cast<double>(pair.v[0]), static_cast<double>(pair.v[1])}};
}

/// Offset of a slice of a 32 x 32 factor packed in the order in which lanes read it: [8 terms of
/// the sum][8 rows or columns][lane][entry].
APERTURE_HD constexpr int packed_slice(int k, int n) { return (k * 4 + n) * core::warp_size * 2; }
/// Offset of an element of a packed right factor.
APERTURE_HD constexpr int packed_index(int row, int column) {
    const int lane = column % 8 * 4 + row % 8 / 2;
    return packed_slice(row / 8, column / 8) + lane * 2 + row % 2;
}
/// The slice of 8 rows or columns from 8 n on and 8 terms of the sum from 8 k on.
template <class T>
__device__ __forceinline__ core::Fp64Slice load_packed(const T* factor, int k, int n) {
    return load_pair(factor + packed_slice(k, n) + core::lane_rank() * 2);
}

}  // namespace aperture::dense::gpu
