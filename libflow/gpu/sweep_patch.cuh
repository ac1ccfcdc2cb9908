// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A tile of an image on chip: every thread holds a patch of 4 x 4 pixels, unknowns and updates, in
// registers. Sweeps exchange only the patches' borders.

#include "libflow/gpu/patch_pixels.cuh"

namespace aperture::flow::gpu {

/// Exchanges border rows of patches with the threads above and below through shared memory. Double
/// buffering makes one barrier a stage enough: [buffer][thread row][first, last row of the
/// patch][entry][lane] of float4.
class RowExchange {
  public:
    static constexpr int entries = 2;
    static constexpr int cells = 2 * entries * tile_lanes;  ///< of a thread row
    static_assert(2 * cells * sizeof(float4) == shared_of_row);

    __device__ __forceinline__ RowExchange() {
        const int row = static_cast<int>(threadIdx.y);
        const int rows = static_cast<int>(blockDim.y);
        own_ = core::shared<float4>() + row * cells + threadIdx.x;
        // At the tile's ends a patch reads itself; the resulting errors stay in the halo.
        to_above_ = row > 0 ? -cells : 0;
        to_below_ = row + 1 < rows ? cells : 0;
        turn_ = rows * cells;
    }

    /// Stores the first and the last row; loads the last row of the patch above and the first row
    /// of the patch below. Contains a barrier.
    template <int count>
    __device__ __forceinline__ void swap(const float4 (&first)[count], const float4 (&last)[count],
                                         float4 (&above)[count], float4 (&below)[count]) {
        static_assert(count <= entries);
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            own_[i * tile_lanes] = first[i];
            own_[(entries + i) * tile_lanes] = last[i];
        }
        __syncthreads();
        APERTURE_UNROLL
        for (int i = 0; i < count; ++i) {
            above[i] = own_[to_above_ + (entries + i) * tile_lanes];
            below[i] = own_[to_below_ + i * tile_lanes];
        }
        own_ += turn_;
        turn_ = -turn_;
    }

  private:
    float4* own_;
    int to_above_;
    int to_below_;
    int turn_;
};

/// Row and column of a tile among those of an image.
struct TilePosition {
    int down;
    int across;
};

/// Four pixels of a row with their left and right neighbours.
struct ExtendedRow {
    float at[patch_extent + 2];
};

/// The patch of one thread. The block is tile_lanes x thread rows; a tile shares `halo` pixels with
/// each neighbour on every side.
template <SweepKind kind, Coupling coupling>
class Patch {
  public:
    static constexpr int extent = patch_extent;
    static constexpr int stages = stages_of(kind, coupling);

    __device__ __forceinline__ Patch(const SweepProblem& problem, int halo)
        : outside_(outside_of<kind, coupling>(problem.boundary)),
          keep_(1.0F - problem.omega),
          rows_(rows_of(problem.system.tensor)),
          columns_(columns_of(problem.system.tensor)),
          halo_(halo) {}

    /// Moves the patch to this thread's position in a tile.
    __device__ __forceinline__ void move_to(TilePosition tile) {
        y_ = tile.down * (tile_rows() - 2 * halo_) - halo_ + down();
        x_ = tile.across * (tile_columns - 2 * halo_) - halo_ + across();
    }

    /// Whether the patch is outside the halo.
    __device__ __forceinline__ bool inner() const {
        return down() >= halo_ && down() < tile_rows() - halo_ && across() >= halo_ &&
               across() < tile_columns - halo_;
    }

    /// Keeps the compiler from holding addresses in registers during the sweeps.
    __device__ __forceinline__ void forget_position() {
#if defined(__CUDA_ARCH__)
        asm volatile("" : "+r"(y_), "+r"(x_));
#endif
    }

    __device__ __forceinline__ void load_updates(const SweepProblem& problem) {
        const SystemPlanes& system = problem.system;
        PatchValues<3> block;
        PatchValues<2> right;
        read_pixels(blocks_of<kind>(system), pixels(), block);
        read_pixels(system.right, pixels(), right);
        forget_position();
        const PatchPixels pixels = this->pixels();
        APERTURE_UNROLL
        for (int r = 0; r < extent; ++r) {
            APERTURE_UNROLL
            for (int j = 0; j < extent; ++j) {
                const int y = pixels.row[r];
                const int x = pixels.column[j];
                update_[r][j] = {};
                // The inverse of a pixel outside the image is loaded as zero, and so is its update.
                if (kind != SweepKind::block2x2 && (y < 0 || x < 0)) continue;
                update_[r][j] = update_of<kind, coupling>(
                    problem, {block[0][r][j], block[1][r][j], block[2][r][j]},
                    {right[0][r][j], right[1][r][j]}, y, x);
            }
        }
        if constexpr (coupling == Coupling::weighted) load_weights(system.weights);
    }
    __device__ __forceinline__ void load_unknowns(const Planes<const float>& from) {
        read_pixels(from, pixels(), x_of_);
    }

