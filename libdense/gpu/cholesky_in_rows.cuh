// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky's factorisation with rows of the lower triangle in registers (warp_tile.cuh), which
// rotate where a few steps share code. Step k publishes column k, as it is, in row k of the tile,
// from where all lanes of the problem load it chunk by chunk; only then is it scaled. What lies
// above the diagonal of a lane's last row is neither loaded nor computed.
//
// Block, grid and shared memory as in in_rows.cuh. With lanes = 1 a thread has a problem, and
// nothing is published. Bytes and flops per problem as in qr_in_block.cuh. Source: Anderson 2014,
// ch. 4; Ha et al. 2013, section III-E.4; Higham 2002, ch. 10.

#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {

/// The rows of a lower triangle that a lane has, cyclically. Those beyond the last are copies of
/// it.
template <class T, int order, int lanes>
struct TriangleRows {
    using Tile = WarpTile<T, order, order, lanes>;
    using Matrix = StagedMatrices<T, order, order, lanes>;
    static constexpr int chunk = chunk_entries<T>;
    static constexpr int slots = (order + lanes - 1) / lanes;
    T entry[slots][order];

    __device__ __forceinline__ static constexpr bool exists(int row) {
        return order % lanes == 0 || row < order;
    }
    /// How many columns the rows of a slot have.
    __device__ __forceinline__ static constexpr int length(int slot) {
        return slot * lanes + lanes < order ? slot * lanes + lanes : order;
    }
    __device__ __forceinline__ void load(const Matrix& a) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + a.at.lane;
            a.for_each_in_row(exists(row) ? row : order - 1, length(slot),
                              [&](int j, T value) { entry[slot][j] = value; });
        }
        __syncwarp();
    }
    /// Entries of column k in the rows from `row` on, a multiple of a chunk, after step k.
    __device__ __forceinline__ Chunk<T> column_at(const Tile& tile, int k, int row) const {
        if constexpr (lanes > 1) return chunk_at<T>(tile.row(k) + row);
        Chunk<T> piece;
        APERTURE_UNROLL
        for (int e = 0; e < chunk; ++e) {
            piece.entry[e] = entry[row + e < order ? row + e : order - 1][k];
        }
        return piece;
    }
};

/// Steps that share code. H100, microseconds of 256 MiB unrolled and with 4 of them: order 32 fp32
/// 168 171, fp64 183 173, complex fp32 191 192; order 24 fp64 191 218; solutions of order 32 110
/// 124, 160 182, 184 215.
APERTURE_HD constexpr int triangle_group(bool roots, int order) {
    return order > (roots ? 24 : 32) ? 4 : 1;
}

/// Step k, whose column is in register `own`. Of the `count` ones from there on the last `done` are
/// finished. `accept(k, slot, pivot)` as in `eliminate_triangle`.
template <bool roots, class T, int order, int lanes, class Accept>
__device__ __forceinline__ void eliminate_triangle_column(
    TriangleRows<T, order, lanes>& rows, const WarpTile<T, order, order, lanes>& tile, int lane,
    int k, int own, int count, int done, const Accept& accept) {
    constexpr int chunk = chunk_entries<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    const int slot_of_k = own / lanes;
    T column[slots];
    APERTURE_UNROLL
    for (int slot = slot_of_k; slot < slots; ++slot) {
        const int row = slot * lanes + lane;
        column[slot] = rows.entry[slot][own];
        if (lanes > 1 && rows.exists(row)) tile.row(k)[row] = column[slot];
    }
    const RealOf<T> pivot = core::real_part(core::broadcast<lanes>(column[slot_of_k], k % lanes));
    if (lanes > 1) __syncwarp();
    const RealOf<T> factor = accept(k, slot_of_k, pivot);
    T multiplier[slots];
    APERTURE_UNROLL
    for (int slot = slot_of_k; slot < slots; ++slot) {
        column[slot] = column[slot] * factor;
        multiplier[slot] = -(roots ? column[slot] * factor : column[slot]);
    }
    const auto update = [&](int c, T other) {
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            if (c >= rows.length(slot)) continue;
            T& entry = rows.entry[slot][c];
            entry = core::multiply_add(entry, multiplier[slot], core::conj(other));
        }
    };
    APERTURE_UNROLL
    for (int c = own + 1; c < own + count; ++c) {
        if (c + done < own + count) update(c, tile.row(k)[c + done]);
    }
    APERTURE_UNROLL
    for (int j = 0; j < order; j += chunk) {
        if (j + chunk <= own + count) continue;
        const Chunk<T> others = rows.column_at(tile, k, j);
        APERTURE_UNROLL
        for (int e = 0; e < chunk; ++e) {
            if (j + e >= own + count && j + e < order) update(j + e, others.entry[e]);
        }
    }
    APERTURE_UNROLL
    for (int slot = slot_of_k; roots && slot < slots; ++slot) rows.entry[slot][own] = column[slot];
}

/// Eliminates below the pivots of a Hermitian matrix. `accept(k, slot, pivot)` returns the factor
/// of column k, which belongs to row k in that slot: the reciprocal of the pivot or, if `roots`, of
/// its root, with which the column is multiplied, too.
template <bool roots, class T, int order, int lanes, class Accept>
__device__ __forceinline__ void eliminate_triangle(TriangleRows<T, order, lanes>& rows,
                                                   const WarpTile<T, order, order, lanes>& tile,
                                                   int lane, Accept accept) {
    constexpr int group = triangle_group(roots, order);
    static_assert(lanes % group == 0, "rows of pivots that share code are in one slot");
    APERTURE_UNROLL
    for (int begin = 0; begin < order; begin += group) {
        const int count = order - begin < group ? order - begin : group;
        APERTURE_NO_UNROLL
        for (int s = 0; s < count; ++s) {
            eliminate_triangle_column<roots>(rows, tile, lane, begin + s, begin, count, s, accept);
            APERTURE_UNROLL
            for (int slot = begin / lanes; slot < rows.slots; ++slot) {
                rotate_entries(rows.entry[slot], begin, count);
            }
        }
    }
}

