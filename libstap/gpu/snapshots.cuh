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
        if (wrapped >= doppler_bins) wrapped %= doppler_bins;
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

/// Two neighbouring range cells, loaded in one piece.
struct alignas(16) CellPair {
    Complex<float> first, second;
};

/// The rows of a training set in global memory that a block works on, [bin of the window][channel]:
/// where they begin. `Bins` neighbouring snapshots share Bins + T - 1 bins, and the L T rows of one
/// of them follow one another, tap by tap.
struct SnapshotRows {
    const Complex<float>** begin;  ///< shared memory
    int channels, taps;

    __device__ __forceinline__ const Complex<float>* tile_row(int q, int tile_row) const {
        return begin[q * channels + tile_row];
    }
    /// Row c T + t of matrix q.
    __device__ __forceinline__ const Complex<float>* row(int q, int row) const {
        return tile_row(q, row % taps * channels + row / taps);
    }
};

/// A cell in global memory, where the address alone does not say that it is.
__device__ __forceinline__ Complex<float> load_cell(const Complex<float>* cell) {
#if defined(__CUDACC__)
    const float2 value = __ldg(reinterpret_cast<const float2*>(cell));
    return {value.x, value.y};
#else
    return *cell;
#endif
}

/// The same for two neighbouring cells at a multiple of 16 bytes.
__device__ __forceinline__ CellPair load_cells(const Complex<float>* cells) {
#if defined(__CUDACC__)
    const float4 values = __ldg(reinterpret_cast<const float4*>(cells));
    return {{values.x, values.y}, {values.z, values.w}};
#else
    return *reinterpret_cast<const CellPair*>(cells);
#endif
}

/// Writes two neighbouring results, which nobody reads soon, at a multiple of 16 bytes: they should
/// not take the place of the cube in the cache.
__device__ __forceinline__ void store_results(Complex<float>* to, Complex<float> first,
                                              Complex<float> second) {
#if defined(__CUDACC__)
    __stcs(reinterpret_cast<float4*>(to), make_float4(first.re, first.im, second.re, second.im));
#else
    *reinterpret_cast<CellPair*>(to) = {first, second};
#endif
}

/// Finds the rows of `window` bins from `first_bin` on. All threads of the block call; a barrier
/// must follow.
template <class Source>
__device__ void find_rows(const SnapshotRows& rows, const Source& source, int first_bin, int window,
                          SetColumns set) {
    for (int i = core::thread_rank(); i < window * rows.channels; i += core::block_threads()) {
        const int bin = i / rows.channels;
        rows.begin[i] =
            source.bin(first_bin, bin, set) + (i - bin * rows.channels) * source.channel_step();
    }
}

/// A tile of these rows in shared memory, [channel][bin of the window], `stride` elements from bin
/// to bin, both strides even.
struct SnapshotTile {
    Complex<float>* data;
    int stride;
    int channel_stride;
    int channels;
    int window;  ///< bins

    __device__ Complex<float>* row(int channel, int bin) const {
        return data + channel * channel_stride + bin * stride;
    }
};

/// Readers of a tile take its columns in groups of as many.
inline constexpr int cells_per_group = 32;

/// The stride of tiles of up to 64 cells, where there is room for it; four elements more than the
/// cells spread rows over the banks.
inline constexpr int usual_tile_stride = 68;

/// Starts the copies that bring `columns` range cells, from column `begin` of the rows on, into the
/// tile, and fills the last group of its rows with zeros; a warp a row. `in_pairs`: rows and
/// `begin` are multiples of 16 bytes. The caller ends it with `commit_copies`, `wait_for_copies`
/// and a barrier.
__device__ inline void load_snapshot_tile(const SnapshotTile& tile, const SnapshotRows& rows,
                                          bool in_pairs, index_t begin, int columns) {
    const int warps = core::block_threads() / core::warp_size;
    const int paired = in_pairs ? columns & ~1 : 0;
    const int filled = (columns + cells_per_group - 1) / cells_per_group * cells_per_group;
    const bool whole = paired == filled && paired <= 2 * core::warp_size;
    const int cell = 2 * core::lane_rank();
    int bin = 0;
    int channel = core::warp_rank();
    APERTURE_NO_UNROLL
    for (int row = channel; row < tile.window * tile.channels; row += warps, channel += warps) {
        while (channel >= tile.channels) {
            channel -= tile.channels;
            ++bin;
        }
        const Complex<float>* from = rows.begin[row] + begin;
        Complex<float>* to = tile.row(channel, bin);
        if (cell < paired) core::copy_async<16>(to + cell, from + cell);
        if (whole) continue;
        APERTURE_NO_UNROLL
        for (int c = cell + 2 * core::warp_size; c < paired; c += 2 * core::warp_size) {
            core::copy_async<16>(to + c, from + c);
        }
        APERTURE_NO_UNROLL
        for (int c = paired + core::lane_rank(); c < filled; c += core::warp_size) {
            if (c < columns) {
                core::copy_async<8>(to + c, from + c);
            } else {
                to[c] = Complex<float>(0);
            }
        }
    }
}

/// `load_snapshot_tile` brought to its end: waits until the block has done with the tile's old
/// contents; then what all threads have loaded is there for all.
__device__ inline void bring_snapshot_tile(const SnapshotTile& tile, const SnapshotRows& rows,
                                           bool in_pairs, index_t begin, int columns) {
    __syncthreads();
    load_snapshot_tile(tile, rows, in_pairs, begin, columns);
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
