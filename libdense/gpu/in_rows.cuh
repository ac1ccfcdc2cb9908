// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels with rows of general matrices in registers (warp_tile.cuh). Rows are not exchanged: a
// lane knows where its rows would be. A step's pivot row goes to all lanes of its problem through
// shared memory, chunk by chunk, where it stays: row k of the tile is row k of [U | Y] afterwards.
//
// Kernels are compiled when an order is first used, and their code should fit in the cache for
// instructions. In larger factorisations a few steps share code, after each of which their columns
// rotate in their registers. Towards the inverse a panel of columns is unrolled, after which all
// registers move.
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
    factors,  ///< those of L, in registers
    nothing,
    cleared,  ///< nothing; rows are cleared above the pivots, too
    inverse,  ///< columns of it, in registers: likewise
};

/// Columns of a panel on the way to the inverse. All columns take part in a step, so that it has a
/// lot of code (H100, fp32, order 32, percent of the bound with 4 and 32 columns: 44 31).
inline constexpr int inverse_panel = 4;
/// Steps of a factorisation that share code. H100, microseconds of 256 MiB unrolled and with as
/// many: order 32 LU with pivoting fp32 319 322, fp64 401 397, complex fp32 400 397, without 210
/// 210, 223 206, 260 237; order 24 with pivoting fp32 299 279, fp64 469 428; solutions of order 32
/// fp32 231 228, of order 24 202 216, fp64 210 232, complex fp32 256 299. They are compiled in 0.3
/// to 0.5 of the time.
template <class T>
APERTURE_HD constexpr int rows_group(PivotColumns kept, bool exchange, int order) {
    if (order <= 16) return 1;
    if (kept != PivotColumns::factors) return 4;
    if (!exchange) return 2;
    // With four, complex fp32 of order 31 would spill.
    return core::is_complex<T> && order % 4 != 0 ? 8 : 4;
}
/// Pivots of factors are those that LAPACK chooses. Others may be of nearly the largest size, for
/// which one reduction suffices.
APERTURE_HD constexpr bool chooses_largest(PivotColumns kept) {
    return kept == PivotColumns::factors;
}
/// Columns in registers.
APERTURE_HD constexpr int rows_width(int columns) { return (columns + 3) / 4 * 4; }

/// The rows of [A | B] that a lane has. Those beyond the last are copies of it.
template <class T, int order, int columns, int lanes>
struct GeneralRows {
    static constexpr int width = rows_width(columns);
    using Tile = WarpTile<T, order, width, lanes>;
    using Matrix = StagedMatrices<T, order, order, lanes>;
    static_assert(rows_shared_entries<T>(order, order, lanes) <=
                  rows_shared_entries<T>(order, width, lanes));
    static constexpr int chunk = chunk_entries<T>;
    static constexpr int slots = (order + lanes - 1) / lanes;
    T entry[slots][width];  ///< for the inverse from the panel's first column on
    /// More than any row's number.
    static constexpr unsigned numbers = order <= 32 ? 32 : 64;
    /// For factors: place[slot] / numbers is where the row is after all exchanges so far,
    /// place[slot] % numbers its number.
    unsigned place[slots];
    /// Else: a mask for the row's key, 0 once it has been a pivot.
    unsigned left[slots];

    __device__ __forceinline__ static constexpr unsigned place_of(int position, int row) {
        return static_cast<unsigned>(position) * numbers + static_cast<unsigned>(row);
    }
    __device__ __forceinline__ int position(int slot) const {
        return static_cast<int>(place[slot] / numbers);
    }

    /// The last bits of a key, of which `numbers` is one that all keys have.
    static constexpr unsigned row_bits = 2 * numbers - 1;
    /// Keeps a size's bits, without its sign, and puts the row's number behind them.
    __device__ __forceinline__ static constexpr unsigned key_mask(int row) {
        return (~0u / 2 & ~row_bits) | (numbers + static_cast<unsigned>(row));
    }

    __device__ __forceinline__ static bool exists(int row) {
        return order % lanes == 0 || row < order;
    }
    /// Loads A; columns behind it are zero.
    __device__ __forceinline__ void load(const Matrix& a) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + a.at.lane;
            place[slot] = place_of(row, row);
            left[slot] = exists(row) ? key_mask(row) : 0;
            a.for_each_in_row(exists(row) ? row : order - 1, order,
                              [&](int j, T value) { entry[slot][j] = value; });
            APERTURE_UNROLL
            for (int j = order; j < width; ++j) entry[slot][j] = T(RealOf<T>(0));
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
};

