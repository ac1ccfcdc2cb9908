// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky's factorisation with rows of the lower triangle in registers (warp_tile.cuh), unrolled
// to the last index. Step k publishes column k, as it is, in row k of the tile, from where all
// lanes of the problem load it chunk by chunk; only then is it scaled. What lies above the diagonal
// of a lane's last row is neither loaded nor computed.
//
// Block, grid and shared memory as in in_rows.cuh. With lanes = 1 a thread has a problem, and
// nothing is published. Bytes and flops per problem as in qr_in_block.cuh. Source: Anderson 2014,
// ch. 4; Ha et al. 2013, section III-E.4; Higham 2002, ch. 10.

#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {

/// The rows of a lower triangle that a lane has, cyclically. Those beyond the last are copies of
/// it.
template <class T, int order, int tile_rows, int lanes>
struct TriangleRows {
    using Tile = WarpTile<T, tile_rows, order, lanes>;
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
    __device__ __forceinline__ void load(const Tile& tile) {
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + tile.at.lane;
            const T* const its = tile.row(exists(row) ? row : order - 1);
            APERTURE_UNROLL
            for (int j = 0; j < order; j += chunk) {
                if (j >= length(slot)) continue;
                const Chunk<T> piece = chunk_at(its + j);
                APERTURE_UNROLL
                for (int e = 0; e < chunk; ++e) {
                    if (j + e < length(slot)) entry[slot][j + e] = piece.entry[e];
                }
            }
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

/// Eliminates below the pivots of a Hermitian matrix, from pivot k on. `accept(k, pivot)` returns
/// the factor of column k: the reciprocal of the pivot or, if `roots`, of its root, with which the
/// column is multiplied, too.
template <bool roots, class T, int order, int tile_rows, int lanes, class Accept>
__device__ __forceinline__ void eliminate_triangle(TriangleRows<T, order, tile_rows, lanes>& rows,
                                                   const WarpTile<T, tile_rows, order, lanes>& tile,
                                                   Accept accept) {
    constexpr int chunk = chunk_entries<T>;
    constexpr int slots = (order + lanes - 1) / lanes;
    APERTURE_UNROLL
    for (int k = 0; k < order; ++k) {
        const int slot_of_k = k / lanes;
        T column[slots];
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            const int row = slot * lanes + tile.at.lane;
            column[slot] = rows.entry[slot][k];
            if (lanes > 1 && rows.exists(row)) tile.row(k)[row] = column[slot];
        }
        const RealOf<T> pivot =
            core::real_part(core::broadcast<lanes>(column[slot_of_k], k % lanes));
        if (lanes > 1) __syncwarp();
        const RealOf<T> factor = accept(k, pivot);
        T multiplier[slots];
        APERTURE_UNROLL
        for (int slot = slot_of_k; slot < slots; ++slot) {
            column[slot] = column[slot] * factor;
            multiplier[slot] = -(roots ? column[slot] * factor : column[slot]);
        }
        APERTURE_UNROLL
        for (int j = (k + 1) / chunk * chunk; j < order; j += chunk) {
            const Chunk<T> others = rows.column_at(tile, k, j);
            APERTURE_UNROLL
            for (int e = 0; e < chunk; ++e) {
                APERTURE_UNROLL
                for (int slot = slot_of_k; slot < slots; ++slot) {
                    if (j + e <= k || j + e >= rows.length(slot)) continue;
                    T& entry = rows.entry[slot][j + e];
                    entry =
                        core::multiply_add(entry, multiplier[slot], core::conj(others.entry[e]));
                }
            }
        }
        APERTURE_UNROLL
        for (int slot = slot_of_k; roots && slot < slots; ++slot)
            rows.entry[slot][k] = column[slot];
    }
}

/// A = G G^H.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) cholesky_in_rows(CholeskyArguments<T> p) {
    using R = RealOf<T>;
    using Rows = TriangleRows<T, order, order, lanes>;
    const typename Rows::Tile tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order, true>(p.a);
    tile.wait();
    Rows rows;
    rows.load(tile);
    int info = 0;
    R diagonal[Rows::slots] = {};
    eliminate_triangle<true>(rows, tile, [&](int k, R pivot) {
        const bool good = pivot > R(0) && pivot <= largest_finite<R>;
        if (!good && info == 0) info = k + 1;
        const R square = good ? pivot : R(1);
        const R factor = reciprocal_root(square);
        // The root, corrected by a step of Newton's method.
        const R root = square * factor;
        const R error = core::multiply_add(square, -root, root);
        if (at.lane == k % lanes) {
            diagonal[k / lanes] = core::multiply_add(root, error, factor * R(0.5));
        }
        return factor;
    });
    __syncwarp();
    APERTURE_UNROLL
    for (int slot = 0; slot < Rows::slots; ++slot) {
        const int row = slot * lanes + at.lane;
        if (!rows.exists(row)) continue;
        APERTURE_UNROLL
        for (int j = 0; j < order; j += Rows::chunk) {
            Chunk<T> piece;
            APERTURE_UNROLL
            for (int e = 0; e < Rows::chunk; ++e) {
                piece.entry[e] = T(R(0));
                if (j + e >= rows.length(slot)) continue;
                if (j + e < row) piece.entry[e] = rows.entry[slot][j + e];
                if (j + e == row) piece.entry[e] = T(diagonal[slot]);
            }
            store_chunk(tile.row(row) + j, piece);
        }
    }
    tile.template store<order, order>(p.g);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// The right-hand sides [problem][r][row] from r = `begin` on.
template <class T>
__device__ __forceinline__ KernelView<T, 3> sides_from(KernelView<T, 3> x, int begin) {
    x.data += begin * x.stride[1];
    x.extent[1] -= begin;
    return x;
}

/// Solves A X = B, `sides` right-hand sides at a time. A = L D L^H; row k of the tile keeps column
/// k of L D. Three blocks on a multiprocessor made 41 to 54 % of the bound of order 32 in fp32
/// (H100); others would spill.
template <class T, int order, int sides, int lanes>
__global__ void __launch_bounds__(rows_threads,
                                  sizeof(T) == 4 && sides == 1 && order % lanes == 0 ? 3 : 1)
    solve_positive_in_rows(CholeskyArguments<T> p) {
    using R = RealOf<T>;
    using Rows = TriangleRows<T, order, order + sides, lanes>;
    constexpr int slots = Rows::slots;
    const typename Rows::Tile tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order, true>(p.a);
    tile.template load<sides, order>(p.x, order);
    tile.wait();
    Rows rows;
    rows.load(tile);
    Pivots<R> pivots;
    R reciprocal[slots] = {};
    eliminate_triangle<false>(rows, tile, [&](int k, R pivot) {
        const R its = pivots.add(k, pivot);
        if (at.lane == k % lanes) reciprocal[k / lanes] = its;
        return its;
    });
    const auto all_sides = static_cast<int>(p.x.extent[1]);
    APERTURE_NO_UNROLL
    for (int begin = 0; begin == 0 || begin < all_sides; begin += sides) {
        const KernelView<T, 3> some = sides_from(p.x, begin);
        if (begin > 0) {
            __syncwarp();
            tile.template load<sides, order>(some, order);
            tile.wait();
        }
        T x[slots][sides];
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + at.lane;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                x[slot][r] = tile.row(order + r)[rows.exists(row) ? row : order - 1];
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
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int row = slot * lanes + at.lane;
            APERTURE_UNROLL
            for (int r = 0; r < sides; ++r) {
                if (rows.exists(row)) {
                    tile.row(order + r)[row] = pivots.info == 0 ? x[slot][r] : T(R(0));
                }
            }
        }
        tile.template store<sides, order>(some, order);
    }
    if (at.exists() && at.lane == 0) {
        p.info(at.problem()) = pivots.info;
        if (!p.pivot_ratio.empty()) p.pivot_ratio(at.problem()) = pivots.ratio();
    }
}

}  // namespace aperture::dense
