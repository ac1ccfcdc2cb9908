// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Snapshots of extended factored STAP (PERFECT suite 2013; Ward 1994, section 5.3.2):
// S(r,k)[c T + t] = X[c][(k - (T-1)/2 + t) mod K][r].

#include "libcore/gpu/block.cuh"
#include "libstap/gpu/training_windows.cuh"

namespace aperture::stap::gpu {

/// A training set's number and its first column in the cube.
struct SetColumns {
    index_t set;
    index_t cube_column;
};

/// Doppler cube in global memory.
struct DopplerCube {
    KernelView<const Complex<float>, 3> cells;  ///< [channel][Doppler bin][range cell], contiguous
    int channels;
    int doppler_bins;

    /// The set's first cell of channel 0 in bin `first_bin` + `bin`, which wraps; `first_bin` may
    /// be < 0. Channels are `channel_step` apart.
    __device__ const Complex<float>* bin(int first_bin, int bin, SetColumns columns) const {
        int wrapped = first_bin + bin;
        if (wrapped < 0) wrapped += doppler_bins;
        if (wrapped >= doppler_bins) wrapped %= doppler_bins;
        return cells[0][wrapped].data + columns.cube_column;
    }
    __device__ index_t channel_step() const { return cells.stride[0]; }
    __device__ bool aligned_pairs(SetColumns columns) const {
        return cells.stride[0] % 2 == 0 && cells.stride[1] % 2 == 0 &&
               core::detail::aligned<16>(cells.data + columns.cube_column);
    }
};

/// Materialised snapshots.
struct SnapshotArray {
    KernelView<Complex<float>, 4> cells;  ///< [k][b][c T + t][column], contiguous
    int channels;
    int doppler_bins;
    int taps;

    __device__ Complex<float>* bin(int first_bin, int bin, SetColumns columns) const {
        return cells.data + (first_bin + (taps - 1) / 2) * cells.stride[0] +
               columns.set * cells.stride[1] + bin * cells.stride[2];
    }
    __device__ index_t channel_step() const { return taps * cells.stride[2]; }
    __device__ bool aligned_pairs(SetColumns) const {
        return cells.stride[0] % 2 == 0 && cells.stride[1] % 2 == 0 && cells.stride[2] % 2 == 0 &&
               core::detail::aligned<16>(cells.data);
    }
};

/// Two neighbouring range cells, loaded in one piece.
struct alignas(16) CellPair {
    Complex<float> first, second;
};

/// Pointers to the rows of a block's training set in global memory, [bin of the window][channel].
/// `Bins` neighbouring snapshots share Bins + T - 1 bins; the L T rows of one snapshot are
/// consecutive, tap by tap.
struct SnapshotRows {
    const Complex<float>** begin;  ///< shared memory
    unsigned short* in_tile;       ///< shared memory: offset of a row in a tile, in elements
    int channels, taps;