/// A = G G^H.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) cholesky_in_rows(CholeskyArguments<T> p) {
    using R = RealOf<T>;
    using Rows = TriangleRows<T, order, lanes>;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, order, lanes);
    const typename Rows::Tile tile(at, shared);
    Rows rows;
    load_matrices<true>(rows, at, shared, p.a);
    int info = 0;
    R diagonal[Rows::slots] = {};
    eliminate_triangle<true>(rows, tile, at.lane, [&](int k, int slot, R pivot) {
        const bool good = pivot > R(0) && pivot <= largest_finite<R>;
        if (!good && info == 0) info = k + 1;
        const R square = good ? pivot : R(1);
        const R factor = reciprocal_root(square);
        // The root, corrected by a step of Newton's method.
        const R root = square * factor;
        const R error = core::multiply_add(square, -root, root);
        if (at.lane == k % lanes) {
            diagonal[slot] = core::multiply_add(root, error, factor * R(0.5));
        }
        return factor;
    });
    const typename Rows::Matrix g(at, shared, p.g);
    __syncwarp();
    APERTURE_UNROLL
    for (int slot = 0; slot < Rows::slots; ++slot) {
        const int row = slot * lanes + at.lane;
        if (!rows.exists(row)) continue;
        g.fill_row(row, [&](int j) {
            if (j >= rows.length(slot) || j > row) return T(R(0));
            return j == row ? T(diagonal[slot]) : rows.entry[slot][j];
        });
    }
    g.store(p.g);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// Solves A X = B, `sides` right-hand sides at a time. A = L D L^H; row k of the tile keeps column
/// k of L D. Three blocks on a multiprocessor made 41 to 54 % of the bound of order 32 in fp32
/// (H100); others would spill.
template <class T, int order, int sides, int lanes>
__global__ void __launch_bounds__(rows_threads,
                                  sizeof(T) == 4 && sides == 1 && order % lanes == 0 ? 3 : 1)
    solve_positive_in_rows(CholeskyArguments<T> p) {
    using R = RealOf<T>;
    using Rows = TriangleRows<T, order, lanes>;
    using Sides = StagedMatrices<T, sides, order, lanes>;
    constexpr int slots = Rows::slots;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, order, lanes);
    const WarpArea<T> shared_sides = warp_area(
        core::shared<T>() + rows_shared_entries<T>(order, order, lanes), sides, order, lanes);
    const typename Rows::Tile tile(at, shared);
    Sides(at, shared_sides, p.x).load(p.x);
    Rows rows;
    load_matrices<true>(rows, at, shared, p.a, Sides::by_blocks(p.x));
    Pivots<R> pivots;
    R reciprocal[slots] = {};
    eliminate_triangle<false>(rows, tile, at.lane, [&](int k, int slot, R pivot) {
        const R its = pivots.add(k, pivot);
        if (at.lane == k % lanes) reciprocal[slot] = its;
        return its;
    });
    const auto all_sides = static_cast<int>(p.x.extent[1]);
    APERTURE_NO_UNROLL
    for (int begin = 0; begin == 0 || begin < all_sides; begin += sides) {
        const KernelView<T, 3> some = sides_from(p.x, begin);
        const Sides its(at, shared_sides, some);
        if (begin > 0) {
            __syncwarp();
            its.load(some);
            wait_for_matrices(its.by_blocks(some));
        }
        T x[slots][sides];
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + at.lane;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                x[slot][r] = its.row(r)[rows.exists(row) ? row : order - 1];
            }
        }
        APERTURE_UNROLL
        for (int k = 0; k < order - 1; ++k) {
            const int slot_of_k = k / lanes;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                const T scaled =
                    core::broadcast<lanes>(x[slot_of_k][r] * reciprocal[slot_of_k], k % lanes);
                APERTURE_UNROLL
                for (int slot = slot_of_k; slot < slots; ++slot) {
                    const T next = core::multiply_add(x[slot][r], -rows.entry[slot][k], scaled);
                    const bool below = slot > slot_of_k || at.lane > k % lanes;
                    x[slot][r] = below ? next : x[slot][r];
                }
            }
        }
        substitute_backwards<order, lanes>(
            x, at.lane, [&](int slot, T value) { return value * reciprocal[slot]; },
            [&](int slot, int column) {
                const int row = slot * lanes + at.lane;
                Chunk<T> piece = rows.column_at(tile,
                                                lanes == 1         ? slot
                                                : rows.exists(row) ? row
                                                                   : order - 1,
                                                column);
                APERTURE_UNROLL
                for (int e = 0; e < Rows::chunk; ++e) piece.entry[e] = core::conj(piece.entry[e]);
                return piece;
            });
        // Lanes without a row have loaded the last one.
        __syncwarp();
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + at.lane;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                if (rows.exists(row)) {
                    its.row(r)[row] = pivots.info == 0 ? x[slot][r] : T(R(0));
                }
            }
        }
        its.store(some);
    }
    if (at.exists() && at.lane == 0) {
        p.info(at.problem()) = pivots.info;
        if (!p.pivot_ratio.empty()) p.pivot_ratio(at.problem()) = pivots.ratio();
    }
}

}  // namespace aperture::dense
