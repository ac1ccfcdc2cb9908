// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "aperture/stap/stages.hpp"
#include "libcore/cpu/simd.hpp"
#include "libcore/cpu/transpose.hpp"
#include "libdense/cpu/lane_batch.hpp"

/// Covariances of neighbouring Doppler bins at once. Bins share products: with x_c(j) the cells of
/// channel c in Doppler bin j, the entry (c,t),(c',t') of bin k is the lag covariance C_delta(c,c')
/// = sum_r x_c(j) conj x_c'(j + delta) at j = k - (T-1)/2 + min(t,t'), delta = |t'-t|, conjugated
/// below the block diagonal. Therefore C_0 (Hermitian) and C_1 .. C_{T-1} are summed once per bin:
/// (T - 1/2) L^2 products per cell instead of T^2 L^2 / 2.
///
/// Bins are in lanes, W to a group. Bins of the next group are loaded at an offset, so neighbouring
/// groups must be contiguous: a ring of two slots [even | odd | copy of even] contains both (even,
/// odd) and (odd, even). (Three slots if a pack is narrower than T - 1 bins.)
namespace aperture::stap::cpu {

/// A group of W Doppler bins, numbered from the first of its segment, and its place in a ring.
template <class Real>
struct Ring {
    static constexpr int width = core::lanes<Real>;
    /// Groups after its own that a group's snapshots extend into, for up to five taps.
    static constexpr int reach = (4 + width - 1) / width;
    static constexpr int slots = reach + 1;
    static constexpr int pitch = (slots + reach) * width;

    static constexpr int slot(index_t group) { return static_cast<int>(group % slots) * width; }
    /// Distance to the copy of `group`, 0 if it needs none.
    static constexpr int copy(index_t group) { return group % slots < reach ? slots * width : 0; }
};

/// Prevents the compiler from reloading `value` at each use: the multiply-adds of a register tile
/// would need more loads than the machine can issue.
template <class Pack>
[[gnu::always_inline]] inline void keep_in_register([[maybe_unused]] Pack& value) {
#if defined(__SSE2__)
    asm("" : "+v"(value));
#endif
}

/// As many floats as a pack of Real has lanes.
template <class Real>
struct FloatsOf {
    using type __attribute__((vector_size(core::lanes<Real> * sizeof(float)))) = float;
    using unaligned __attribute__((vector_size(core::lanes<Real> * sizeof(float)),
                                   aligned(sizeof(float)), may_alias)) = float;
};

/// Layout of cells and sums: planes[cell][channel][re, im][ring],
/// sums[delta][channel][channel'][re, im][ring].
template <class Real>
struct LagCovariance {
    int channels;
    int taps;

    static constexpr index_t element = 2 * Ring<Real>::pitch;
    index_t cell_stride() const { return channels * element; }
    index_t plane_size(index_t cells) const { return cells * cell_stride(); }
    index_t sums_size() const { return index_t{taps} * channels * channels * element; }
    index_t sum(int delta, int row, int column) const {
        return ((index_t{delta} * channels + row) * channels + column) * element;
    }
};

/// Transposes the cells of one channel and W Doppler bins to lanes. Input: (re, im) pairs, each bin
/// at rows + bin * row_stride. Output: planes + cell * cell_stride.
template <class Real>
void transpose_cells(const float* rows, index_t row_stride, index_t cells, index_t group,
                     Real* planes, index_t cell_stride) {
    constexpr int width = core::lanes<Real>;
    const int copy = Ring<Real>::copy(group);
    planes += Ring<Real>::slot(group);
    for (index_t cell = 0; cell < cells; cell += width / 2) {
        core::Pack<Real> square[width];
#pragma GCC unroll 16
        for (int i = 0; i < width; ++i) {
            const float* row = rows + i * row_stride + 2 * cell;
            square[i] = __builtin_convertvector(
                *reinterpret_cast<const typename FloatsOf<Real>::unaligned*>(row),
                core::Pack<Real>);
        }
        core::transpose<Real>(square);
#pragma GCC unroll 16
        for (int j = 0; j < width; ++j) {
            if (j / 2 == cells - cell) break;
            Real* to = planes + (cell + j / 2) * cell_stride + j % 2 * Ring<Real>::pitch;
            core::store(to, square[j]);
            if (copy != 0) core::store(to + copy, square[j]);
        }
    }
}

/// Adds the sum over `cells` cells to a tile of sums, or overwrites the tile with `first`. With
/// `diagonal` only the tile's lower triangle is needed.
template <class Real, int rows, int columns, bool diagonal>
[[gnu::noinline]] void add_lag_tile(const Real* a, const Real* b, index_t cell_stride, int cells,
                                    bool first, index_t group, Real* sums, index_t row_stride) {
    using T = std::complex<Real>;
    constexpr int pitch = Ring<Real>::pitch;
    dense::lanes::Element<T> sum[rows][columns] = {};
    for (int cell = 0; cell < cells; ++cell) {
        dense::lanes::Element<T> left[rows];
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            left[r] = {core::load(a + r * 2 * pitch), core::load(a + (2 * r + 1) * pitch)};
            keep_in_register(left[r].re);
            keep_in_register(left[r].im);
        }
#pragma GCC unroll 4
        for (int c = 0; c < columns; ++c) {
            dense::lanes::Element<T> right = {core::load(b + c * 2 * pitch),
                                              core::load(b + (2 * c + 1) * pitch)};
            keep_in_register(right.re);
            keep_in_register(right.im);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) {
                if (diagonal && c > r) continue;
                sum[r][c].re += left[r].re * right.re;
                sum[r][c].re += left[r].im * right.im;
                if (diagonal && c == r) continue;
                sum[r][c].im += left[r].im * right.re;
                sum[r][c].im -= left[r].re * right.im;
            }
        }
        a += cell_stride;
        b += cell_stride;
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < columns; ++c) {
            if (diagonal && c > r) continue;
            Real* to = sums + Ring<Real>::slot(group) + r * row_stride + c * 2 * pitch;
            if (!first) {
                sum[r][c].re += core::load(to);
                sum[r][c].im += core::load(to + pitch);
            }
            core::store(to, sum[r][c].re);
            core::store(to + pitch, sum[r][c].im);
        }
    }
}

