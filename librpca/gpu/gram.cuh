// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Gram matrix of W minus its ground: short sums in T, added up in fp64 in a fixed order.

#include "librpca/gpu/multiplier_pass.cuh"
#include "librpca/gpu/tuning.hpp"

namespace aperture::rpca::gpu {

/// Tiles have `frames` frames. A block multiplies one tile with another or itself over a range of
/// values. Thread (ti, tj) of sides x sides (on the diagonal only ti <= tj) computes 8 x 8
/// products: frames ti, ti + sides, ... with frames tj, tj + sides, ... Spare threads split the
/// values: thread group g processes the 16-byte pieces g, g + groups, ...
template <class T, int Sides>
struct GramShape {
    static constexpr int own = 8;  ///< frames of a thread on each side
    static constexpr int threads = sizeof(T) == 4 ? 384 : 256;
    static constexpr int frames = own * Sides;
    static constexpr int piece = dense::gpu::RowPiece<T>::size;
    static constexpr int pieces = 16;
    /// Values per stage.
    static constexpr int values = piece * pieces;
    /// Successive rows are shifted by 16 bytes mod 128: eight rows have no bank conflict.
    static constexpr int row = values + piece;
    static constexpr int stages = 3;
    static constexpr int most_tiles = Sides * Sides;
    static constexpr int diagonal_tiles = Sides * (Sides + 1) / 2;
    static constexpr int products = own * own;

    /// The smallest tiles also fit blocks with 99 KiB of shared memory.
    static constexpr int most_exchanged_bytes = (Sides == tuning::gram_sides[0] ? 96 : 227) * 1024;

    static constexpr int groups_of(int tiles) {
        const int bytes = tiles * products * static_cast<int>(sizeof(T));
        int groups = 1;
        while (2 * groups * tiles <= threads && 2 * groups <= pieces &&
               2 * groups <= most_exchanged_bytes / bytes) {
            groups *= 2;
        }
        return groups;
    }
    static constexpr int shared_bytes(bool diagonal) {
        const int tiles = diagonal ? diagonal_tiles : most_tiles;
        const int staged = stages * frames * row * (diagonal ? 1 : 2);
        const int exchanged = groups_of(tiles) * tiles * products;
        return (staged > exchanged ? staged : exchanged) * static_cast<int>(sizeof(T));
    }
};

template <class T>
struct GramArguments {
    const T* w;  ///< [frame][pitch], padded with zeros
    int frames;
    index_t pitch;
    index_t range;  ///< values per block: a multiple of GramShape::values
    int flush;      ///< steps between flushes to fp64
    double* parts;  ///< [tile pair][range][product][tile of the pair, padded to most_tiles]
    const RunState* state;
    bool last;
};

/// Tile pairs on and above the diagonal: pair 0 is (0, 0), 1 is (0, 1), 2 is (1, 1), ...
struct TilePair {
    int i;
    int j;
};
APERTURE_HD TilePair tile_pair(int number) {
    int j = 0;
    while (number > j) {
        number -= j + 1;
        ++j;
    }
    return {number, j};
}

namespace detail {

template <class T, int Sides>
struct GramTiles {
    using Shape = GramShape<T, Sides>;
    TilePair pair;
    bool diagonal;
    int tiles;
    int groups;

    __device__ explicit GramTiles(int number)
        : pair(tile_pair(number)),
          diagonal(pair.i == pair.j),
          tiles(diagonal ? Shape::diagonal_tiles : Shape::most_tiles),
          groups(diagonal ? Shape::groups_of(Shape::diagonal_tiles)
                          : Shape::groups_of(Shape::most_tiles)) {}