/// The pivot of a step, the same in all lanes of the group.
struct RowPivot {
    int row;   ///< its number before all exchanges
    int from;  ///< where it was before it came to row k
};

/// The bits of an entry's size, which are larger for a larger one; its sign may be among them.
__device__ __forceinline__ unsigned size_bits(float entry) {
    return __builtin_bit_cast(unsigned, entry);
}
__device__ __forceinline__ unsigned long long size_bits(double entry) {
    return __builtin_bit_cast(unsigned long long, entry);
}
template <class R>
__device__ __forceinline__ auto size_bits(core::Complex<R> entry) {
    return size_bits(magnitude(entry));
}

/// The larger number, or that which is not NaN.
struct Larger {
    __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
    __device__ __forceinline__ double operator()(double a, double b) const { return fmax(a, b); }
};

/// The least of a group's numbers, of which all but few are ~0u. Mostly one is not: to ask for it
/// takes less time than to compare eight or more.
template <int lanes>
__device__ __forceinline__ unsigned least_of_few(unsigned number) {
    if constexpr (lanes < 8) return core::warp_reduce<lanes>(number, core::Minimum());
    const unsigned found = __ballot_sync(core::full_warp, number != ~0u);
    const unsigned its = found >> (core::lane_rank() / lanes * lanes) & (~0u >> (32 - lanes));
    if (__any_sync(core::full_warp, (its & (its - 1)) != 0)) {
        return core::warp_reduce<lanes>(number, core::Minimum());
    }
    return core::broadcast<lanes>(number, 31 - __clz(static_cast<int>(its)));
}

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
    if constexpr (lanes == core::warp_size) {
        // H100, microseconds of 256 MiB of order 32 so and by exchanges: complex fp32 348 371.
        const R candidate = largest < R(0) ? R(0) : largest;
        largest = __builtin_bit_cast(R, core::warp_maximum(size_bits(candidate)));
    } else {
        largest = core::warp_reduce<lanes>(largest, Larger());
    }
    unsigned best = ~0u;
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        best = core::Minimum()(best, size[slot] == largest ? rows.place[slot] : ~0u);
    }
    best = least_of_few<lanes>(best);
    constexpr unsigned numbers = GeneralRows<T, order, columns, lanes>::numbers;
    return {static_cast<int>(best % numbers), static_cast<int>(best / numbers)};
}

/// The first 32 bits of a size, and others, as large, of sizes that have less than eight there.
__device__ __forceinline__ unsigned first_bits(unsigned bits) { return bits; }
__device__ __forceinline__ unsigned first_bits(unsigned long long bits) {
    return static_cast<unsigned>(bits >> 32);
}
__device__ __forceinline__ unsigned other_bits(unsigned bits) { return bits << 8; }
__device__ __forceinline__ unsigned other_bits(unsigned long long bits) {
    return __builtin_bit_cast(unsigned, static_cast<float>(bits & ~0ULL >> 1));
}

/// The row of an entry of column `s` that is at most a part of 2^-13 smaller than the largest of
/// those left, or of a NaN: that of the largest key, which is a size with the number of its row
/// instead of its last bits.
template <class T, int order, int columns, int lanes>
__device__ __forceinline__ int nearly_largest(const GeneralRows<T, order, columns, lanes>& rows,
                                              int s) {
    using Rows = GeneralRows<T, order, columns, lanes>;
    const auto largest_key = [&](auto bits_of) {
        unsigned largest = 0;
        APERTURE_UNROLL
        for (int slot = 0; slot < Rows::slots; ++slot) {
            const unsigned bits = bits_of(size_bits(rows.entry[slot][s]));
            largest = core::Maximum()(largest, (bits | Rows::row_bits) & rows.left[slot]);
        }
        return lanes == core::warp_size ? core::warp_maximum(largest)
                                        : core::warp_reduce<lanes>(largest, core::Maximum());
    };
    unsigned key = largest_key([](auto bits) { return first_bits(bits); });
    const bool tiny = key <= Rows::row_bits;
    if (__any_sync(core::full_warp, tiny)) {
        const unsigned other = largest_key([](auto bits) { return other_bits(bits); });
        if (tiny) key = other;
    }
    return static_cast<int>(key % Rows::numbers);
}