/// Limits of a register tile of lag covariances; it is at most 3 x 3 or 4 x 2.
inline constexpr int most_lag_rows = core::simd_bytes == 64 ? 4 : 2;
inline constexpr int most_lag_columns = core::simd_bytes == 64 ? 3 : 2;

/// Cuts 0 .. size-1 into pieces of nearly equal size, at most `most`.
struct EvenPieces {
    int size;
    int most;
    int count() const { return (size + most - 1) / most; }
    int begin(int piece) const { return size * piece / count(); }
};

template <class Real>
using AddLagTile = void (*)(const Real*, const Real*, index_t, int, bool, index_t, Real*, index_t);

/// Every shape of tile: [rows - 1][columns - 1].
template <class Real, bool diagonal>
inline constexpr auto lag_tiles = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<AddLagTile<Real>, sizeof...(i)>{
        add_lag_tile<Real, i / most_lag_columns + 1, i % most_lag_columns + 1, diagonal>...};
}
(std::make_integer_sequence<int, most_lag_rows * most_lag_columns>{});

/// Adds `cells` cells to the lag covariances of one group of bins for delta < `lags`.
template <class Real>
void add_lag_covariances(const LagCovariance<Real>& lag, int lags, index_t group,
                         const Real* planes, int cells, bool first, Real* sums) {
    const bool tall = most_lag_rows == 4 && lag.channels % 4 == 0;
    const EvenPieces row_tiles{lag.channels, tall ? 4 : most_lag_columns};
    const EvenPieces column_tiles{lag.channels, tall ? 2 : most_lag_columns};
    constexpr int channel_stride = 2 * Ring<Real>::pitch;
    const index_t row_stride = index_t{lag.channels} * channel_stride;
    const Real* here = planes + Ring<Real>::slot(group);
    for (int delta = 0; delta < lags; ++delta) {
        for (int i = 0; i < row_tiles.count(); ++i) {
            const int end = row_tiles.begin(i + 1);
            for (int j = 0; j < column_tiles.count(); ++j) {
                const int column = column_tiles.begin(j);
                const int columns = column_tiles.begin(j + 1) - column;
                const bool diagonal = delta == 0 && column >= row_tiles.begin(i);
                const int row = diagonal ? column : row_tiles.begin(i);
                if (row >= end) break;
                const int shape = (end - row - 1) * most_lag_columns + columns - 1;
                const AddLagTile<Real> add =
                    diagonal ? lag_tiles<Real, true>[shape] : lag_tiles<Real, false>[shape];
                add(here + row * channel_stride, here + column * channel_stride + delta,
                    lag.cell_stride(), cells, first, group, sums + lag.sum(delta, row, column),
                    row_stride);
            }
        }
    }
}

/// Copies the first lanes of a group's sums to the ring's end if required.
template <class Real>
void repeat_sums(const LagCovariance<Real>& lag, index_t group, Real* sums) {
    const int copy = Ring<Real>::copy(group);
    if (lag.taps == 1 || copy == 0) return;
    for (Real* row = sums + Ring<Real>::slot(group); row < sums + lag.sums_size();
         row += Ring<Real>::pitch) {
        core::store(row + copy, core::load(row));
    }
}

/// Mean outer products of the W bins of `group`, lower triangle, from their sums.
template <class Real>
void assemble_covariance(const LagCovariance<Real>& lag, const Real* sums, index_t group,
                         Real scale, const dense::lanes::Matrix<std::complex<Real>>& covariance) {
    const int taps = lag.taps;
    const Real* slot = sums + Ring<Real>::slot(group);
    for (int c = 0; c < lag.channels; ++c) {
        for (int d = 0; d <= c; ++d) {
            for (int t = 0; t < taps; ++t) {
                for (int s = 0; s < (c == d ? t + 1 : taps); ++s) {
                    const bool stored = t <= s;
                    const Real* from =
                        slot + (stored ? lag.sum(s - t, c, d) + t : lag.sum(t - s, d, c) + s);
                    const auto re = core::load(from) * scale;
                    const auto im = core::load(from + Ring<Real>::pitch) * scale;
                    covariance.store(c * taps + t, d * taps + s, {re, stored ? im : -im});
                }
            }
        }
    }
}

}  // namespace aperture::stap::cpu
