// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kernels of the direct method share: a warp has a tile of displacements and a part of the
// rows of A, each of which meets the rows of B that the tile's displacements lead to, in some
// columns, and then perhaps some of the next tile. Warps need nothing of each other.

#include "libcorr/gpu/staged_planes.cuh"

namespace aperture::corr::gpu {

/// Products that are summed together: of A's rows begin to end-1 and B's columns left to right-1 at
/// the displacements of one tile.
struct PartOfTile {
    int lag_y;  ///< the tile's first displacement; lag_x is a multiple of 4
    int lag_x;
    int begin;
    int end;
    int left;  ///< a multiple of Walk::step
    int right;
    int piece;  ///< columns of a row at a time, a multiple of Walk::step
};

/// What one launch sums.
template <class Cell>
struct SumTask {
    StagedPlanes<const Cell> a;
    StagedPlanes<const Cell> b;
    const PartOfTile* parts;
    const int* first_parts;  ///< of every warp, and of the one that there is not
    int chain_rows;          ///< rows of products in a sum before it is added to others
};

/// In parts of a plane's mean product: different for every chain, between 1 and 2.
template <class T>
__device__ __forceinline__ T chain_offset(T product, int chain) {
    constexpr float golden = 0.618034F;
    const float turns = golden * static_cast<float>(chain % 1024);
    return product * (1 + static_cast<T>(turns - floorf(turns)));
}

/// Columns that are copied behind the last displacement's of a row of A.
inline constexpr int columns_beyond = 24;

/// Rows of A and B in shared memory of a block of one warp. With each row r of A one of B is new,
/// the one at the tile's first dy. Each row of B is there twice, Tile::rows + 1 slots apart, so
/// that those of all displacements are in slots one after the other. `Walk` says how a kernel goes
/// along a row:
/// - Tile, whose `rows` x `columns` displacements a warp has; Form (staged_planes.cuh);
/// - `step`: columns at a time; `most_columns`: of a piece of a row;
/// - `planes`: of cells, that are read together;
/// - `rows_of_a` that are read together: r, r + 1, ...;
/// - `columns_behind`: columns that it reads of B before the first one of a step;
/// - `columns_over`: columns beyond B's last one that it steps to;
/// - `saved_rows`: rows of A whose work is saved where the first ones do not meet all of a tile's
///   rows of B; work_of_row(n, left): of another one along n columns, `left` to the end of those
///   that have partners; work_of_start: of a piece before its first row;
/// - `place(i)`: where cell i of a row of A is; multiples of 16 bytes stay together;
/// - `cells_of_a(n)`, `cells_of_b(n)`: that rows of A and B take for a piece of n columns, of
///   multiples of 16 bytes.
template <class Walk>
struct RowRing {
    using Cell = typename Walk::Form::Cell;
    static constexpr int slots_of_b = Walk::Tile::rows + 1;
    static constexpr int slots_of_a = Walk::rows_of_a + 1;
    static constexpr int plane_of_a = Walk::cells_of_a(Walk::most_columns);
    static constexpr int plane_of_b = Walk::cells_of_b(Walk::most_columns);
    static constexpr int pitch_of_a = Walk::planes * plane_of_a;
    static constexpr int pitch_of_b = Walk::planes * plane_of_b;
    static constexpr int bytes =
        static_cast<int>(sizeof(Cell)) * (2 * slots_of_b * pitch_of_b + slots_of_a * pitch_of_a);

    int newest_a = 0;  ///< slot of A's row r
    int newest_b = 0;  ///< slot of B's row at the tile's first dy

    __device__ __forceinline__ static Cell* slot_of_a(int slot) {
        return core::shared<Cell>() + 2 * slots_of_b * pitch_of_b + slot * pitch_of_a;
    }
    __device__ __forceinline__ static Cell* slot_of_b(int slot) {
        return core::shared<Cell>() + slot * pitch_of_b;
    }
    /// The slot `i` rows after `slot`, i < slots.
    __device__ __forceinline__ static int later(int slot, int i, int slots) {
        return slot + i < slots ? slot + i : slot + i - slots;
    }

