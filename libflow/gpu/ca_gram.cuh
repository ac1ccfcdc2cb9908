// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Gram matrix of a basis in tiles, and the iterations on coordinates: stages of
// ca_on_chip_kernel.

#include "libflow/gpu/ca_tile.cuh"

namespace aperture::flow::gpu {

/// Row and column of entry number `entry` on and above the diagonal of a matrix, column by column.
APERTURE_HD void locate_entry(int entry, int* row, int* column) {
    *column = 0;
    while (entry > *column) {
        entry -= *column + 1;
        ++*column;
    }
    *row = entry;
}

/// Reduces 16 values a lane to their sums over all lanes, in double: lanes 2 i and 2 i + 1 return
/// the sum of value i. Lanes that differ in one bit split the values between them, then the halves,
/// and so on.
template <class T, int count>
__device__ __forceinline__ double sum_over_lanes(const T (&values)[count]) {
    if constexpr (count == 1) {
        return values[0] + core::exchange_xor(values[0], 1);
    } else {
        const bool upper = (core::lane_rank() & count) != 0;
        double half[count / 2];
        APERTURE_UNROLL
        for (int i = 0; i < count / 2; ++i) {
            const T sent = upper ? values[i] : values[i + count / 2];
            const T kept = upper ? values[i + count / 2] : values[i];
            half[i] =
                static_cast<double>(kept) + static_cast<double>(core::exchange_xor(sent, count));
        }
        return sum_over_lanes(half);
    }
}

template <class Tile>
class TileGram {
  public:
    static constexpr int most = Tile::most_steps;
    static constexpr int vectors = Tile::vectors;
    static constexpr int products = vectors * (vectors + 1) / 2;

    __device__ explicit TileGram(const Tile& tile) : tile_(tile) {}

    /// Stores the tile's part of Y^T M Y, and of Y^T M^2 Y if a history is kept, on and above the
    /// diagonal, column by column: [tile][matrix][product].
    __device__ void store() const {
        store_products<false>();
        if (tile_.arguments().ca.history != nullptr) store_products<true>();
    }

    /// Sums the parts of all tiles and runs the round's steps on the coordinates. Every block does
    /// the same; the first one writes the history. Ends with a barrier.
    __device__ void iterate() const {
        CoordinatePlanes planes{tile_.memory().coordinates, nullptr};
        if (blockIdx.x == 0) planes.history = tile_.arguments().ca.history;
        sum_parts<false>(tile_.memory().solver.gram);
        if (planes.history != nullptr) sum_parts<true>(tile_.memory().solver.norms);
        if (core::warp_rank() == 0) {
            CaState& state = tile_.memory().state;
            const CoordinateSolver solver(tile_.arguments().ca.recurrence, state, most, planes,
                                          &tile_.memory().solver);
            const int iterated = solver.iterate(
                min(state.steps, tile_.arguments().ca.limits.iterations - state.done));
            if (core::lane_rank() == 0) state.iterated = iterated;
        }
        __syncthreads();
    }

  private:
    /// Offset of a tile's part of a matrix.
    static __device__ __forceinline__ int part_of(int tile, bool squared) {
        return (2 * tile + (squared ? 1 : 0)) * products;
    }

    template <bool squared>
    __device__ void store_products() const {
        constexpr int group = gram_group<most>;
        constexpr int groups = (vectors + group - 1) / group;
        for (int column = 0; column < groups; ++column) {
            for (int row = 0; row < column; ++row) {
                store_group<squared, false>(group * row, group * column);
            }
            store_group<squared, true>(group * column, group * column);
        }
    }

    /// Products of a group of vectors with a group of weighted vectors; for equal groups those on
    /// and above the diagonal. A thread sums its few pixels in float. All else is in double,
    /// because the basis's condition number amplifies errors here. Ends with a barrier.
    template <bool squared, bool diagonal>
    __device__ void store_group(int first_row, int first_column) const {
        constexpr int group = gram_group<most>;
        constexpr int count = diagonal ? group * (group + 1) / 2 : group * group;
        constexpr int at_once = 16;
        constexpr int warps = on_chip_threads / core::warp_size;
        float sums[count] = {};
        const auto load = [&](int y, int x) { return tile_.weight_at(y, x); };
        tile_.for_cells(0, load, [&](int row, int column, const SymmetricBlock& m) {
            Pair left[group];
            const auto load_left = [&](int i) {
                left[i] = {0.0F, 0.0F};
                if (first_row + i < vectors) left[i] = tile_.vector(first_row + i)(row, column);
            };
            if constexpr (!diagonal) {
                APERTURE_UNROLL
                for (int i = 0; i < group; ++i) {
                    load_left(i);
                    if constexpr (squared) left[i] = m * left[i];
                }
            }
            APERTURE_UNROLL
            for (int j = 0; j < group; ++j) {
                Pair right{0.0F, 0.0F};
                if constexpr (diagonal) {
                    load_left(j);
                    right = m * left[j];
                    if constexpr (squared) left[j] = right;
                } else if (first_column + j < vectors) {
                    right = m * tile_.vector(first_column + j)(row, column);
                }
                APERTURE_UNROLL
                for (int i = 0; i < (diagonal ? j + 1 : group); ++i) {
                    float& sum = sums[diagonal ? j * (j + 1) / 2 + i : group * j + i];
                    sum += left[i].u * right.u;
                    sum += left[i].v * right.v;
                }
            }
        });
        APERTURE_UNROLL
        for (int first = 0; first < count; first += at_once) {
            float some[at_once];
            APERTURE_UNROLL
            for (int i = 0; i < at_once; ++i) {
                some[i] = first + i < count ? sums[first + i] : 0.0F;
            }
            const double sum = sum_over_lanes(some);
            const int k = first + core::lane_rank() / 2;
            if (core::lane_rank() % 2 == 0 && k < count) {
                tile_.memory().sums[k * warps + core::warp_rank()] = sum;
            }
        }
        __syncthreads();
        for (int k = core::thread_rank(); k < count; k += on_chip_threads) {
            int i = k % group;
            int j = k / group;
            if constexpr (diagonal) locate_entry(k, &i, &j);
            i += first_row;
            j += first_column;
            double sum = 0;
            for (int warp = 0; warp < warps; ++warp) sum += tile_.memory().sums[k * warps + warp];
            if (j < vectors) {
                tile_.arguments()
                    .ca.gram[part_of(static_cast<int>(blockIdx.x), squared) + j * (j + 1) / 2 + i] =
                    sum;
            }
        }
        __syncthreads();
    }

    /// Sums a matrix over the parts of all tiles. Ends with a barrier.
    template <bool squared>
    __device__ void sum_parts(double* matrix) const {
        constexpr int slices = on_chip_threads / products;
        const int tiles = static_cast<int>(gridDim.x);
        const int product = core::thread_rank() % products;
        if (core::thread_rank() < slices * products) {
            double sum = 0;
            for (int tile = core::thread_rank() / products; tile < tiles; tile += slices) {
                sum += tile_.arguments().ca.gram[part_of(tile, squared) + product];
            }
            tile_.memory().sums[core::thread_rank()] = sum;
        }
        __syncthreads();
        if (core::thread_rank() < products) {
            int i = 0;
            int j = 0;
            locate_entry(product, &i, &j);
            double sum = 0;
            for (int slice = 0; slice < slices; ++slice) {
                sum += tile_.memory().sums[slice * products + product];
            }
            matrix[i * vectors + j] = sum;
            matrix[j * vectors + i] = sum;
        }
        __syncthreads();
    }

    const Tile& tile_;
};

}  // namespace aperture::flow::gpu
