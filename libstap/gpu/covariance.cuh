// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of outer products over training cells, M(k) = sum_r S(r,k) S(r,k)^H, of `Bins` neighbouring
// Doppler bins at once. Entry ((c,t), (c',t')) of bin k is the product of rows (c, k+t) and (c',
// k+t') of the cube: it depends on bins k+t and k+t' only, so that neighbouring bins share most of
// their products. Of the Bins T^2 products of a pair of channels only the band |u - u'| < T over
// the Bins + T - 1 bins of the tile is computed: 24 instead of 36 for T = 3, Bins = 4.
// Source: PERFECT suite, outer-product kernel; Anderson 2014, ch. 4.

#include "libcore/gpu/tensor_core.cuh"
#include "libstap/gpu/covariance_groups.cuh"
#include "libstap/gpu/snapshots.cuh"

namespace aperture::stap::gpu {

/// Channels of a thread's tile of products.
APERTURE_HD constexpr int channels_of_tile(int taps) { return taps == 1 ? 2 : 1; }

/// Whether bins u and v of a window are both among the taps of one of `bins` neighbouring bins.
APERTURE_HD constexpr bool share_a_snapshot(int taps, int bins, int u, int v) {
    const int high = u > v ? u : v;
    const int low = u > v ? v : u;
    return (high - taps + 1 > 0 ? high - taps + 1 : 0) <= (low < bins - 1 ? low : bins - 1);
}

/// Neighbouring bins that fit a thread's registers; eight are processed in two parts.
APERTURE_HD constexpr int bins_of_part(int bins) { return bins > 4 ? 4 : bins; }

template <class Real>
__device__ __forceinline__ Complex<Real> widen(Complex<float> value) {
    return {static_cast<Real>(value.re), static_cast<Real>(value.im)};
}

/// Position of a thread's pair of channel groups in the lower triangle of pairs.
struct ChannelPair {
    int row, column;
};
__device__ __forceinline__ ChannelPair channel_pair(int item) {
    int row = 0;
    while ((row + 1) * (row + 2) / 2 <= item) ++row;
    return {row, item - row * (row + 1) / 2};
}

/// How a tile's sums update the triangles: the old value (`keep`) plus or minus the tile's sum.
struct Accumulation {
    bool keep;
    bool subtract;
};

template <bool Keep, class Real>
__device__ __forceinline__ void put_sum(Complex<Real>& entry, Complex<Real> sum, bool subtract) {
    if constexpr (Keep) sum = subtract ? entry - sum : entry + sum;
    entry = sum;
}

/// The products of one thread, in registers: of the `channels` x `channels` channels of a pair, for
/// the part of a block's matrices that begins with `first`. `splits` neighbouring lanes share the
/// cells, of which this one is number `split`.
template <int Taps, int Bins, class Real>
class OuterProducts {
  public:
    static constexpr int window = Bins + Taps - 1;
    static constexpr int channels = channels_of_tile(Taps);
    static constexpr int rows = channels * window;