    __device__ __forceinline__ const Complex<float>* tile_row(int q, int tile_row) const {
        return begin[q * channels + tile_row];
    }
    /// The same; rows beyond the last repeat it.
    __device__ __forceinline__ const Complex<float>* padded_row(int q, int row) const {
        const int last = channels * taps - 1;
        return tile_row(q, row < last ? row : last);
    }
    /// Row c T + t of matrix q.
    __device__ __forceinline__ const Complex<float>* row(int q, int row) const {
        return tile_row(q, row % taps * channels + row / taps);
    }
};

/// Loads a cell from global memory; the compiler cannot infer the memory space.
__device__ __forceinline__ Complex<float> load_cell(const Complex<float>* cell) {
#if defined(__CUDACC__)
    const float2 value = __ldg(reinterpret_cast<const float2*>(cell));
    return {value.x, value.y};
#else
    return *cell;
#endif
}

/// The same for two neighbouring cells, 16-byte aligned.
__device__ __forceinline__ CellPair load_cells(const Complex<float>* cells) {
#if defined(__CUDACC__)
    const float4 values = __ldg(reinterpret_cast<const float4*>(cells));
    return {{values.x, values.y}, {values.z, values.w}};
#else
    return *reinterpret_cast<const CellPair*>(cells);
#endif
}

/// Stores two neighbouring results, 16-byte aligned, with a streaming hint: they should not evict
/// the cube from the cache.
__device__ __forceinline__ void store_results(Complex<float>* to, Complex<float> first,
                                              Complex<float> second) {
#if defined(__CUDACC__)
    __stcs(reinterpret_cast<float4*>(to), make_float4(first.re, first.im, second.re, second.im));
#else
    *reinterpret_cast<CellPair*>(to) = {first, second};
#endif
}

/// A tile of these rows in shared memory, [channel][bin of the window], bins `stride` elements
/// apart; both strides are even.
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

/// Readers of a tile process its columns in groups of this size.
inline constexpr int cells_per_group = 32;

/// The stride of tiles of up to 64 cells, if memory suffices; four elements more than the cells
/// avoid bank conflicts.
inline constexpr int usual_tile_stride = 68;

/// Computes the rows of `window` bins from `first_bin` on. Called by all threads of the block; a
/// barrier must follow.
template <class Source>
__device__ void find_rows(const SnapshotRows& rows, const SnapshotTile& tile, const Source& source,
                          int first_bin, int window, SetColumns set) {
    for (int i = core::thread_rank(); i < window * rows.channels; i += core::block_threads()) {
        const int bin = i / rows.channels;
        const int channel = i - bin * rows.channels;
        rows.begin[i] = source.bin(first_bin, bin, set) + channel * source.channel_step();
        rows.in_tile[i] =
            static_cast<unsigned short>(channel * tile.channel_stride + bin * tile.stride);
    }
}

/// Cells per copy group if a tile is loaded in parts, so that work on the first part can begin
/// before the last has arrived.
inline constexpr int cells_per_part = 16;

/// Parts in which `load_snapshot_tile` loads a tile.
__device__ __forceinline__ int parts_of_tile(bool in_pairs, int columns) {
    const bool even = in_pairs && columns % cells_per_part == 0 && columns <= 4 * cells_per_part;
    return even ? columns / cells_per_part : 1;
}

/// Starts asynchronous copies of `columns` range cells, from column `begin` of the rows on, to the
/// tile, and zero-fills the last group of its rows. `in_pairs`: rows and `begin` are 16-byte
/// aligned. The caller must wait for the parts and synchronise the block.
__device__ inline void load_snapshot_tile(const SnapshotTile& tile, const SnapshotRows& rows,
                                          bool in_pairs, int window, index_t begin, int columns) {
    const int count = window * tile.channels;
    const int filled = (columns + cells_per_group - 1) / cells_per_group * cells_per_group;
    const int parts = parts_of_tile(in_pairs, columns);
    if (parts > 1) {
        const int lane = core::lane_rank();
        int cell = lane % 8 * 2;
        APERTURE_NO_UNROLL
        for (int part = 0; part < parts; ++part, cell += cells_per_part) {
            APERTURE_NO_UNROLL
            for (int row = core::thread_rank() / 8; row < count; row += core::block_threads() / 8) {
                core::copy_async<16>(tile.data + rows.in_tile[row] + cell,
                                     rows.begin[row] + begin + cell);
            }
            core::commit_copies();
        }
        in_pairs = false;
        if (filled == columns) return;
    }
    const int warps = core::block_threads() / core::warp_size;
    const int paired = parts > 1 ? columns : in_pairs ? columns & ~1 : 0;
    APERTURE_NO_UNROLL
    for (int row = core::warp_rank(); row < count; row += warps) {
        const Complex<float>* from = rows.begin[row] + begin;
        Complex<float>* to = tile.data + rows.in_tile[row];
        APERTURE_NO_UNROLL
        for (int c = 2 * core::lane_rank(); in_pairs && c < paired; c += 2 * core::warp_size) {
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
    if (parts == 1) core::commit_copies();
}

/// Waits until all parts of the tile except the `later` last have arrived, for the whole block.
__device__ __forceinline__ void wait_for_part(int later) {
    if (later >= 3) {
        core::wait_for_copies<3>();
    } else if (later == 2) {
        core::wait_for_copies<2>();
    } else if (later == 1) {
        core::wait_for_copies<1>();
    } else {
        core::wait_for_copies<0>();
    }
    __syncthreads();
}

/// Zeroes cells [begin, end) of all rows of a tile, which excludes them from training. Begins and
/// ends with a barrier.
__device__ inline void clear_cells(const SnapshotTile& tile, const SnapshotRows& rows, int window,
                                   int begin, int end) {
    __syncthreads();
    const int cells = end - begin;
    for (int i = core::thread_rank(); i < window * tile.channels * cells;
         i += core::block_threads()) {
        const int row = i / cells;
        tile.data[rows.in_tile[row] + begin + i - row * cells] = Complex<float>(0);
    }
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