/// Step k of elimination, whose column is in register `own`. Of the `count` ones from `own` on the
/// last `done` are finished. Calls record(k, pivot, reciprocal).
template <bool exchange, PivotColumns kept, class T, int order, int columns, int lanes,
          class Record>
__device__ __forceinline__ void eliminate_column(
    GeneralRows<T, order, columns, lanes>& rows,
    const WarpTile<T, order, rows_width(columns), lanes>& tile, int lane, int k, int own, int count,
    int done, int& info, Record record) {
    using Rows = GeneralRows<T, order, columns, lanes>;
    constexpr int chunk = chunk_entries<T>;
    constexpr int slots = Rows::slots;
    constexpr bool around = kept == PivotColumns::inverse;
    constexpr int width = around ? Rows::width : columns;
    const int slot_of_k = (around ? k : own) / lanes;
    T* const pivot_row = tile.row(k);
    constexpr bool largest = chooses_largest(kept);
    RowPivot pivot{k, k};
    if constexpr (exchange && largest) pivot = choose_pivot(rows, k, own, lane);
    if constexpr (exchange && !largest) pivot.row = nearly_largest(rows, own);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        if (!exchange && slot != slot_of_k) continue;
        const int row = slot * lanes + lane;
        if (largest && rows.position(slot) == k) {
            rows.place[slot] = rows.place_of(pivot.from, row);
        }
        if (row == pivot.row) {
            rows.place[slot] = rows.place_of(k, row);
            rows.left[slot] = 0;
            APERTURE_UNROLL
            for (int c = 0; c < width; c += chunk) {
                if (!around && c + chunk <= own) continue;
                if (c + chunk <= width) {
                    store_chunk(pivot_row + c, rows.chunk_of(slot, c));
                } else {
                    APERTURE_UNROLL
                    for (int j = c; j < width; ++j) pivot_row[j] = rows.entry[slot][j];
                }
            }
        }
    }
    __syncwarp();
    const PivotReciprocal<T> reciprocal = accept_general_pivot(pivot_row[own], k, info);
    record(k, pivot, reciprocal);
    constexpr bool all_rows = around || kept == PivotColumns::cleared;
    const int first_slot = exchange || all_rows ? 0 : slot_of_k;
    T factor[slots] = {};
    APERTURE_UNROLL
    for (int slot = first_slot; slot < slots; ++slot) {
        T& entry = rows.entry[slot][own];
        // Without factors finished rows may change, too, for they are in the tile.
        const bool active = all_rows  ? slot * lanes + lane != pivot.row
                            : largest ? rows.position(slot) > k
                                      : true;
        factor[slot] = active ? reciprocal.times(entry) : T(RealOf<T>(0));
        if (kept == PivotColumns::factors) entry = active ? factor[slot] : entry;
        if (kept == PivotColumns::inverse) entry = active ? -factor[slot] : T(RealOf<T>(1));
    }
    APERTURE_UNROLL
    for (int c = 0; c < width; c += chunk) {
        if (!around && c + chunk <= own + 1) continue;
        const Chunk<T> piece = chunk_at<T>(pivot_row + c);
        APERTURE_UNROLL
        for (int e = 0; e < chunk; ++e) {
            if (around ? c + e == own : c + e <= own || c + e >= columns) continue;
            // What is finished may change if nobody needs it.
            if (kept == PivotColumns::factors && c + e < own + count &&
                c + e + done >= own + count) {
                continue;
            }
            APERTURE_UNROLL
            for (int slot = first_slot; slot < slots; ++slot) {
                T& entry = rows.entry[slot][c + e];
                entry = core::multiply_add(entry, -factor[slot], piece.entry[e]);
            }
        }
    }
}

/// Gauss-Jordan elimination, which leaves the inverse.
template <class T, int order, int lanes, class Record>
__device__ __forceinline__ void invert_rows(
    GeneralRows<T, order, order, lanes>& rows,
    const WarpTile<T, order, rows_width(order), lanes>& tile, int lane, int& info, Record record) {
    APERTURE_NO_UNROLL
    for (int first = 0; first < order; first += inverse_panel) {
        APERTURE_UNROLL
        for (int s = 0; s < inverse_panel; ++s) {
            if (order % inverse_panel == 0 || first + s < order) {
                eliminate_column<true, PivotColumns::inverse>(rows, tile, lane, first + s, s, 1, 0,
                                                              info, record);
            }
        }
        rows.template move_by<inverse_panel>();
    }
}

