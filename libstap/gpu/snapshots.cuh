// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Snapshots of extended factored STAP (PERFECT suite 2013; Ward 1994, section 5.3.2):
// S(r,k)[c T + t] = X[c][(k - (T-1)/2 + t) mod K][r].

#include "libcore/gpu/block.cuh"
#include "libstap/gpu/training_windows.cuh"

namespace aperture::stap::gpu {

/// Where the columns of a training set are read from: set number and its first column in the cube.
struct SetColumns {
    index_t set;
    index_t cube_column;
};

/// Doppler cube [channel][Doppler bin][range cell] in global memory, last stride 1, strides in
/// elements.
struct DopplerCube {
    const Complex<float>* data;
    index_t channel_stride;
    index_t doppler_stride;
    int channels;
    int doppler_bins;

    /// The set's first cell of channel 0 in bin `first_bin` + `bin`, which wraps; `first_bin` may
    /// be < 0. The other channels follow by `channel_step`.
    __device__ const Complex<float>* bin(int first_bin, int bin, SetColumns columns) const {
        int wrapped = first_bin + bin;
        if (wrapped < 0) wrapped += doppler_bins;
        while (wrapped >= doppler_bins) wrapped -= doppler_bins;
        return data + wrapped * doppler_stride + columns.cube_column;
    }
    __device__ index_t channel_step() const { return channel_stride; }
    __device__ bool aligned_pairs(SetColumns columns) const {
        return channel_stride % 2 == 0 && doppler_stride % 2 == 0 &&
               core::detail::aligned<16>(data + columns.cube_column);
    }
};

/// Materialised snapshots [k][b][c T + t][column], last stride 1.
struct SnapshotArray {
    Complex<float>* data;
    index_t bin_stride, set_stride, row_stride;
    int channels;
    int doppler_bins;
    int taps;

    __device__ Complex<float>* bin(int first_bin, int bin, SetColumns columns) const {
        return data + (first_bin + (taps - 1) / 2) * bin_stride + columns.set * set_stride +
               bin * row_stride;
    }
    __device__ index_t channel_step() const { return taps * row_stride; }
    __device__ bool aligned_pairs(SetColumns) const {
        return bin_stride % 2 == 0 && set_stride % 2 == 0 && row_stride % 2 == 0 &&
               core::detail::aligned<16>(data);
    }
};

/// A tile of the cube in shared memory: rows [bin of the window][channel], `stride` elements apart,
/// an even number. `Bins` neighbouring snapshots share Bins + T - 1 bins, and the L T rows of one
/// of them follow one another, tap by tap.
struct SnapshotTile {
    Complex<float>* data;
    int stride;
    int channels;
    int window;  ///< bins

    __device__ Complex<float>* row(int channel, int bin) const {
        return data + (bin * channels + channel) * stride;
    }
};

/// Readers of a tile take its columns in groups of as many.
inline constexpr int cells_per_group = 32;

/// Two neighbouring range cells, loaded in one piece.
struct alignas(16) CellPair {
    Complex<float> first, second;
};

/// Starts the copies that bring `columns` range cells, from column `begin` of a training set on,
/// into the tile, and fills the last group of its rows with zeros; a warp a row. Source is
/// DopplerCube or SnapshotArray. The caller ends it with `commit_copies`, `wait_for_copies` and a
/// barrier.
template <class Source>
__device__ void load_snapshot_tile(const SnapshotTile& tile, const Source& source, int first_bin,
                                   SetColumns set, int begin, int columns) {
    const int warps = core::block_threads() / core::warp_size;
    const int paired = source.aligned_pairs(set) && begin % 2 == 0 ? columns & ~1 : 0;
    const int filled = (columns + cells_per_group - 1) / cells_per_group * cells_per_group;
    const index_t step = source.channel_step();
    int channel = core::warp_rank();
    APERTURE_NO_UNROLL
    for (int bin = 0; bin < tile.window; ++bin, channel -= tile.channels) {
        const Complex<float>* first = source.bin(first_bin, bin, set) + begin;
        APERTURE_NO_UNROLL
        for (; channel < tile.channels; channel += warps) {
            const Complex<float>* from = first + channel * step;
            Complex<float>* to = tile.row(channel, bin);
            int cell = 2 * core::lane_rank();
            if (cell < paired) core::copy_async<16>(to + cell, from + cell);
            if (paired == filled && paired <= 2 * core::warp_size) continue;
            APERTURE_NO_UNROLL
            for (cell += 2 * core::warp_size; cell < paired; cell += 2 * core::warp_size) {
                core::copy_async<16>(to + cell, from + cell);
            }
            APERTURE_NO_UNROLL
            for (cell = paired + core::lane_rank(); cell < filled; cell += core::warp_size) {
                if (cell < columns) {
                    core::copy_async<8>(to + cell, from + cell);
                } else {
                    to[cell] = Complex<float>(0);
                }
            }
        }
    }
}

/// `load_snapshot_tile` brought to its end: waits until the block has done with the tile's old
/// contents; then what all threads have loaded is there for all.
template <class Source>
__device__ void bring_snapshot_tile(const SnapshotTile& tile, const Source& source, int first_bin,
                                    SetColumns set, int begin, int columns) {
    __syncthreads();
    load_snapshot_tile(tile, source, first_bin, set, begin, columns);
    core::commit_copies();
    core::wait_for_copies<0>();
    __syncthreads();
}

inline constexpr int extraction_threads = 128;

/// Snapshot extraction. One block copies one training set of one Doppler bin, a warp a row, a lane
/// every 32nd range cell. Grid: bins x sets on x, sets fastest. No shared memory. Bytes per
/// snapshot element: 8 read (each cube sample is read by T neighbouring bins), 8 written; no flops.
/// Source: PERFECT suite, extract_snapshot.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    extract_snapshots_kernel(DopplerCube cube, TrainingPlan plan, index_t sets,
                             SnapshotArray snapshots) {
    const int k = static_cast<int>(blockIdx.x / static_cast<unsigned>(sets));
    const index_t b = blockIdx.x % static_cast<unsigned>(sets);
    const TrainingSet set = training_set(plan, b);
    const SetColumns columns{b, set.first - plan.data_begin};
    const int first_bin = k - (snapshots.taps - 1) / 2;
    const int warps = core::block_threads() / core::warp_size;
    for (int row = core::warp_rank(); row < cube.channels * snapshots.taps; row += warps) {
        const int channel = row / snapshots.taps;
        const int tap = row - channel * snapshots.taps;
        const Complex<float>* from =
            cube.bin(first_bin, tap, columns) + channel * cube.channel_step();
        Complex<float>* to =
            snapshots.bin(first_bin, tap, columns) + channel * snapshots.channel_step();
        for (int cell = core::lane_rank(); cell < set.cells; cell += core::warp_size) {
            to[cell] = from[cell];
        }
    }
}

}  // namespace aperture::stap::gpu