    __device__ __forceinline__ OuterProducts(int all_channels, ChannelPair pair, int first,
                                             int split, int splits)
        : all_channels_(all_channels), pair_(pair), first_(first), split_(split), splits_(splits) {
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < rows; ++j) sums_[i][j] = Complex<Real>(Real(0));
        }
    }

    /// Adds the thread's cells, every splits-th pair. Stride: the tile's if known, else 0.
    template <int Stride>
    __device__ __forceinline__ void add(SnapshotTile tile, int columns) {
        if constexpr (Stride > 0) tile.stride = Stride;
        APERTURE_NO_UNROLL
        for (int cell = 2 * split_; cell < columns; cell += 2 * splits_) {
            Complex<float> a[2][rows], b[2][rows];
            load_rows(a, tile, pair_.row * channels, cell);
            load_rows(b, tile, pair_.column * channels, cell);
            add_cell(a[0], b[0]);
            add_cell(a[1], b[1]);
        }
    }

    /// Adds up the lanes' sums by a butterfly.
    __device__ __forceinline__ void combine() {
        APERTURE_NO_UNROLL
        for (int distance = splits_ / 2; distance > 0; distance /= 2) {
            APERTURE_UNROLL
            for (int i = 0; i < rows; ++i) {
                APERTURE_UNROLL
                for (int j = 0; j < rows; ++j) {
                    if (needed(i, j)) sums_[i][j] += core::exchange_xor(sums_[i][j], distance);
                }
            }
        }
    }

    /// Stores every splits-th matrix.
    template <bool Keep>
    __device__ __forceinline__ void store(const CovarianceGroup<Real>& group, bool subtract) const {
        const int first_column = pair_.column * channels * Taps;
        APERTURE_UNROLL
        for (int q = 0; q < Bins; ++q) {
            if ((q & (splits_ - 1)) != split_) continue;
            const LowerTriangle<Real> triangle = group.triangle(first_ + q);
            APERTURE_UNROLL
            for (int i = 0; i < channels * Taps; ++i) {
                if (pair_.row * channels + i / Taps >= all_channels_) continue;
                const int row = pair_.row * channels * Taps + i;
                Complex<Real>* entries = &triangle(row, first_column);
                APERTURE_UNROLL
                for (int j = 0; j < channels * Taps; ++j) {
                    // Pairs lie in the lower triangle; only diagonal pairs have entries above it.
                    if (j > i && pair_.row == pair_.column) continue;
                    Complex<Real> sum =
                        sums_[i / Taps * window + q + i % Taps][j / Taps * window + q + j % Taps];
                    if (i == j && pair_.row == pair_.column) sum.im = Real(0);
                    put_sum<Keep>(entries[j], sum, subtract);
                }
            }
        }
    }

    /// Stores every splits-th bin. Products common to two parts are stored by the first.
    template <bool Keep>
    __device__ __forceinline__ void store(const BandGroup<Real>& group, bool subtract) const {
        static_assert(channels == 1);
        const bool same = pair_.row == pair_.column;
        const int below = pair_.row * all_channels_ + pair_.column;
        const int above = pair_.column * all_channels_ + pair_.row;
        APERTURE_UNROLL
        for (int u = 0; u < window; ++u) {
            if ((u & (splits_ - 1)) != split_) continue;
            APERTURE_UNROLL
            for (int v = u; v < window; ++v) {
                if (!needed(u, v) || (v < Taps - 1 && first_ > 0)) continue;
                Complex<Real>* block = group.band.block(first_ + u, first_ + v);
                if (u == v) {
                    Complex<Real> sum = sums_[u][u];
                    if (same) sum.im = Real(0);
                    put_sum<Keep>(block[group.band.in_triangle(pair_.row, pair_.column)], sum,
                                  subtract);
                } else {
                    put_sum<Keep>(block[below], sums_[u][v], subtract);
                    if (!same) put_sum<Keep>(block[above], core::conj(sums_[v][u]), subtract);
                }
            }
        }
    }

  private:
    /// Whether a sum is that of products of some matrix.
    __device__ static constexpr bool needed(int row, int column) {
        return share_a_snapshot(Taps, Bins, row % window, column % window);
    }

    /// Loads the rows of a group of channels at a pair of cells; channels beyond the last repeat
    /// it.
    __device__ __forceinline__ void load_rows(Complex<float> (&cells)[2][rows],
                                              const SnapshotTile& tile, int channel,
                                              int cell) const {
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            const int wanted = channel + i / window;
            const int c = wanted < all_channels_ ? wanted : all_channels_ - 1;
            const CellPair pair =
                *reinterpret_cast<const CellPair*>(tile.row(c, i % window) + cell);
            cells[0][i] = pair.first;
            cells[1][i] = pair.second;
        }
    }

    __device__ __forceinline__ void add_cell(const Complex<float> (&a)[rows],
                                             const Complex<float> (&b)[rows]) {
        APERTURE_UNROLL
        for (int i = 0; i < rows; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < rows; ++j) {
                if (needed(i, j)) {
                    sums_[i][j] =
                        core::multiply_add_conj(sums_[i][j], widen<Real>(a[i]), widen<Real>(b[j]));
                }
            }
        }
    }

    int all_channels_;
    ChannelPair pair_;
    int first_, split_, splits_;
    Complex<Real> sums_[rows][rows];
};

/// Adds the outer products of a tile's training columns to the sums of `Bins` matrices. `splits`
/// neighbouring lanes (a power of two up to 32) split the cells of a pair of channels, in pairs of
/// cells, and add up by a butterfly: the order of summation depends on the tile and `splits` only.
/// `parts` copies of the tile are still in flight. Called by all threads of the block; a barrier
/// must follow.
template <int Taps, int Bins, class Real, template <class> class Group>
__device__ void accumulate_covariance(const SnapshotTile& tile, int parts, int columns,
                                      const Group<Real>& group, Accumulation how, int splits) {
    if (parts > 0) wait_for_part(0);
    constexpr int bins = bins_of_part(Bins);
    constexpr int tile_channels = channels_of_tile(Taps);
    const int channels = tile.channels;
    const int groups = (channels + tile_channels - 1) / tile_channels;
    const int pairs = groups * (groups + 1) / 2;
    const int items = pairs * (Bins / bins) * splits;
    const int split = core::thread_rank() & (splits - 1);
    const int first_of_warp = core::warp_rank() * core::warp_size;
    APERTURE_NO_UNROLL
    for (int base = first_of_warp; base < items; base += core::block_threads()) {
        const int item = base + core::lane_rank();
        const bool active = item < items;
        int unit = (active ? item : 0) / splits;
        int first = 0;
        APERTURE_UNROLL
        for (int part = bins; part < Bins; part += bins) {
            if (unit >= pairs) {
                unit -= pairs;
                first = part;
            }
        }
        const SnapshotTile rows{tile.row(0, first), tile.stride, tile.channel_stride, tile.channels,
                                tile.window};
        OuterProducts<Taps, bins, Real> sums(channels, channel_pair(unit), first, split, splits);
        if (active && tile.stride == usual_tile_stride) {
            sums.template add<usual_tile_stride>(rows, columns);
        } else if (active) {
            sums.template add<0>(rows, columns);
        }
        __syncwarp();
        sums.combine();
        if (active && how.keep) {
            sums.template store<true>(group, how.subtract);
        } else if (active) {
            sums.template store<false>(group, false);
        }
    }
}

