// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/block_solve.cuh"
#include "libdense/gpu/solve_arguments.cuh"

namespace aperture::dense {

/// Tiles of right-hand sides per pass of `solve_in_shared`.
inline constexpr int shared_solve_right_hand_side_tiles = 2;

/// Elements of a row-major packed lower triangle.
APERTURE_HD constexpr int packed_elements(int order) { return order * (order + 1) / 2; }

/// Bytes of shared memory of `solve_in_shared`.
template <class T>
APERTURE_HD constexpr int shared_solve_bytes(int order, int row_tiles) {
    const int line = block_side * (row_tiles + shared_solve_right_hand_side_tiles);
    return (packed_elements(order) + 2 * line) * static_cast<int>(sizeof(T)) +
           order * static_cast<int>(sizeof(RealOf<T>));
}

namespace detail {

// Factors a panel of 16 columns from `first` on, rows `first` to `order`, in registers: subtracts
// the contributions of earlier columns (left-looking), factors it, and stores multipliers and
// pivots.
template <int row_tiles, class T>
__device__ void factor_panel(T* packed, RealOf<T>* reciprocals, PublishedLines<T>& lines, int order,
                             int first, Pivots<RealOf<T>>& pivots) {
    using R = RealOf<T>;
    BlockEntries<T, row_tiles, 1> panel;
    panel.ty = static_cast<int>(threadIdx.y);
    panel.tx = static_cast<int>(threadIdx.x);
    const int column = first + panel.tx;
    const int column_start = packed_elements(column);
    APERTURE_UNROLL
    for (int a = 0; a < row_tiles; ++a) {
        const int row = first + block_side * a + panel.ty;
        T entry = T(R(0));
        if (row < order && column < order) {
            entry = row >= column ? packed[packed_elements(row) + column]
                                  : core::conj(packed[column_start + row]);
        }
        panel.entry[a][0] = entry;
    }
    if (column < order) {
        for (int k = 0; k < first; ++k) {
            const T factor = core::conj(packed[column_start + k]) * -reciprocals[k];
            APERTURE_UNROLL
            for (int a = 0; a < row_tiles; ++a) {
                const int row = first + block_side * a + panel.ty;
                if (row < order) {
                    panel.entry[a][0] = core::multiply_add(
                        panel.entry[a][0], packed[packed_elements(row) + k], factor);
                }
            }
        }
    }
    eliminate_in_block<Elimination::below, true, 1>(
        panel, lines, order - first, [&](int k, R pivot) {
            const R reciprocal = pivots.add(first + k, pivot);
            if (core::thread_rank() == 0) reciprocals[first + k] = reciprocal;
            return reciprocal;
        });
    APERTURE_UNROLL
    for (int a = 0; a < row_tiles; ++a) {
        const int row = first + block_side * a + panel.ty;
        if (row < order && row >= column) packed[packed_elements(row) + column] = panel.entry[a][0];
    }
    __syncthreads();
}

// Forward: X := D^-1 L^-1 X, otherwise back-substitution X := L^-H X, with x[a][b] = entry (16 a +
// ty, 16 b + tx). Row k is published; then every thread subtracts its multiple from the rows below
// (above).
template <int row_tiles, int tiles, bool forward, class T>
__device__ void substitute(T (&x)[row_tiles][tiles], const T* packed, const RealOf<T>* reciprocals,
                           PublishedLines<T>& lines, int order) {
    const int ty = static_cast<int>(threadIdx.y);
    const int tx = static_cast<int>(threadIdx.x);
    APERTURE_UNROLL
    for (int t = 0; t < row_tiles; ++t) {
        const int tile = forward ? t : row_tiles - 1 - t;
        const int left = order - block_side * tile;
        const int steps = left < block_side ? left : block_side;
        APERTURE_NO_UNROLL
        for (int step = 0; step < steps; ++step) {
            const int in_tile = forward ? step : steps - 1 - step;
            const int k = block_side * tile + in_tile;
            T* published = lines.row();
            if (ty == in_tile) {
                APERTURE_UNROLL
                for (int b = 0; b < tiles; ++b) {
                    if (forward) x[tile][b] *= reciprocals[k];
                    published[block_side * b + tx] = x[tile][b];
                }
            }
            __syncthreads();
            ++lines.step;
            APERTURE_UNROLL
            for (int a = forward ? tile : 0; a < (forward ? row_tiles : tile + 1); ++a) {
                const int row = block_side * a + ty;
                if (forward ? row <= k || row >= order : row >= k) continue;
                const T factor =
                    forward ? -packed[packed_elements(row) + k]
                            : core::conj(packed[packed_elements(k) + row]) * -reciprocals[row];
                APERTURE_UNROLL
                for (int b = 0; b < tiles; ++b) {
                    x[a][b] = core::multiply_add(x[a][b], factor, published[block_side * b + tx]);
                }
            }
        }
    }
}

}  // namespace detail

/// Solves A X = B with the factor in shared memory, for orders up to 16 row_tiles.
///
/// Thread: entries (16 a + ty, tx) of the panel being factored, then of right-hand sides. Block: 16
/// x 16 threads, one problem: left-looking L D L^H in panels of 16 columns, then 32 right-hand
/// sides at a time. Grid: problems on x.
/// Shared: the packed lower triangle of L D [order (order + 1) / 2] T, two line buffers of 16
/// (row_tiles + 2) T, the pivots' reciprocals [order]; 135 KiB for Complex<double> at order 128.
/// Bytes and flops per problem as for `solve_in_registers`; an Interleaved batch moves a sector
/// (32 bytes) for every element.
/// Source: Higham 2002, ch. 10 (L D L^H); Golub & Van Loan 2013, section 4.2 (blocked,
/// left-looking).
template <class T, int row_tiles>
__global__ void __launch_bounds__(block_side* block_side) solve_in_shared(SolveArguments<T> p) {
    using R = RealOf<T>;
    constexpr int tiles = shared_solve_right_hand_side_tiles;
    const index_t problem = blockIdx.x;
    const int ty = static_cast<int>(threadIdx.y);
    const int tx = static_cast<int>(threadIdx.x);
    const T zero = T(R(0));
    T* packed = core::shared<T>();
    PublishedLines<T> lines{packed + packed_elements(p.order), block_side * row_tiles,
                            block_side * (row_tiles + tiles)};
    R* reciprocals = reinterpret_cast<R*>(lines.shared + 2 * lines.elements);

    for (int row = ty; row < p.order; row += block_side) {
        for (int column = tx; column <= row; column += block_side) {
            packed[packed_elements(row) + column] = p.a(problem, row, column);
        }
    }
    __syncthreads();
    Pivots<R> pivots;
    APERTURE_NO_UNROLL
    for (int first = 0; first < p.order; first += block_side) {
        detail::factor_panel<row_tiles>(packed, reciprocals, lines, p.order, first, pivots);
    }

    APERTURE_NO_UNROLL
    for (int begin = 0; begin < p.right_hand_sides; begin += block_side * tiles) {
        T x[row_tiles][tiles];
        APERTURE_UNROLL
        for (int a = 0; a < row_tiles; ++a) {
            APERTURE_UNROLL
            for (int b = 0; b < tiles; ++b) {
                const int row = block_side * a + ty;
                const int r = begin + block_side * b + tx;
                x[a][b] = row < p.order && r < p.right_hand_sides ? p.x(problem, r, row) : zero;
            }
        }
        detail::substitute<row_tiles, tiles, true>(x, packed, reciprocals, lines, p.order);
        detail::substitute<row_tiles, tiles, false>(x, packed, reciprocals, lines, p.order);
        APERTURE_UNROLL
        for (int a = 0; a < row_tiles; ++a) {
            APERTURE_UNROLL
            for (int b = 0; b < tiles; ++b) {
                const int row = block_side * a + ty;
                const int r = begin + block_side * b + tx;
                if (row < p.order && r < p.right_hand_sides) {
                    p.x(problem, r, row) = pivots.info == 0 ? x[a][b] : zero;
                }
            }
        }
    }
    if (core::thread_rank() == 0) p.report(problem, pivots);
}

}  // namespace aperture::dense
