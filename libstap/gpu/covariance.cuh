// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of outer products over training cells, M(k) = sum_r S(r,k) S(r,k)^H, of `Bins` neighbouring
// Doppler bins at once. Entry ((c,t), (c',t')) of bin k is the product of rows (c, k+t) and (c',
// k+t') of the cube: it depends on the bins k+t and k+t' alone, so that neighbouring bins share
// most of their products. Of the Bins T^2 products of a pair of channels only the band |u - u'| < T
// over the Bins + T - 1 bins of the tile is computed: 24 instead of 36 for T = 3, Bins = 4.
// Source: PERFECT suite, outer-product kernel; Anderson 2014, ch. 4.

#include "libstap/gpu/snapshots.cuh"

namespace aperture::stap::gpu {

/// The lower triangle of a Hermitian matrix in shared memory, packed by rows, or the rows of a
/// square where its upper half is needed as work space.
template <class Real>
struct LowerTriangle {
    Complex<Real>* data;
    int row_stride;  ///< 0: packed

    __device__ __forceinline__ Complex<Real>& operator()(int row, int column) const {
        return data[(row_stride == 0 ? row * (row + 1) / 2 : row * row_stride) + column];
    }
};

/// Entries of a LowerTriangle of order n.
__device__ __host__ inline int triangle_elements(int order, bool square) {
    return square ? order * order : order * (order + 1) / 2;
}

/// Which products one thread forms: those of `channels` x `channels` channels, in registers.
template <int Taps, int Bins>
struct OuterProductTile {
    static constexpr int window = Bins + Taps - 1;
    static constexpr int channels = Taps == 1 ? 2 : 1;
    static constexpr int rows = channels * window;

    /// Whether a bin of the group has both bins u and v of the window among its taps.
    APERTURE_HD static constexpr bool needed(int u, int v) {
        const int high = u > v ? u : v;
        const int low = u > v ? v : u;
        return (high - Taps + 1 > 0 ? high - Taps + 1 : 0) <= (low < Bins - 1 ? low : Bins - 1);
    }
};

template <class Real>
__device__ __forceinline__ Complex<Real> widen(Complex<float> value) {
    return {static_cast<Real>(value.re), static_cast<Real>(value.im)};
}

/// Where the pairs of channel groups that a thread works on lie in the lower triangle of pairs.
struct ChannelPair {
    int row, column;
};
__device__ __forceinline__ ChannelPair channel_pair(int item) {
    int row = 0;
    while ((row + 1) * (row + 2) / 2 <= item) ++row;
    return {row, item - row * (row + 1) / 2};
}

/// The columns of a tile that train: all of `columns` but [excluded_begin, excluded_end).
struct TrainingColumns {
    int columns;
    int excluded_begin, excluded_end;