/// The same for 8 bins of up to 8 channels, T = 3, by four warps on tensor cores. Warp w computes
/// the blocks of the band with low bin 2 w or 2 w + 1, the last warp also those behind. Tensor
/// cores round toward zero; therefore sums of 16 cells are added up in fp32, with a correction of
/// the truncation.
template <int Taps, int Bins>
__device__ void accumulate_covariance(const SnapshotTile& tile, int parts, int columns,
                                      const BandGroup<float>& group, Accumulation how, int) {
    static_assert(Taps == 3 && Bins == 8);
    constexpr int bins = 4;
    // Corrects the mean truncation of the 12 additions of a part, for powers that grow evenly.
    constexpr float truncation_factor = 1.0f + 0x1p-22f;
    constexpr int blocks = 9;
    constexpr int own_blocks = 6;
    constexpr int low_of[blocks] = {0, 0, 0, 1, 1, 1, 2, 2, 3};
    constexpr int high_of[blocks] = {0, 1, 2, 1, 2, 3, 2, 3, 3};
    const int channels = tile.channels;
    const int first_bin = 2 * core::warp_rank();
    const bool last = first_bin + bins == tile.window;
    const int row = core::lane_rank() / 4;
    const int place = core::lane_rank() % 4;
    const Complex<float>* x = tile.row(row < channels ? row : channels - 1, first_bin) + place;
    float sums[blocks][4];
    APERTURE_UNROLL
    for (int i = 0; i < blocks; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < 4; ++j) sums[i][j] = 0.0f;
    }
    APERTURE_NO_UNROLL
    for (int begin = 0; begin < columns; begin += cells_per_part) {
        if (parts > 0) wait_for_part(--parts);
        core::ConjugateProduct part[blocks];
        APERTURE_NO_UNROLL
        for (int cell = begin; cell < begin + cells_per_part; cell += 4) {
            Complex<float> values[bins];
            APERTURE_UNROLL
            for (int b = 0; b < bins; ++b) {
                values[b] = x[b * tile.stride + cell];
            }
            const core::LeftFactor low[bins] = {
                core::LeftFactor(values[0]), core::LeftFactor(values[1]),
                core::LeftFactor(values[2]), core::LeftFactor(values[3])};
            const core::RightFactor high[bins] = {
                core::RightFactor(values[0]), core::RightFactor(values[1]),
                core::RightFactor(values[2]), core::RightFactor(values[3])};
            const auto add = [&](int i, int which) {
                part[i].add(which, low[low_of[i]], high[high_of[i]]);
            };
            APERTURE_UNROLL
            for (int which = 0; which < core::ConjugateProduct::parts; ++which) {
                APERTURE_UNROLL
                for (int i = 0; i < own_blocks; ++i) add(i, which);
            }
            if (last) {
                APERTURE_UNROLL
                for (int which = 0; which < core::ConjugateProduct::parts; ++which) {
                    APERTURE_UNROLL
                    for (int i = own_blocks; i < blocks; ++i) add(i, which);
                }
            }
        }
        APERTURE_UNROLL
        for (int i = 0; i < blocks; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < 4; ++j) {
                sums[i][j] = fmaf(part[i].sums[j], truncation_factor, sums[i][j]);
            }
        }
    }
    if (row >= channels) return;
    APERTURE_UNROLL
    for (int i = 0; i < blocks; ++i) {
        if (i >= own_blocks && !last) break;
        const int u = first_bin + low_of[i];
        Complex<float>* block = group.band.block(u, first_bin + high_of[i]);
        APERTURE_UNROLL
        for (int j = 0; j < 2; ++j) {
            const int column = 2 * place + j;
            const bool diagonal = low_of[i] == high_of[i];
            if (column >= (diagonal ? row + 1 : channels)) continue;
            // The factors yield conj(low) high, a block stores low conj(high).
            Complex<float> sum(sums[i][j], -sums[i][j + 2]);
            if (diagonal && column == row) sum.im = 0.0f;
            Complex<float>& entry =
                block[diagonal ? group.band.in_triangle(row, column) : row * channels + column];
            if (how.keep) {
                put_sum<true>(entry, sum, how.subtract);
            } else {
                put_sum<false>(entry, sum, false);
            }
        }
    }
}

}  // namespace aperture::stap::gpu
