// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared by the kernels of the direct method. A warp has a tile of displacements and a part of the
// rows of A, each with the rows of B at the tile's displacements, in some columns; then possibly
// parts of the next tiles. Warps are independent.

#include "libcorr/gpu/staged_planes.cuh"

namespace aperture::corr::gpu {

/// Products that are summed together: rows begin to end-1 of A and columns left to right-1 of B, at
/// the displacements of one tile.
struct PartOfTile {
    int lag_y;  ///< the tile's first displacement; lag_x is a multiple of 4
    int lag_x;
    int begin;
    int end;
    int left;  ///< a multiple of Walk::step
    int right;
    int piece;  ///< columns of a row at once, a multiple of Walk::step
};

/// The sums of one launch.
template <class Cell>
struct SumTask {
    StagedPlanes<const Cell> a;
    StagedPlanes<const Cell> b;
    const PartOfTile* parts;
    const int* first_parts;  ///< of every warp, and the end of the last
    int chain_rows;          ///< rows of products in a sum before it is added to others
};

/// Columns copied beyond those of the last displacement of a row of A.
inline constexpr int columns_beyond = 24;

/// Ring buffers of rows of A and B in shared memory, for a block of one warp. Each row r of A needs
/// one new row of B, at the tile's first dy. Each row of B is stored twice, Tile::rows + 1 slots
/// apart, so that the rows of all displacements are in consecutive slots. `Walk` defines how a
/// kernel moves along a row:
/// - Tile, with the `rows` x `columns` displacements of a warp; Form (staged_planes.cuh);
/// - `step`: columns at a time; `max_columns`: of a piece of a row;
/// - `planes`: planes of cells that are loaded together;
/// - `rows_of_a`: rows that are loaded together: r, r + 1, ...;
/// - `columns_behind`: columns of B that are loaded before the first one of a step;
/// - `columns_over`: columns beyond B's last one that steps reach;
/// - `saved_rows`: rows of A whose work is saved, because the first ones meet only some of a tile's
///   rows of B; work_of_row(n, left): cost of another row of n columns, with `left` columns to the
///   last one with a partner; work_of_start: cost of a piece before its first row;
/// - `place(i)`: position of cell i of a row of A; multiples of 16 bytes stay together;
/// - `cells_of_a(n)`, `cells_of_b(n)`: cells of a row of A and B for a piece of n columns, in
///   multiples of 16 bytes.
template <class Walk>
struct RowRing {
    using Cell = typename Walk::Form::Cell;
    static constexpr int slots_of_b = Walk::Tile::rows + 1;
    static constexpr int slots_of_a = Walk::rows_of_a + 1;
    static constexpr int plane_of_a = Walk::cells_of_a(Walk::max_columns);
    static constexpr int plane_of_b = Walk::cells_of_b(Walk::max_columns);
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

    /// A's row r + i, from the tile's first displacement on; the next plane is plane_of_a further.
    __device__ __forceinline__ const Cell* a(int i) const {
        return slot_of_a(later(newest_a, i, slots_of_a));
    }
    /// B's row r - dy, with `dy` from the tile's first; the row of dy + 1 is pitch_of_b before it.
    __device__ __forceinline__ const Cell* b(int dy) const {
        return slot_of_b(newest_b + slots_of_b - dy) + Walk::columns_behind;
    }
    __device__ __forceinline__ void next_row() {
        newest_a = later(newest_a, 1, slots_of_a);
        newest_b = later(newest_b, 1, slots_of_b);
    }
};

/// Calls copy(i) in all lanes for i = 0, 16 bytes further, ... < `cells`, which is at most
/// `max_cells`.
template <class Cell, int max_cells, class Copy>
__device__ __forceinline__ void for_pieces(int cells, const Copy& copy) {
    constexpr int piece = 16 / static_cast<int>(sizeof(Cell));
    APERTURE_UNROLL
    for (int first = 0; first < max_cells; first += core::warp_size * piece) {
        const int i = first + core::lane_rank() * piece;
        if (i < cells) copy(i);
    }
}

/// Calls do_row(ring, r, x0, end) for every row r of A in a part and columns x0 .. end-1 of B, in
/// pieces of part.piece. Up to the next multiple of Walk::step from x0 on, cells beyond are zero or
/// multiplied by zeros. Copies for the next row are issued before.
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
                for_pieces<Cell, Walk::columns_behind + Walk::max_columns>(
                    length + Walk::columns_behind, [&](int i) {
                        core::copy_async<16>(to + i, from + i);
                        core::copy_async<16>(to + i + Ring::slots_of_b * Ring::pitch_of_b,
                                             from + i);
                    });
            }
        };
        constexpr int max_of_a = Walk::max_columns + Tile::columns + columns_beyond;
        const auto copy_row_of_a = [&](int r, int slot) {
            APERTURE_UNROLL
            for (int p = 0; p < Walk::planes; ++p) {
                const Cell* const from = task.a.row(plane + p, r) + x0 + part.lag_x;
                Cell* const to = Ring::slot_of_a(slot) + p * Ring::plane_of_a;
                for_pieces<Cell, max_of_a>(length + Tile::columns + columns_beyond, [&](int i) {
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

/// Position of an entry's partial sums in [plane of a launch][part][row][column of a tile]: tiles
/// row by row, each with several consecutive parts.
struct TileParts {
    int first;
    int count;
};

/// How partial sums are reduced to surfaces.
struct PartialSurfaces {
    const TileParts* tiles;
    int tiles_across;
    int skipped_columns;  ///< of the first tiles, before the first displacement
    int parts;            ///< of all tiles
    int planes;           ///< of cells, summed to a surface
    int lag_rows;
    int lag_columns;
};

inline constexpr int entries_of_block = 32;
inline constexpr int adders_of_entry = 8;

/// Sums parts, and planes if there is one surface, in double precision. adders_of_entry threads for
/// an entry, each with every adders_of_entry-th part. Grid: entries, surfaces. 4 bytes and an
/// addition a part, 8 bytes a sum.
template <class Tile, class Number>
__global__ void __launch_bounds__(entries_of_block* adders_of_entry)
    add_parts_kernel(PartialSurfaces from, const Number* parts, double* sums) {
    core::wait_for_previous_kernel();
    const int rank = static_cast<int>(threadIdx.x);
    const int adder = rank / entries_of_block;
    const int entry = static_cast<int>(blockIdx.x) * entries_of_block + rank % entries_of_block;
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
    for (int k = adder; k < from.planes * tile.count; k += adders_of_entry) {
        const index_t part = index_t{k / tile.count} * from.parts + k % tile.count;
        sum += static_cast<double>(of_entry[part * entries]);
    }
    auto* const of_adders = core::shared<double>();
    of_adders[rank] = sum;
    __syncthreads();
    if (adder > 0 || !is_there) return;
    APERTURE_UNROLL
    for (int other = 1; other < adders_of_entry; ++other)
        sum += of_adders[rank + other * entries_of_block];
    sums[surface * from.lag_rows * from.lag_columns + entry] = sum;
}

}  // namespace aperture::corr::gpu