    __device__ __forceinline__ void store_unknowns(const Planes<float>& to) const {
        const bool fours = x_ + extent <= columns_ && has_fours(to);
        APERTURE_UNROLL
        for (int r = 0; r < extent; ++r) {
            if (y_ + r >= rows_) return;
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                float* row = row_of(to, i, y_ + r) + x_;
                if (fours) {
                    store_four(x_of_[i][r], row);
                    continue;
                }
                APERTURE_UNROLL
                for (int j = 0; j < extent; ++j) {
                    if (x_ + j < columns_) row[j] = x_of_[i][r][j];
                }
            }
        }
    }

    /// Contains barriers: all threads of the block must call it.
    __device__ __forceinline__ void sweep(RowExchange& exchange, int count) {
        APERTURE_UNROLL_BY(unrolled_sweeps)
        for (int sweep = 0; sweep < count; ++sweep) {
            run_stage<0>(exchange);
            if constexpr (stages > 1) run_stage<1>(exchange);
            if constexpr (stages > 2) {
                run_stage<2>(exchange);
                run_stage<3>(exchange);
            }
        }
    }

  private:
    // A sweep that updates all pixels leaves them in other registers. Unrolled by two, block2x2 on
    // five points takes 188 instructions a sweep instead of 215.
    static constexpr int unrolled_sweeps = stages == 1 ? 2 : 1;

    // Nine-point Gauss-Seidel replicates the current border pixels at each colour. Instead of
    // mirroring the image, it refreshes the pixels beside the border before each stage.
    static constexpr bool refreshes = kind == SweepKind::redblack && coupling == Coupling::nine;

    __device__ __forceinline__ PatchPixels pixels() const {
        return {y_, x_, rows_, columns_, refreshes ? Outside::zero : outside_};
    }

    /// Rows of a tile, and the offset of the thread's patch in its tile, in pixels.
    __device__ static __forceinline__ int tile_rows() {
        return extent * static_cast<int>(blockDim.y);
    }
    __device__ static __forceinline__ int down() { return extent * static_cast<int>(threadIdx.y); }
    __device__ static __forceinline__ int across() {
        return extent * static_cast<int>(threadIdx.x);
    }

    __device__ static __forceinline__ float4 four_of(const float (&row)[extent]) {
        return make_float4(row[0], row[1], row[2], row[3]);
    }

    __device__ __forceinline__ void load_weights(const Planes<const float>& weights) {
        const auto weight = [&](int plane, int y, int x) {
            const bool inside = y >= 0 && y < rows_ && x >= 0 && x < columns_;
            return inside ? weights(plane, y, x) : 0.0F;
        };
        APERTURE_UNROLL
        for (int i = 0; i <= extent; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < extent; ++j) {
                across_[j][i] = weight(0, y_ + j, x_ - 1 + i);
                down_[i][j] = weight(1, y_ - 1 + i, x_ + j);
            }
        }
    }

    /// The rows above and below the patch, [unknown].
    struct Beside {
        float above[2][extent];
        float below[2][extent];
    };

    template <int stage>
    __device__ __forceinline__ Beside rows_beside(RowExchange& exchange) const {
        Beside rows{};
        if constexpr (stages == 2) {
            // A colour reads only the other colour, which is every other pixel of a row.
            constexpr int odd = stage == 0 ? 1 : 0;
            const auto pack = [&](int r, int j) {
                return make_float4(x_of_[0][r][j], x_of_[0][r][j + 2], x_of_[1][r][j],
                                   x_of_[1][r][j + 2]);
            };
            const float4 first[1] = {pack(0, odd)};
            const float4 last[1] = {pack(extent - 1, 1 - odd)};
            float4 above[1];
            float4 below[1];
            exchange.swap(first, last, above, below);
            const auto unpack = [](float4 packed, int j, float(&row)[2][extent]) {
                row[0][j] = packed.x;
                row[0][j + 2] = packed.y;
                row[1][j] = packed.z;
                row[1][j + 2] = packed.w;
            };
            unpack(above[0], 1 - odd, rows.above);
            unpack(below[0], odd, rows.below);
        } else {
            const float4 first[2] = {four_of(x_of_[0][0]), four_of(x_of_[1][0])};
            const float4 last[2] = {four_of(x_of_[0][extent - 1]), four_of(x_of_[1][extent - 1])};
            float4 above[2];
            float4 below[2];
            exchange.swap(first, last, above, below);
            const auto unpack = [](float4 four, float(&row)[extent]) {
                row[0] = four.x;
                row[1] = four.y;
                row[2] = four.z;
                row[3] = four.w;
            };
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                unpack(above[i], rows.above[i]);
                unpack(below[i], rows.below[i]);
            }
        }
        return rows;
    }

    /// Row r with the end pixels that a stage needs; -1 and `extent` are the rows beside the patch.
    template <int stage>
    __device__ __forceinline__ ExtendedRow extended(const float (&row)[extent], int r) const {
        constexpr bool all = coupling == Coupling::nine;
        const bool own = r >= 0 && r < extent;
        ExtendedRow result{{0.0F, row[0], row[1], row[2], row[3], 0.0F}};
        if (all || (own && has_colour<kind, coupling>(stage, r, 0))) {
            result.at[0] = __shfl_up_sync(core::full_warp, row[extent - 1], 1, tile_lanes);
        }
        if (all || (own && has_colour<kind, coupling>(stage, r, extent - 1))) {
            result.at[extent + 1] = __shfl_down_sync(core::full_warp, row[0], 1, tile_lanes);
        }
        if constexpr (refreshes) {
            if (outside_ == Outside::nearest) {
                if (x_ == 0) result.at[0] = result.at[1];
                APERTURE_UNROLL
                for (int j = 1; j <= extent; ++j) {
                    if (x_ + j == columns_) result.at[j + 1] = result.at[j];
                }
            }
        }
        return result;
    }

    /// Replicates the border into the rows beside the image.
    __device__ __forceinline__ void refresh(Beside& rows) {
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < extent; ++j) {
                if (y_ == 0) rows.above[i][j] = x_of_[i][0][j];
                APERTURE_UNROLL
                for (int r = 1; r < extent; ++r) {
                    if (y_ + r == rows_) x_of_[i][r][j] = x_of_[i][r - 1][j];
                }
                if (y_ + extent == rows_) rows.below[i][j] = x_of_[i][extent - 1][j];
            }
        }
    }

    __device__ __forceinline__ Neighbours around(const ExtendedRow& above, const ExtendedRow& here,
                                                 const ExtendedRow& below, int j) const {
        return {here.at[j],  here.at[j + 2],  above.at[j + 1], below.at[j + 1],
                above.at[j], above.at[j + 2], below.at[j],     below.at[j + 2]};
    }

    template <int stage>
    __device__ __forceinline__ void run_stage(RowExchange& exchange) {
        Beside beside = rows_beside<stage>(exchange);
        if constexpr (refreshes) {
            if (outside_ == Outside::nearest) refresh(beside);
        }
        ExtendedRow above[2];
        ExtendedRow here[2];
        ExtendedRow below[2];
        APERTURE_UNROLL
        for (int i = 0; i < 2; ++i) {
            above[i] = extended<stage>(beside.above[i], -1);
            here[i] = extended<stage>(x_of_[i][0], 0);
        }
        APERTURE_UNROLL
        for (int r = 0; r < extent; ++r) {
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                below[i] = r + 1 < extent
                               ? extended<stage>(x_of_[i][r + 1 < extent ? r + 1 : r], r + 1)
                               : extended<stage>(beside.below[i], extent);
            }
            APERTURE_UNROLL
            for (int j = 0; j < extent; ++j) {
                if (!has_colour<kind, coupling>(stage, r, j)) continue;
                const NeighbourWeights weights{across_[r][j], across_[r][j + 1], down_[r][j],
                                               down_[r + 1][j]};
                const Unknowns next = update_[r][j](
                    {sum_of<coupling>(around(above[0], here[0], below[0], j), weights),
                     sum_of<coupling>(around(above[1], here[1], below[1], j), weights)},
                    {here[0].at[j + 1], here[1].at[j + 1]}, keep_);
                x_of_[0][r][j] = next.u;
                x_of_[1][r][j] = next.v;
            }
            APERTURE_UNROLL
            for (int i = 0; i < 2; ++i) {
                above[i] = here[i];
                here[i] = below[i];
            }
        }
    }

    Outside outside_;
    float keep_;
    int rows_;  ///< of the image, as columns_
    int columns_;
    int halo_;
    int y_ = 0;  ///< of the patch's first pixel in the image, as x_
    int x_ = 0;
    float x_of_[2][extent][extent];  ///< u and v
    PixelUpdate<kind, coupling> update_[extent][extent];
    // Coupling::weighted: weights between a pixel and its left and right, upper and lower
    // neighbours.
    float across_[extent][extent + 1];
    float down_[extent + 1][extent];
};

}  // namespace aperture::flow::gpu
