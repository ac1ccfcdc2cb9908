// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels with rows of general matrices in registers (warp_tile.cuh). Rows are not exchanged: a
// lane knows where its rows would be. A step's pivot row goes to all lanes of its problem through
// shared memory, chunk by chunk, where it stays: row k of the tile is row k of [U | Y] afterwards.
//
// A panel of columns is unrolled; then registers move by as many columns, so that the next panel
// finds its columns in the same ones. That keeps the code short, which is compiled when an order is
// first used, and in the cache for instructions.
//
// Block: 4 warps, each with 32 / lanes problems and without barriers. Grid: ceil(problems / (128 /
// lanes)) on x. Shared: [A | B] of all problems (rows_shared_bytes). Bytes and flops per problem as
// in lu_in_block.cuh.
// Source: Anderson 2014, ch. 4.5 (one-dimensional row layout); Ha et al. 2013, section III-E.4
// (contiguous groups without barriers).

#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {

/// What is left of the pivots' columns.
enum class PivotColumns {
    factors,  ///< those of L, in the tile
    nothing,
    inverse,  ///< columns of it, in registers: rows are cleared above the pivots, too
};

/// Columns of a panel. All columns take part in a step towards the inverse, so that one step has a
/// lot of code; others are slower with small panels (H100, fp32, order 32, percent of the bound
/// with 4, 16 and 32 columns: LU with pivoting 34 43 50, without 46 - 83, solve 23 23 28; inverse
/// 44 - 31).
APERTURE_HD constexpr int rows_panel(PivotColumns kept, int order) {
    return kept == PivotColumns::inverse ? 4 : order;
}
/// Columns in registers.
APERTURE_HD constexpr int rows_width(int columns) { return (columns + 3) / 4 * 4; }

/// The rows of [A | B] that a lane has. Those beyond the last are copies of it.
template <class T, int order, int columns, int lanes>
struct GeneralRows {
    static constexpr int width = rows_width(columns);
    using Tile = WarpTile<T, order, width, lanes>;
    static constexpr int chunk = chunk_entries<T>;
    static constexpr int slots = (order + lanes - 1) / lanes;
    T entry[slots][width];  ///< from the panel's first column on
    /// place[slot] / 32 is where the row is after all exchanges so far, place[slot] % 32 its
    /// number.
    unsigned place[slots];

    __device__ __forceinline__ static constexpr unsigned place_of(int position, int row) {
        return static_cast<unsigned>(position * core::warp_size + row);
    }
    __device__ __forceinline__ int position(int slot) const {
        return static_cast<int>(place[slot] / core::warp_size);
    }

    __device__ __forceinline__ static bool exists(int row) {
        return order % lanes == 0 || row < order;
    }
    __device__ __forceinline__ void load(const Tile& tile) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + tile.at.lane;
            place[slot] = place_of(row, row);
            const T* const its = tile.row(exists(row) ? row : order - 1);
            APERTURE_UNROLL
            for (int j = 0; j < columns; j += chunk) {
                const Chunk<T> piece = chunk_at(its + j);
                APERTURE_UNROLL
                for (int e = 0; e < chunk; ++e) entry[slot][j + e] = piece.entry[e];
            }
        }
        __syncwarp();
    }
    template <int panel>
    __device__ __forceinline__ void move_by() {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            T moved[width];
            APERTURE_UNROLL
            for (int c = 0; c < width; ++c) moved[c] = entry[slot][(c + panel) % width];
            APERTURE_UNROLL
            for (int c = 0; c < width; ++c) entry[slot][c] = moved[c];
        }
    }
    __device__ __forceinline__ Chunk<T> chunk_of(int slot, int c) const {
        Chunk<T> piece;
        APERTURE_UNROLL
        for (int e = 0; e < chunk; ++e) piece.entry[e] = entry[slot][c + e];
        return piece;
    }
    /// Calls visit(c, column) for all chunks of registers and the columns that they have; if not
    /// `around`, only for those from the panel on.
    template <bool around, class Visit>
    __device__ __forceinline__ static void for_each_chunk(int first, Visit visit) {
        APERTURE_UNROLL
        for (int c = 0; c < width; c += chunk) {
            const bool left = first + c >= width;
            if (around) {
                visit(c, left ? first + c - width : first + c);
            } else if (first + c < columns) {
                visit(c, first + c);
            }
        }
    }
};

/// The pivot of a step, the same in all lanes of the group.
struct RowPivot {
    int row;   ///< its number before all exchanges
    int from;  ///< where it was before it came to row k
};

/// The larger number, or that which is not NaN.
struct Larger {
    __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
    __device__ __forceinline__ double operator()(double a, double b) const { return fmax(a, b); }
};