    /// Of A's row r + i, from the tile's first displacement on; the next plane is plane_of_a on.
    __device__ __forceinline__ const Cell* a(int i) const {
        return slot_of_a(later(newest_a, i, slots_of_a));
    }
    /// Of B's row r - dy, `dy` from the tile's first; that of dy + 1 is pitch_of_b before it.
    __device__ __forceinline__ const Cell* b(int dy) const {
        return slot_of_b(newest_b + slots_of_b - dy) + Walk::columns_behind;
    }
    __device__ __forceinline__ void next_row() {
        newest_a = later(newest_a, 1, slots_of_a);
        newest_b = later(newest_b, 1, slots_of_b);
    }
};

/// copy(i) with all lanes for i = 0, 16 bytes on, ... < `cells`, which is at most `most`.
template <class Cell, int most, class Copy>
__device__ __forceinline__ void for_pieces(int cells, const Copy& copy) {
    constexpr int piece = 16 / static_cast<int>(sizeof(Cell));
    APERTURE_UNROLL
    for (int first = 0; first < most; first += core::warp_size * piece) {
        const int i = first + core::lane_rank() * piece;
        if (i < cells) copy(i);
    }
}

/// do_row(ring, r, x0, end) for every row r of A in a part and columns x0 .. end-1 of B, in pieces
/// of part.piece; up to the next multiple of Walk::step from x0 on, what is beyond is
/// zero or meets zeros. Copies for the next row start before.
template <class Walk, class Cell, class DoRow>
__device__ __forceinline__ void for_rows(const SumTask<Cell>& task, const PartOfTile& part,
                                         int plane, const DoRow& do_row) {
    using Tile = typename Walk::Tile;
    using Ring = RowRing<Walk>;
    for (int x0 = part.left; x0 < part.right; x0 += part.piece) {
        const int end = min(part.right, x0 + part.piece);
        const int length = (end - x0 + Walk::step - 1) / Walk::step * Walk::step;
        const auto copy_row_of_b = [&](int y, int slot) {
            APERTURE_UNROLL
            for (int p = 0; p < Walk::planes; ++p) {
                const Cell* const from = task.b.row(plane + p, y) + x0 - Walk::columns_behind;
                Cell* const to = Ring::slot_of_b(slot) + p * Ring::plane_of_b;
                for_pieces<Cell, Walk::columns_behind + Walk::most_columns>(
                    length + Walk::columns_behind, [&](int i) {
                        core::copy_async<16>(to + i, from + i);
                        core::copy_async<16>(to + i + Ring::slots_of_b * Ring::pitch_of_b,
                                             from + i);
                    });
            }
        };
        constexpr int most_of_a = Walk::most_columns + Tile::columns + columns_beyond;
        const auto copy_row_of_a = [&](int r, int slot) {
            APERTURE_UNROLL
            for (int p = 0; p < Walk::planes; ++p) {
                const Cell* const from = task.a.row(plane + p, r) + x0 + part.lag_x;
                Cell* const to = Ring::slot_of_a(slot) + p * Ring::plane_of_a;
                for_pieces<Cell, most_of_a>(length + Tile::columns + columns_beyond, [&](int i) {
                    core::copy_async<16>(to + Walk::place(i), from + i);
                });
            }
        };
        __syncwarp();
        Ring ring;
        for (int dy = 0; dy < Tile::rows; ++dy) {
            copy_row_of_b(
                part.begin - part.lag_y - dy,
                Ring::later(0, (Ring::slots_of_b - dy) % Ring::slots_of_b, Ring::slots_of_b));
        }
        for (int i = 0; i < Walk::rows_of_a; ++i) copy_row_of_a(part.begin + i, i);
        core::commit_copies();
        for (int r = part.begin; r < part.end; ++r) {
            core::wait_for_copies();
            __syncwarp();
            if (r + 1 < part.end) {
                copy_row_of_b(r + 1 - part.lag_y, Ring::later(ring.newest_b, 1, Ring::slots_of_b));
                copy_row_of_a(r + Walk::rows_of_a,
                              Ring::later(ring.newest_a, Walk::rows_of_a, Ring::slots_of_a));
                core::commit_copies();
            }
            do_row(ring, r, x0, end);
            ring.next_row();
        }
    }
}

/// Where an entry of the surface is in partial sums [plane of a launch][part][row][column of a
/// tile]: tiles row by row, each with several parts one after the other.
struct TileParts {
    int first;
    int count;
};

/// How partial sums make surfaces.
struct PartialSurfaces {
    const TileParts* tiles;
    int tiles_across;
    int skipped_columns;  ///< of the first tiles, before the first displacement
    int parts;            ///< of all tiles
    int planes;           ///< of cells, that a surface is the sum of
    int lag_rows;
    int lag_columns;
};

inline constexpr int entries_of_block = 32;
inline constexpr int adders_of_entry = 8;

/// Adds parts, and planes where there is one surface, in double precision. Adders threads for an
/// entry, each of which takes every Adders-th part, Entries entries a block. Grid: entries,
/// surfaces. 4 bytes and an addition a part, 8 bytes a sum.
template <class Tile, class Number, int Entries, int Adders>
__global__ void __launch_bounds__(Entries* Adders)
    add_parts_kernel(PartialSurfaces from, const Number* parts, double* sums) {
    core::wait_for_previous_kernel();
    const int rank = static_cast<int>(threadIdx.x);
    const int adder = rank / Entries;
    const int entry = static_cast<int>(blockIdx.x) * Entries + rank % Entries;
    const bool is_there = entry < from.lag_rows * from.lag_columns;
    const int i = is_there ? entry / from.lag_columns : 0;
    const int j = (is_there ? entry % from.lag_columns : 0) + from.skipped_columns;
    const TileParts tile = from.tiles[i / Tile::rows * from.tiles_across + j / Tile::columns];
    const auto surface = static_cast<index_t>(blockIdx.y);
    constexpr index_t entries = index_t{Tile::rows} * Tile::columns;
    const Number* const of_entry = parts +
                                   (surface * from.planes * from.parts + tile.first) * entries +
                                   i % Tile::rows * Tile::columns + j % Tile::columns;
    double sum = 0;
    APERTURE_UNROLL_BY(4)
    for (int k = adder; k < from.planes * tile.count; k += Adders) {
        const index_t part = index_t{k / tile.count} * from.parts + k % tile.count;
        sum += static_cast<double>(of_entry[part * entries]);
    }
    auto* const of_adders = core::shared<double>();
    of_adders[rank] = sum;
    __syncthreads();
    if (adder > 0 || !is_there) return;
    APERTURE_UNROLL
    for (int other = 1; other < Adders; ++other) sum += of_adders[rank + other * Entries];
    sums[surface * from.lag_rows * from.lag_columns + entry] = sum;
}

}  // namespace aperture::corr::gpu