    __device__ __forceinline__ bool excluded(int cell) const {
        return cell >= excluded_begin && cell < excluded_end;
    }
    __device__ __forceinline__ bool masked() const {
        return excluded_begin < columns && excluded_end > 0 && excluded_begin < excluded_end;
    }
};

/// How sums of a tile enter the triangles: the old value (`keep`) plus or minus the tile's sum.
struct Accumulation {
    bool keep;
    bool subtract;
};

namespace detail {

template <int Taps, int Bins, class Real>
__device__ __forceinline__ void add_outer_products(
    Complex<Real> (&sums)[OuterProductTile<Taps, Bins>::rows][OuterProductTile<Taps, Bins>::rows],
    const Complex<float> (&a)[OuterProductTile<Taps, Bins>::rows],
    const Complex<float> (&b)[OuterProductTile<Taps, Bins>::rows]) {
    using Tile = OuterProductTile<Taps, Bins>;
    APERTURE_UNROLL
    for (int i = 0; i < Tile::rows; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < Tile::rows; ++j) {
            if (Tile::needed(i % Tile::window, j % Tile::window)) {
                sums[i][j] =
                    core::multiply_add_conj(sums[i][j], widen<Real>(a[i]), widen<Real>(b[j]));
            }
        }
    }
}

// Rows of one group of channels at a pair of cells; channels beyond the last repeat it, and cells
// left out give zeros.
template <int Taps, int Bins, bool Masked>
__device__ __forceinline__ void load_rows(
    Complex<float> (&first)[OuterProductTile<Taps, Bins>::rows],
    Complex<float> (&second)[OuterProductTile<Taps, Bins>::rows], const SnapshotTile& tile,
    int channel, int channels, int cell, const TrainingColumns& columns) {
    using Tile = OuterProductTile<Taps, Bins>;
    APERTURE_UNROLL
    for (int i = 0; i < Tile::rows; ++i) {
        const int wanted = channel + i / Tile::window;
        const int c = wanted < channels ? wanted : channels - 1;
        const CellPair pair =
            *reinterpret_cast<const CellPair*>(tile.row(c, i % Tile::window) + cell);
        first[i] = pair.first;
        second[i] = pair.second;
        if constexpr (Masked) {
            if (columns.excluded(cell)) first[i] = Complex<float>(0);
            if (columns.excluded(cell + 1)) second[i] = Complex<float>(0);
        }
    }
}

// The cells of one thread: every splits-th pair.
template <int Taps, int Bins, bool Masked, class Real>
__device__ __forceinline__ void sum_products(
    Complex<Real> (&sums)[OuterProductTile<Taps, Bins>::rows][OuterProductTile<Taps, Bins>::rows],
    const SnapshotTile& tile, ChannelPair pair, int channels, const TrainingColumns& columns,
    int split, int splits) {
    using Tile = OuterProductTile<Taps, Bins>;
    APERTURE_NO_UNROLL
    for (int cell = 2 * split; cell < columns.columns; cell += 2 * splits) {
        Complex<float> a[2][Tile::rows], b[2][Tile::rows];
        load_rows<Taps, Bins, Masked>(a[0], a[1], tile, pair.row * Tile::channels, channels, cell,
                                      columns);
        load_rows<Taps, Bins, Masked>(b[0], b[1], tile, pair.column * Tile::channels, channels,
                                      cell, columns);
        add_outer_products<Taps, Bins, Real>(sums, a[0], b[0]);
        add_outer_products<Taps, Bins, Real>(sums, a[1], b[1]);
    }
}

// Lane `split` of the group that shares a sum writes every splits-th matrix.
template <int Taps, int Bins, bool Keep, class Real>
__device__ __forceinline__ void store_sums(
    const LowerTriangle<Real>& triangles, int triangle_stride,
    const Complex<Real> (
        &sums)[OuterProductTile<Taps, Bins>::rows][OuterProductTile<Taps, Bins>::rows],
    ChannelPair pair, int channels, bool subtract, int split, int splits) {
    using Tile = OuterProductTile<Taps, Bins>;
    const int first_column = pair.column * Tile::channels * Taps;
    APERTURE_UNROLL
    for (int q = 0; q < Bins; ++q) {
        if ((q & (splits - 1)) != split) continue;
        const LowerTriangle<Real> triangle{triangles.data + q * triangle_stride,
                                           triangles.row_stride};
        APERTURE_UNROLL
        for (int i = 0; i < Tile::channels * Taps; ++i) {
            if (pair.row * Tile::channels + i / Taps >= channels) continue;
            const int row = pair.row * Tile::channels * Taps + i;
            Complex<Real>* entries = &triangle(row, first_column);
            APERTURE_UNROLL
            for (int j = 0; j < Tile::channels * Taps; ++j) {
                // Pairs lie in the lower triangle, so that only those of equals reach above it.
                if (j > i && pair.row == pair.column) continue;
                Complex<Real> sum = sums[i / Taps * Tile::window + q + i % Taps]
                                        [j / Taps * Tile::window + q + j % Taps];
                if (i == j && pair.row == pair.column) sum.im = Real(0);
                if constexpr (Keep) sum = subtract ? entries[j] - sum : entries[j] + sum;
                entries[j] = sum;
            }
        }
    }
}

}  // namespace detail

