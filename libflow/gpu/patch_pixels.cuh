// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which pixels of an image a patch of a tile holds, inside the image and beside it, and how they
// come to the registers of its thread.

#include "libcore/gpu/block.cuh"
#include "libflow/gpu/redblack.cuh"
#include "libflow/gpu/sweep_tuning.hpp"

namespace aperture::flow::gpu {

/// Where what stands at `i` of an image's rows or columns comes from; -1: there is nothing but
/// zeros. Beyond a border that repeats the nearest pixel stands the mirrored image: sweeps keep it
/// mirrored, so that no sweep has to look after borders.
__device__ __forceinline__ int source_of(int i, int extent, Outside outside) {
    const int mirrored = i < 0 ? -1 - i : i < extent ? i : 2 * extent - 1 - i;
    if (outside == Outside::zero) return mirrored == i ? i : -1;
    if (mirrored >= 0 && mirrored < extent) return mirrored;
    // An image smaller than the halo is mirrored more than once.
    const int period = 2 * extent;
    const int within = (i % period + period) % period;
    return within < extent ? within : period - 1 - within;
}

/// The pixels of a patch, by their places in the image; -1: zeros.
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
    /// Whether the patch has all columns, behind one another, from a multiple of four on.
    __device__ __forceinline__ bool by_fours() const {
        const int first = min(column[0], column[3]);
        return max(column[0], column[3]) - first == 3 && first >= 0 && first % 4 == 0;
    }
    __device__ __forceinline__ const float* four(const Planes<const float>& from, int plane,
                                                 int r) const {
        return from.row(plane, max(row[r], 0)) + min(column[0], column[3]);
    }
};

/// A patch's pixels of several planes: [plane][row][column].
template <int planes>
using PatchValues = float[planes][patch_extent][patch_extent];

/// What has been read four by four is put in the patch's order.
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

/// Pixels wherever they are, one by one.
template <int planes>
__device__ __forceinline__ void gather(const Planes<const float>& from, const PatchPixels& pixels,
                                       PatchValues<planes>& to) {
    // Loads without branches, none of which waits for another.
    APERTURE_UNROLL
    for (int i = 0; i < planes; ++i) {
        APERTURE_UNROLL
        for (int r = 0; r < patch_extent; ++r) {
            APERTURE_UNROLL
            for (int j = 0; j < patch_extent; ++j) {
                const int y = pixels.row[r];
                const int x = pixels.column[j];
                const float value = from.at(i, max(y, 0), max(x, 0));
                to[i][r][j] = y >= 0 && x >= 0 ? value : 0.0F;
            }
        }
    }
}

/// Reads from memory to registers.
struct DirectRead {
    template <int planes>
    __device__ __forceinline__ void operator()(const Planes<const float>& from, int,
                                               const PatchPixels& pixels,
                                               PatchValues<planes>& to) const {
        if (!pixels.by_fours() || !has_fours(from)) return gather(from, pixels, to);
        // All loads are under way before the first one is waited for.
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
};

/// Shared memory in which the pixels of a patch arrive while the thread is busy with another patch;
/// nobody but the thread itself looks at them. [plane][row of the patch][thread of the block] of
/// float4.
class PatchStage {
  public:
    /// The entries of blocks and right-hand side, and the unknowns.
    static constexpr int planes = 7;
    static_assert(planes * patch_extent * tile_lanes * sizeof(float4) ==
                  streamed_shared_of_row - exchange_shared_of_row);

    __device__ __forceinline__ explicit PatchStage(float4* shared) : shared_(shared) {}

    /// Starts to bring what operator() then reads, behind core::wait_for_copies.
    template <int planes>
    __device__ __forceinline__ void fetch(const Planes<const float>& from, int first,
                                          const PatchPixels& pixels) const {
        if (!pixels.by_fours() || !has_fours(from)) return;
        APERTURE_UNROLL
        for (int i = 0; i < planes; ++i) {
            APERTURE_UNROLL
            for (int r = 0; r < patch_extent; ++r) {
                if (pixels.row[r] < 0) continue;
                core::copy_async<16>(at(first + i, r), pixels.four(from, i, r));
            }
        }
    }

    /// What `fetch` left to do is done here.
    template <int planes>
    __device__ __forceinline__ void operator()(const Planes<const float>& from, int first,
                                               const PatchPixels& pixels,
                                               PatchValues<planes>& to) const {
        if (!pixels.by_fours() || !has_fours(from)) return gather(from, pixels, to);
        APERTURE_UNROLL
        for (int i = 0; i < planes; ++i) {
            APERTURE_UNROLL
            for (int r = 0; r < patch_extent; ++r) {
                const float4 four = *at(first + i, r);
                const bool there = pixels.row[r] >= 0;
                to[i][r][0] = there ? four.x : 0.0F;
                to[i][r][1] = there ? four.y : 0.0F;
                to[i][r][2] = there ? four.z : 0.0F;
                to[i][r][3] = there ? four.w : 0.0F;
            }
        }
        arrange(pixels, to);
    }

  private:
    __device__ __forceinline__ float4* at(int plane, int r) const {
        return shared_ + (plane * patch_extent + r) * core::block_threads() + core::thread_rank();
    }

    float4* shared_;
};

}  // namespace aperture::flow::gpu
