// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adds up the partial sums of all blocks, in a fixed order.

#include "librpca/gpu/gram.cuh"

namespace aperture::rpca::gpu {

/// A block has column_lanes x column_shares threads: one column per lane, its rows split into
/// shares.
inline constexpr int column_lanes = 32;
inline constexpr int column_shares = 8;

/// Column sums of [row][pitch], one column per thread; valid in all shares. Called by all threads
/// of the block.
__device__ inline double column_sum(const double* parts, index_t rows, index_t pitch,
                                    index_t column, bool exists) {
    double* const shares = core::shared<double>();
    const int share = static_cast<int>(threadIdx.y);
    double sum = 0;
    if (exists) {
        APERTURE_UNROLL_BY(8)
        for (index_t row = share; row < rows; row += column_shares) {
            sum += parts[row * pitch + column];
        }
    }
    __syncthreads();
    shares[share * column_lanes + threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int s = 0; s < column_shares; ++s) sum += shares[s * column_lanes + threadIdx.x];
    return sum;
}

struct GatherArguments {
    const double* gram_parts;  ///< as GramArguments::parts
    int ranges;                ///< of values
    int tile_pairs;
    const PassSums* sum_parts;  ///< as PassArguments::sum_parts
    index_t value_blocks;
    int frame_blocks;
    int frames;
    double* gram;  ///< [frame][frame]
    EndRules rules;
    RunState* state;
    bool last;
    bool counts;  ///< the pass is an iteration
};

/// Blocks for Gram products, followed by one block for the sums of the pass.
template <int Sides>
struct GatherGrid {
    static constexpr int products = GramShape<float, Sides>::products;
    static constexpr int tiles = GramShape<float, Sides>::most_tiles;
    static constexpr int blocks_of_pair = (products * tiles + column_lanes - 1) / column_lanes;

    int gram_blocks;

    APERTURE_HD explicit GatherGrid(int tile_pairs) : gram_blocks(tile_pairs * blocks_of_pair) {}
    APERTURE_HD int blocks() const { return gram_blocks + 1; }
};

namespace detail {

template <int Sides>
__device__ inline void gather_gram(const GatherArguments& a, int block) {
    using Grid = GatherGrid<Sides>;
    constexpr int own = GramShape<float, Sides>::own;
    const int number = block / Grid::blocks_of_pair;
    const TilePair pair = tile_pair(number);
    const bool diagonal = pair.i == pair.j;
    const int column =
        (block % Grid::blocks_of_pair) * column_lanes + static_cast<int>(threadIdx.x);
    const int product = column / Grid::tiles;
    const int tile = column % Grid::tiles;
    const bool exists =
        product < Grid::products && (!diagonal || tile < GramShape<float, Sides>::diagonal_tiles);
    constexpr int pitch = Grid::products * Grid::tiles;
    const double sum = column_sum(a.gram_parts + index_t{number} * a.ranges * pitch, a.ranges,
                                  pitch, column, exists);
    if (!exists || threadIdx.y != 0) return;
    const TilePair of = diagonal ? tile_pair(tile) : TilePair{tile / Sides, tile % Sides};
    const int i = pair.i * own * Sides + of.i + product / own * Sides;
    const int j = pair.j * own * Sides + of.j + product % own * Sides;
    if (i >= a.frames || j >= a.frames) return;
    // Diagonal tiles hold both (i, j) and (j, i), with identical bits.
    a.gram[index_t{i} * a.frames + j] = sum;
    a.gram[index_t{j} * a.frames + i] = sum;
}

__device__ inline void gather_pass_sums(const GatherArguments& a) {
    constexpr int count = 3;
    static_assert(sizeof(PassSums) == count * sizeof(double));
    const int column = static_cast<int>(threadIdx.x);
    const double sum = column_sum(reinterpret_cast<const double*>(a.sum_parts),
                                  a.value_blocks * a.frame_blocks, count, column, column < count);
    if (threadIdx.y != 0) return;
    const double squares = core::broadcast(sum, 0);
    const double zeros = core::broadcast(sum, 1);
    const double changes = core::broadcast(sum, 2);
    if (column == 0 && a.counts) advance(*a.state, {squares, zeros, changes}, a.rules, a.last);
}

}  // namespace detail

/// A thread: a share of a column. Grid: GatherGrid. Shared memory: [share][column].
template <int Sides>
__global__ void __launch_bounds__(column_lanes* column_shares)
    gather_sums_kernel(GatherArguments a) {
    // Another block may end the run meanwhile; the results of this one are then unused. If it makes
    // the next pass the last one, that pass still needs the Gram matrix.
    if (a.state->done != 0) return;
    const GatherGrid<Sides> grid(a.tile_pairs);
    const int block = static_cast<int>(blockIdx.x);
    if (block < grid.gram_blocks) {
        detail::gather_gram<Sides>(a, block);
    } else {
        detail::gather_pass_sums(a);
    }
}

}  // namespace aperture::rpca::gpu