    __device__ TilePair of(int tile) const {
        return diagonal ? tile_pair(tile) : TilePair{tile / Sides, tile % Sides};
    }
};

template <class T, int Sides>
__device__ __forceinline__ void load_gram_stage(const GramArguments<T>& a,
                                                const GramTiles<T, Sides>& tiles, index_t value,
                                                T* stage) {
    using Shape = GramShape<T, Sides>;
    const auto load = [&](int tile, T* to) {
        const int first = tile * Shape::frames;
        core::load_tile(to, Shape::row,
                        core::GlobalTile<T>{a.w + first * a.pitch + value, a.pitch,
                                            a.frames - first, Shape::values},
                        Shape::frames, Shape::values, core::thread_rank(), Shape::threads);
    };
    load(tiles.pair.i, stage);
    if (!tiles.diagonal) load(tiles.pair.j, stage + Shape::frames * Shape::row);
}

/// Adds the groups' sums to `part` in fp64.
template <class T, int Sides>
__device__ __forceinline__ void flush_gram(
    const GramTiles<T, Sides>& tiles, int group, int tile, bool first, double* part,
    T (&sums)[GramShape<T, Sides>::own][GramShape<T, Sides>::own]) {
    using Shape = GramShape<T, Sides>;
    T* const exchange = core::shared<T>();
    const int all = tiles.tiles * Shape::products;
    // The exchange reuses the stages: outstanding copies must have arrived.
    core::wait_for_copies();
    __syncthreads();
    if (group < tiles.groups) {
        APERTURE_UNROLL
        for (int i = 0; i < Shape::own; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < Shape::own; ++j) {
                exchange[group * all + (i * Shape::own + j) * tiles.tiles + tile] = sums[i][j];
                sums[i][j] = 0;
            }
        }
    }
    __syncthreads();
    for (int product = core::thread_rank(); product < all; product += Shape::threads) {
        double sum = 0;
        for (int g = 0; g < tiles.groups; ++g) {
            sum += static_cast<double>(exchange[g * all + product]);
        }
        double& to = part[product / tiles.tiles * Shape::most_tiles + product % tiles.tiles];
        to = first ? sum : to + sum;
    }
    __syncthreads();
}

}  // namespace detail

/// A thread: 8 x 8 products over its share of the values. Grid: ranges of values, pairs of tiles.
/// Shared memory: three stages of [frame][values] of one tile or two, reused for the exchange
/// between groups. Reads each value of a tile once per tile that it is paired with; (frames + 1)
/// flops a value.
template <class T, int Sides>
__global__ void __launch_bounds__(GramShape<T, Sides>::threads) gram_kernel(GramArguments<T> a) {
    using Shape = GramShape<T, Sides>;
    if (a.state->done != 0 || is_last_pass(*a.state, a.last)) return;
    const detail::GramTiles<T, Sides> tiles(static_cast<int>(blockIdx.y));
    const int tile = core::thread_rank() % tiles.tiles;
    const int group = core::thread_rank() / tiles.tiles;
    const TilePair own = tiles.of(tile);
    const int stage_elements = Shape::frames * Shape::row * (tiles.diagonal ? 1 : 2);
    const index_t begin = index_t{blockIdx.x} * a.range;
    const index_t end = begin + a.range < a.pitch ? begin + a.range : a.pitch;
    const int steps = static_cast<int>((end - begin) / Shape::values);
    double* const part = a.parts + (index_t{blockIdx.y} * gridDim.x + blockIdx.x) *
                                       Shape::products * Shape::most_tiles;
    T* const stages = core::shared<T>();
    const auto load = [&](int step) {
        if (step < steps) {
            detail::load_gram_stage(a, tiles, begin + index_t{step} * Shape::values,
                                    stages + step % Shape::stages * stage_elements);
        }
        core::commit_copies();
    };
    T sums[Shape::own][Shape::own] = {};
    bool first = true;
    for (int next_flush = 0, step = 0; step < steps; ++step) {
        if (step == next_flush) {
            if (step > 0) {
                detail::flush_gram(tiles, group, tile, first, part, sums);
                first = false;
            }
            next_flush += a.flush;
            for (int ahead = 0; ahead < Shape::stages - 1; ++ahead) load(step + ahead);
        }
        core::wait_for_copies<Shape::stages - 2>();
        __syncthreads();
        load(step + Shape::stages - 1);
        if (group >= tiles.groups) continue;
        const T* const rows_i = stages + step % Shape::stages * stage_elements;
        const T* const rows_j = tiles.diagonal ? rows_i : rows_i + Shape::frames * Shape::row;
        for (int p = group; p < Shape::pieces; p += tiles.groups) {
            T of_i[Shape::own][Shape::piece];
            APERTURE_UNROLL
            for (int i = 0; i < Shape::own; ++i) {
                load_row(rows_i + (own.i + i * Sides) * Shape::row + p * Shape::piece, of_i[i]);
            }
            APERTURE_UNROLL
            for (int j = 0; j < Shape::own; ++j) {
                T of_j[Shape::piece];
                load_row(rows_j + (own.j + j * Sides) * Shape::row + p * Shape::piece, of_j);
                APERTURE_UNROLL
                for (int i = 0; i < Shape::own; ++i) {
                    APERTURE_UNROLL
                    for (int e = 0; e < Shape::piece; ++e) sums[i][j] += of_i[i][e] * of_j[e];
                }
            }
        }
    }
    detail::flush_gram(tiles, group, tile, first, part, sums);
}

}  // namespace aperture::rpca::gpu
