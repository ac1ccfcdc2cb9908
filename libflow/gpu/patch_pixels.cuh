// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which image pixels a patch of a tile holds, inside and outside the image, and how they are loaded
// into its thread's registers.

#include "libflow/gpu/redblack.cuh"
#include "libflow/gpu/sweep_tuning.hpp"

namespace aperture::flow::gpu {

/// The row or column of the image that position `i` is loaded from; -1: zero. A replicated border
/// is extended by the mirrored image. Sweeps preserve the mirror symmetry, so that they need no
/// border handling.
__device__ __forceinline__ int source_of(int i, int extent, Outside outside) {
    const int mirrored = i < 0 ? -1 - i : i < extent ? i : 2 * extent - 1 - i;
    if (outside == Outside::zero) return mirrored == i ? i : -1;
    if (mirrored >= 0 && mirrored < extent) return mirrored;
    // An image smaller than the halo is mirrored more than once.
    const int period = 2 * extent;
    const int within = (i % period + period) % period;
    return within < extent ? within : period - 1 - within;
}

/// Rows and columns of a patch's pixels in the image; -1: zeros.
struct PatchPixels {
    int row[patch_extent];
    int column[patch_extent];

    __device__ __forceinline__ PatchPixels(int y, int x, int rows, int columns, Outside outside) {
        APERTURE_UNROLL
        for (int i = 0; i < patch_extent; ++i) {
            row[i] = source_of(y + i, rows, outside);
            column[i] = source_of(x + i, columns, outside);
        }
    }

    /// Whether columns run from right to left.
    __device__ __forceinline__ bool reversed() const { return column[0] > column[3]; }
    /// Whether the columns are four consecutive ones, starting at a multiple of four.
    __device__ __forceinline__ bool by_fours() const {
        const int first = min(column[0], column[3]);
        return max(column[0], column[3]) - first == 3 && first >= 0 && first % 4 == 0;
    }
    __device__ __forceinline__ const float* four(const Planes<const float>& from, int plane,
                                                 int r) const {
        return row_of(from, plane, max(row[r], 0)) + min(column[0], column[3]);
    }
};

/// A patch's pixels of several planes: [plane][row][column].
template <int planes>
using PatchValues = float[planes][patch_extent][patch_extent];

/// Reverses rows that were loaded four at a time if the columns run from right to left.
template <int planes>
__device__ __forceinline__ void arrange(const PatchPixels& pixels, PatchValues<planes>& values) {
    if (!pixels.reversed()) return;
    APERTURE_UNROLL
    for (int i = 0; i < planes; ++i) {
        APERTURE_UNROLL
        for (int r = 0; r < patch_extent; ++r) {
            float(&row)[patch_extent] = values[i][r];
            const float first[2] = {row[0], row[1]};
            row[0] = row[3];
            row[1] = row[2];
            row[2] = first[1];
            row[3] = first[0];
        }
    }
}

/// Loads pixels one by one.
template <int planes>
__device__ __forceinline__ void gather(const Planes<const float>& from, const PatchPixels& pixels,
                                       PatchValues<planes>& to) {
    // Independent loads without branches.
    APERTURE_UNROLL
    for (int i = 0; i < planes; ++i) {
        APERTURE_UNROLL
        for (int r = 0; r < patch_extent; ++r) {
            APERTURE_UNROLL
            for (int j = 0; j < patch_extent; ++j) {
                const int y = pixels.row[r];
                const int x = pixels.column[j];
                const float value = from(i, max(y, 0), max(x, 0));
                to[i][r][j] = y >= 0 && x >= 0 ? value : 0.0F;
            }
        }
    }
}

/// Loads the pixels of a patch, four at a time where possible.
template <int planes>
__device__ __forceinline__ void read_pixels(const Planes<const float>& from,
                                            const PatchPixels& pixels, PatchValues<planes>& to) {
    if (!pixels.by_fours() || !has_fours(from)) return gather(from, pixels, to);
    // All loads are issued before the first result is needed.
    APERTURE_UNROLL
    for (int i = 0; i < planes; ++i) {
        APERTURE_UNROLL
        for (int r = 0; r < patch_extent; ++r) {
            float four[patch_extent];
            read_four(pixels.four(from, i, r), four);
            APERTURE_UNROLL
            for (int j = 0; j < patch_extent; ++j) {
                to[i][r][j] = pixels.row[r] >= 0 ? four[j] : 0.0F;
            }
        }
    }
    arrange(pixels, to);
}

}  // namespace aperture::flow::gpu