/// Eliminates below the pivots, or also above. Columns from `order` on are right-hand sides. A row
/// of the tile keeps the registers of its step.
template <bool exchange, PivotColumns kept, class T, int order, int columns, int lanes,
          class Record>
__device__ __forceinline__ void eliminate_rows(
    GeneralRows<T, order, columns, lanes>& rows,
    const WarpTile<T, order, rows_width(columns), lanes>& tile, int lane, int& info,
    Record record) {
    using Rows = GeneralRows<T, order, columns, lanes>;
    constexpr int group = rows_group<T>(kept, exchange, order);
    static_assert(lanes % group == 0, "rows of pivots that share code are in one slot");
    APERTURE_UNROLL
    for (int begin = 0; begin < order; begin += group) {
        const int count = order - begin < group ? order - begin : group;
        APERTURE_NO_UNROLL
        for (int s = 0; s < count; ++s) {
            eliminate_column<exchange, kept>(rows, tile, lane, begin + s, begin, count, s, info,
                                             record);
            APERTURE_UNROLL
            for (int slot = 0; slot < Rows::slots; ++slot) {
                rotate_entries(rows.entry[slot], begin, count);
            }
        }
    }
}

/// P A = L U, the determinant, or both. Of fp32 five blocks on a multiprocessor would spill, which
/// the assembler would take for better than four.
template <class T, int order, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads, sizeof(T) == 4 && exchange && order > 16 ? 4 : 1)
    lu_in_rows(LuArguments<T> p) {
    using Rows = GeneralRows<T, order, order, lanes>;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, Rows::width, lanes);
    const typename Rows::Tile tile(at, shared);
    Rows rows;
    load_matrices(rows, at, shared, p.a);
    int info = 0;
    bool odd = false;
    int exchanged[Rows::slots] = {};
    eliminate_rows<exchange, PivotColumns::factors>(
        rows, tile, at.lane, info, [&](int k, RowPivot pivot, const PivotReciprocal<T>&) {
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
        constexpr int group = rows_group<T>(PivotColumns::factors, exchange, order);
        T product = T(RealOf<T>(odd ? -1 : 1));
        APERTURE_NO_UNROLL
        for (int k = 0; k < order; ++k) product = product * tile.row(k)[k / group * group];
        if (at.exists() && at.lane == 0) p.determinant(at.problem()) = product;
    }
    if (!p.lu.empty()) {
        const typename Rows::Matrix lu(at, shared, p.lu);
        __syncwarp();
        APERTURE_UNROLL
        for (int slot = 0; slot < Rows::slots; ++slot) {
            if (!rows.exists(slot * lanes + at.lane)) continue;
            lu.fill_row(rows.position(slot), [&](int j) { return rows.entry[slot][j]; });
        }
        lu.store(p.lu);
    }
    if (at.exists() && at.lane == 0 && !p.info.empty()) p.info(at.problem()) = info;
}