/// Chooses the pivot of step k, in column `s` of the panel: the largest entry, the first of several
/// by position. A NaN counts as the largest in the row at k and as the smallest elsewhere.
template <class T, int order, int columns, int lanes>
__device__ __forceinline__ RowPivot choose_pivot(const GeneralRows<T, order, columns, lanes>& rows,
                                                 int k, int s, int lane) {
    using R = RealOf<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    R size[slots];
    R largest = R(-1);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int position = rows.position(slot);
        const R its = magnitude(rows.entry[slot][s]);
        const bool candidate = (position >= k) & rows.exists(slot * lanes + lane);
        size[slot] = (position == k) & (its != its) ? R(2) * largest_finite<R>
                     : candidate                    ? its
                                                    : R(-1);
        largest = Larger()(largest, size[slot]);
    }
    largest = core::warp_reduce<lanes>(largest, Larger());
    unsigned best = ~0u;
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        best = core::Minimum()(best, size[slot] == largest ? rows.place[slot] : ~0u);
    }
    best = core::warp_reduce<lanes>(best, core::Minimum());
    return {static_cast<int>(best % core::warp_size), static_cast<int>(best / core::warp_size)};
}

/// One step of elimination; calls record(k, pivot, reciprocal).
template <bool exchange, PivotColumns kept, class T, int order, int columns, int lanes,
          class Record>
__device__ __forceinline__ void eliminate_column(
    GeneralRows<T, order, columns, lanes>& rows,
    const WarpTile<T, order, rows_width(columns), lanes>& tile, int first, int s, int& info,
    Record record) {
    using Rows = GeneralRows<T, order, columns, lanes>;
    constexpr int chunk = chunk_entries<T>;
    constexpr int slots = Rows::slots;
    constexpr bool around = kept == PivotColumns::inverse;
    const int k = first + s;
    T* const pivot_row = tile.row(k);
    RowPivot pivot{k, k};
    if (exchange) pivot = choose_pivot(rows, k, s, tile.at.lane);
    if (exchange && kept == PivotColumns::factors) {
        T* const its = tile.row(pivot.from);
        APERTURE_NO_UNROLL
        for (int j = tile.at.lane * chunk; j < first; j += lanes * chunk) {
            const Chunk<T> upper = chunk_at<T>(pivot_row + j);
            store_chunk(pivot_row + j, chunk_at<T>(its + j));
            store_chunk(its + j, upper);
        }
    }
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        if (!exchange && slot != k / lanes) continue;
        const int row = slot * lanes + tile.at.lane;
        if (rows.position(slot) == k) rows.place[slot] = rows.place_of(pivot.from, row);
        if (row == pivot.row) {
            rows.place[slot] = rows.place_of(k, row);
            Rows::template for_each_chunk<around>(first, [&](int c, int column) {
                store_chunk(pivot_row + column, rows.chunk_of(slot, c));
            });
        }
    }
    __syncwarp();
    const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot_row[k], k, info);
    record(k, pivot, reciprocal);
    const int first_slot = exchange ? 0 : k / lanes;
    T factor[slots] = {};
    APERTURE_UNROLL
    for (int slot = first_slot; slot < slots; ++slot) {
        T& entry = rows.entry[slot][s];
        const bool active = around ? rows.position(slot) != k : rows.position(slot) > k;
        factor[slot] = active ? reciprocal.times(entry) : T(RealOf<T>(0));
        if (kept == PivotColumns::factors) entry = active ? factor[slot] : entry;
        if (kept == PivotColumns::inverse) entry = active ? -factor[slot] : T(RealOf<T>(1));
    }
    Rows::template for_each_chunk<around>(first, [&](int c, int column) {
        if (!around && c + chunk <= s + 1) return;
        const Chunk<T> piece = chunk_at<T>(pivot_row + column);
        APERTURE_UNROLL
        for (int e = 0; e < chunk; ++e) {
            if (around ? c + e == s : c + e <= s) continue;
            APERTURE_UNROLL
            for (int slot = first_slot; slot < slots; ++slot) {
                T& entry = rows.entry[slot][c + e];
                entry = core::multiply_add(entry, -factor[slot], piece.entry[e]);
            }
        }
    });
}

/// Eliminates below the pivots or, for the inverse, everywhere else. Columns from `order` on are
/// right-hand sides.
template <bool exchange, PivotColumns kept, class T, int order, int columns, int lanes,
          class Record>
__device__ __forceinline__ void eliminate_rows(
    GeneralRows<T, order, columns, lanes>& rows,
    const WarpTile<T, order, rows_width(columns), lanes>& tile, int& info, Record record) {
    using Rows = GeneralRows<T, order, columns, lanes>;
    constexpr int chunk = chunk_entries<T>;
    constexpr int panel = rows_panel(kept, order);
    APERTURE_NO_UNROLL
    for (int first = 0; first < order; first += panel) {
        APERTURE_UNROLL
        for (int s = 0; s < panel; ++s) {
            if (order % panel == 0 || first + s < order) {
                eliminate_column<exchange, kept>(rows, tile, first, s, info, record);
            }
        }
        if (kept == PivotColumns::factors) {
            __syncwarp();
            APERTURE_UNROLL
            for (int slot = 0; slot < Rows::slots; ++slot) {
                const int position = rows.position(slot);
                if (position < first || !Rows::exists(slot * lanes + tile.at.lane)) continue;
                APERTURE_UNROLL
                for (int c = 0; c < panel; c += chunk) {
                    if (first + c < columns) {
                        store_chunk(tile.row(position) + first + c, rows.chunk_of(slot, c));
                    }
                }
            }
            __syncwarp();
        }
        if (panel < order) rows.template move_by<panel>();
    }
}