/// Adds the outer products of a tile's training columns to the lower triangles of `Bins` matrices,
/// `triangle_stride` elements apart. `splits` neighbouring lanes (a power of two up to 32) share
/// the cells of one pair of channels, pair of cells by pair of cells, and add up by a butterfly:
/// the order of the sum follows from the tile and `splits` alone. All threads of the block call; a
/// barrier must stand before and after.
template <int Taps, int Bins, class Real>
__device__ void accumulate_covariance(const SnapshotTile& tile, const TrainingColumns& columns,
                                      int channels, const LowerTriangle<Real>& triangles,
                                      int triangle_stride, Accumulation how, int splits) {
    using Tile = OuterProductTile<Taps, Bins>;
    const int groups = (channels + Tile::channels - 1) / Tile::channels;
    const int items = groups * (groups + 1) / 2 * splits;
    const int split = core::thread_rank() & (splits - 1);
    const int first_of_warp = core::warp_rank() * core::warp_size;
    APERTURE_NO_UNROLL
    for (int base = first_of_warp; base < items; base += core::block_threads()) {
        const int item = base + core::lane_rank();
        const bool active = item < items;
        const ChannelPair pair = channel_pair((active ? item : 0) / splits);
        Complex<Real> sums[Tile::rows][Tile::rows];
        APERTURE_UNROLL
        for (int i = 0; i < Tile::rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < Tile::rows; ++j) sums[i][j] = Complex<Real>(Real(0));
        }
        if (active && columns.masked()) {
            detail::sum_products<Taps, Bins, true>(sums, tile, pair, channels, columns, split,
                                                   splits);
        } else if (active) {
            detail::sum_products<Taps, Bins, false>(sums, tile, pair, channels, columns, split,
                                                    splits);
        }
        __syncwarp();
        APERTURE_NO_UNROLL
        for (int distance = splits / 2; distance > 0; distance /= 2) {
            APERTURE_UNROLL
            for (int i = 0; i < Tile::rows; ++i) {
                APERTURE_UNROLL
                for (int j = 0; j < Tile::rows; ++j) {
                    if (Tile::needed(i % Tile::window, j % Tile::window)) {
                        sums[i][j] += core::exchange_xor(sums[i][j], distance);
                    }
                }
            }
        }
        if (active && how.keep) {
            detail::store_sums<Taps, Bins, true>(triangles, triangle_stride, sums, pair, channels,
                                                 how.subtract, split, splits);
        } else if (active) {
            detail::store_sums<Taps, Bins, false>(triangles, triangle_stride, sums, pair, channels,
                                                  false, split, splits);
        }
    }
}

/// Added to the diagonal of every covariance: `value`, or `value` times trace / order.
struct Loading {
    double value;
    bool relative;
};

/// The trace of a sum of outer products, taken in order.
template <class Real>
__device__ Real trace(const LowerTriangle<Real>& sum, int order) {
    Real total = Real(0);
    for (int i = 0; i < order; ++i) total += sum(i, i).re;
    return total;
}

/// What turns the sum over `cells` cells into a covariance: R = scale * sum + diagonal * I.
template <class Real>
struct Normalisation {
    Real scale, diagonal;

    __device__ __forceinline__ Complex<Real> operator()(Complex<Real> sum, bool on_diagonal) const {
        const Complex<Real> mean = sum * scale;
        return {on_diagonal ? mean.re + diagonal : mean.re, mean.im};
    }
};
template <class Real>
__device__ Normalisation<Real> normalisation(const LowerTriangle<Real>& sum, int order, int cells,
                                             const Loading& loading) {
    const Real scale = Real(1) / static_cast<Real>(cells);
    const Real value = static_cast<Real>(loading.value);
    return {scale, loading.relative ? value * trace(sum, order) * scale / static_cast<Real>(order)
                                    : value};
}

}  // namespace aperture::stap::gpu