/// Solves A X = B for up to `sides` right-hand sides. Gauss-Jordan elimination is without pivoting.
template <class T, int order, int sides, int lanes, GeneralElimination elimination>
__global__ void __launch_bounds__(rows_threads) solve_in_rows(LuArguments<T> p) {
    using Rows = GeneralRows<T, order, order + sides, lanes>;
    using Sides = StagedMatrices<T, sides, order, lanes>;
    using enum PivotColumns;
    constexpr int slots = Rows::slots;
    constexpr bool jordan = elimination == GeneralElimination::gauss_jordan;
    constexpr bool exchange = elimination == GeneralElimination::pivoted_lu;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, Rows::width, lanes);
    const typename Rows::Tile tile(at, shared);
    const WarpArea<T> shared_sides = warp_area(
        core::shared<T>() + rows_shared_entries<T>(order, Rows::width, lanes), sides, order, lanes);
    int info = 0;
    T x[slots][sides];
    PivotReciprocal<T> reciprocal[slots] = {};
    {
        Rows rows;
        const Sides staged(at, shared_sides, p.x);
        staged.load(p.x);
        load_matrices(rows, at, shared, p.a, staged.by_blocks(p.x));
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + at.lane;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                rows.entry[slot][order + r] = staged.row(r)[Rows::exists(row) ? row : order - 1];
            }
        }
        eliminate_rows<exchange, jordan ? cleared : nothing>(
            rows, tile, at.lane, info, [&](int k, RowPivot, const PivotReciprocal<T>& its) {
                APERTURE_UNROLL
                for (int slot = 0; jordan && slot < slots; ++slot) {
                    if (slot * lanes + at.lane == k) reciprocal[slot] = its;
                }
            });
        APERTURE_UNROLL
        for (int slot = 0; jordan && slot < slots; ++slot) {
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                x[slot][r] = reciprocal[slot].times(rows.entry[slot][order + r]);
            }
        }
    }
    if constexpr (!jordan) {
        // From here on lanes have rows of [U | Y].
        constexpr int group = rows_group<T>(nothing, exchange, order);
        T* row[slots];
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int its = slot * lanes + at.lane;
            const int existing = Rows::exists(its) ? its : order - 1;
            int unused = 0;
            row[slot] = tile.row(existing);
            reciprocal[slot] = accept_general_pivot(row[slot][existing / group * group], 0, unused);
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) x[slot][r] = row[slot][order + r];
        }
        substitute_backwards<order, lanes>(
            x, at.lane, [&](int slot, T value) { return reciprocal[slot].times(value); },
            [&](int slot, int column) {
                if (group == 1 || column / lanes != slot) return chunk_at<T>(row[slot] + column);
                // Columns of a row's own group are where they were in its step.
                Chunk<T> piece;
                APERTURE_UNROLL
                for (int e = 0; e < chunk_entries<T>; ++e) {
                    const int begin = (column + e) / group * group;
                    const int count = order - begin < group ? order - begin : group;
                    const bool own = at.lane / group == begin % lanes / group;
                    const int before = column + e - begin - (own ? at.lane % group : 0);
                    piece.entry[e] = row[slot][begin + (before < 0 ? before + count : before)];
                }
                return piece;
            });
    }
    const Sides staged(at, shared_sides, p.x);
    APERTURE_UNROLL
    for (int slot = 0; slot < slots; ++slot) {
        if (!Rows::exists(slot * lanes + at.lane)) continue;
        APERTURE_UNROLL
        for (int r = 0; r < sides; ++r) {
            staged.row(r)[slot * lanes + at.lane] = info == 0 ? x[slot][r] : T(RealOf<T>(0));
        }
    }
    staged.store(p.x);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// A^-1 by Gauss-Jordan elimination with partial pivoting, in place. Rows are divided by their
/// pivots at the end. Four blocks on a multiprocessor made 366 to 320 us of 256 MiB of order 32 in
/// fp32 (H100); of odd orders they would spill.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads,
                                  sizeof(T) == 4 && order > 24 && order <= 32 && order % 4 == 0 ? 4
                                                                                                : 1)
    inverse_in_rows(LuArguments<T> p) {
    using Rows = GeneralRows<T, order, order, lanes>;
    constexpr int slots = Rows::slots;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, Rows::width, lanes);
    const typename Rows::Tile tile(at, shared);
    Rows rows;
    load_matrices(rows, at, shared, p.a);
    int info = 0;
    int pivot_row[slots] = {};
    PivotReciprocal<T> own_reciprocal[slots] = {};
    invert_rows(rows, tile, at.lane, info,
                [&](int k, RowPivot pivot, const PivotReciprocal<T>& reciprocal) {
                    APERTURE_UNROLL
                    for (int slot = 0; slot < slots; ++slot) {
                        if (slot * lanes + at.lane == k) pivot_row[slot] = pivot.row;
                        if (slot * lanes + at.lane == pivot.row) own_reciprocal[slot] = reciprocal;
                    }
                });
    const typename Rows::Matrix inverse(at, shared, p.inverse);
    __syncwarp();
    // Column j belongs to the row that was pivot j.
    APERTURE_UNROLL
    for (int j = 0; j < order; ++j) {
        const int column = core::broadcast<lanes>(pivot_row[j / lanes], j % lanes);
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            if (!rows.exists(slot * lanes + at.lane)) continue;
            const T value = own_reciprocal[slot].times(rows.entry[slot][j]);
            inverse.row(rows.position(slot))[column] = info == 0 ? value : T(RealOf<T>(0));
        }
    }
    inverse.store(p.inverse);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

}  // namespace aperture::dense