/// P A = L U, the determinant, or both.
template <class T, int order, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads) lu_in_rows(LuArguments<T> p) {
    using Rows = GeneralRows<T, order, order, lanes>;
    const typename Rows::Tile tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order>(p.a);
    tile.wait();
    Rows rows;
    rows.load(tile);
    int info = 0;
    bool odd = false;
    int exchanged[Rows::slots] = {};
    eliminate_rows<exchange, PivotColumns::factors>(
        rows, tile, info, [&](int k, RowPivot pivot, const PivotReciprocal<T>&) {
            odd = odd != (pivot.from != k);
            APERTURE_UNROLL
            for (int slot = 0; slot < Rows::slots; ++slot) {
                if (slot * lanes + at.lane == k) exchanged[slot] = pivot.from;
            }
        });
    APERTURE_UNROLL
    for (int slot = 0; slot < Rows::slots; ++slot) {
        const int row = slot * lanes + at.lane;
        if (rows.exists(row) && at.exists() && !p.pivots.empty()) {
            p.pivots(at.problem(), row) = exchanged[slot];
        }
    }
    if (!p.determinant.empty()) {
        T product = T(RealOf<T>(odd ? -1 : 1));
        APERTURE_NO_UNROLL
        for (int k = 0; k < order; ++k) product = product * tile.row(k)[k];
        if (at.exists() && at.lane == 0) p.determinant(at.problem()) = product;
    }
    if (!p.lu.empty()) tile.template store<order, order>(p.lu);
    if (at.exists() && at.lane == 0 && !p.info.empty()) p.info(at.problem()) = info;
}

/// Solves A X = B for up to `sides` right-hand sides.
template <class T, int order, int sides, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads) solve_in_rows(LuArguments<T> p) {
    using Rows = GeneralRows<T, order, order + sides, lanes>;
    constexpr int slots = Rows::slots;
    const typename Rows::Tile tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order>(p.a);
    tile.template load_sides<sides>(p.x, 0, order);
    tile.wait();
    int info = 0;
    {
        Rows rows;
        rows.load(tile);
        eliminate_rows<exchange, PivotColumns::nothing>(
            rows, tile, info, [](int, RowPivot, const PivotReciprocal<T>&) {});
    }
    // From here on lanes have rows of [U | Y].
    T* row[slots];
    T x[slots][sides];
    PivotReciprocal<T> reciprocal[slots];
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        const int its = slot * lanes + at.lane;
        const int existing = Rows::exists(its) ? its : order - 1;
        int unused = 0;
        row[slot] = tile.row(existing);
        reciprocal[slot] = accept_general_pivot(row[slot][existing], 0, unused);
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) x[slot][r] = row[slot][order + r];
    }
    substitute_backwards<order, lanes>(
        x, at.lane, [&](int slot, T value) { return reciprocal[slot].times(value); },
        [&](int slot, int column) { return chunk_at<T>(row[slot] + column); });
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        if (!Rows::exists(slot * lanes + at.lane)) continue;
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) {
            row[slot][order + r] = info == 0 ? x[slot][r] : T(RealOf<T>(0));
        }
    }
    tile.template store_sides<sides>(p.x, 0, order);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// A^-1 by Gauss-Jordan elimination with partial pivoting, in place. Rows are divided by their
/// pivots at the end.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) inverse_in_rows(LuArguments<T> p) {
    using Rows = GeneralRows<T, order, order, lanes>;
    constexpr int slots = Rows::slots;
    const typename Rows::Tile tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order>(p.a);
    tile.wait();
    Rows rows;
    rows.load(tile);
    int info = 0;
    int pivot_row[slots] = {};
    PivotReciprocal<T> own_reciprocal[slots] = {};
    eliminate_rows<true, PivotColumns::inverse>(
        rows, tile, info, [&](int k, RowPivot pivot, const PivotReciprocal<T>& reciprocal) {
            APERTURE_UNROLL
            for (int slot = 0; slot < slots; ++slot) {
                if (slot * lanes + at.lane == k) pivot_row[slot] = pivot.row;
                if (slot * lanes + at.lane == pivot.row) own_reciprocal[slot] = reciprocal;
            }
        });
    __syncwarp();
    // Column j belongs to the row that was pivot j.
    APERTURE_UNROLL
    for (int j = 0; j < order; ++j) {
        const int column = core::broadcast<lanes>(pivot_row[j / lanes], j % lanes);
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            if (!rows.exists(slot * lanes + at.lane)) continue;
            const T value = own_reciprocal[slot].times(rows.entry[slot][j]);
            tile.row(rows.position(slot))[column] = info == 0 ? value : T(RealOf<T>(0));
        }
    }
    tile.template store<order, order>(p.inverse);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

}  // namespace aperture::dense
