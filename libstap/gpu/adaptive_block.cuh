// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Common parts of the staged and fused kernels' blocks: a few neighbouring Doppler bins of one
// training set, their shared memory, and their covariances.

#include "libstap/gpu/weighting.cuh"

namespace aperture::stap::gpu {

/// Compile-time parameters: taps of a snapshot, neighbouring Doppler bins per block, threads per
/// block, and intended blocks per multiprocessor.
template <int taps_, int bins_, int threads_, int blocks_>
struct AdaptivePolicy {
    static constexpr int taps = taps_;
    static constexpr int bins = bins_;
    static constexpr int threads = threads_;
    static constexpr int blocks = blocks_;
    static constexpr int window = bins_ + taps_ - 1;
};

/// Shared memory of a block, from `plan_shared_memory`: offsets in bytes, each a multiple of 16,
/// and sizes.
struct SharedLayout {
    int work;              ///< BlockWork
    int rows;              ///< pointers to the rows of the window, [bin of the window][channel]
    int rows_in_tile;      ///< unsigned short, the rows' offsets in the tile
    int tile;              ///< Complex<float> [channel][bin of the window][tile_stride]
    int sums;              ///< Complex<Real> [bin][triangle_stride], or a ProductBand
    int factors;           ///< Complex<Real> [bin][factor_stride], of RollingSolver
    int weights;           ///< Complex<float> [bin][n][weight_stride]
    int gains;             ///< Gain [bin][weight_stride]
    int forms;             ///< float [bin][forms_stride]
    int right_hand_sides;  ///< Complex<Real> [n][solver_columns]
    int normalisations;    ///< Normalisation<Real> [bin]
    int info;              ///< int [bin]
    int bytes;
    bool apart;   ///< sums and right-hand sides do not share memory
    int columns;  ///< range cells per tile
    int tile_stride, channel_stride, triangle_stride, factor_stride, weight_stride, solver_columns;
};

/// Writes the weights of a block's matrices to [bin][set][vector][row].
__device__ inline void store_weights(const WeightTile& weights, int order, int vectors,
                                     int matrices, int first_bin, index_t set,
                                     const KernelView<Complex<float>, 4>& to) {
    for (int i = core::thread_rank(); i < matrices * order * vectors; i += core::block_threads()) {
        const int d = i % vectors;
        const int row = i / vectors % order;
        const int q = i / vectors / order;
        to(first_bin + q, set, d, row) = weights(q, row, d);
    }
}

/// Writes the covariances of a group, both triangles, to [bin][set][row][column].
template <class Group, class T>
__device__ void store_covariances(const Group& group, int first_bin, index_t set,
                                  const KernelView<Complex<T>, 4>& to) {
    const int entries = group.order * group.order;
    for (int i = core::thread_rank(); i < group.count * entries; i += core::block_threads()) {
        const int q = i / entries;
        const int row = i % entries / group.order;
        const int column = i % group.order;
        const bool lower = row >= column;
        const auto value = group(q, lower ? row : column, lower ? column : row);
        to(first_bin + q, set, row, column) = {static_cast<T>(value.re),
                                               static_cast<T>(lower ? value.im : -value.im)};
    }
}

/// Sets the location of a group's sums.
template <class Real>
__device__ __forceinline__ void place_group(CovarianceGroup<Real>& group, Complex<Real>* sums,
                                            const SharedLayout& layout, int channels, int, int taps,
                                            bool square) {
    group.order = channels * taps;
    group.triangles = {sums, square ? group.order : 0};
    group.triangle_stride = layout.triangle_stride;
}
template <class Real>
__device__ __forceinline__ void place_group(BandGroup<Real>& group, Complex<Real>* sums,
                                            const SharedLayout&, int channels, int window, int taps,
                                            bool) {
    group.order = channels * taps;
    group.taps = taps;
    group.band = {sums, channels, window};
}

/// The work of a block. It is in shared memory because the kernels are short of registers.
struct BlockWork {
    TrainingSet set;
    SetColumns columns;
    int first_bin, matrices;
    bool pairs_of_cells;  ///< cell pairs of a row are 16-byte aligned
};

/// A block's current work and its shared memory by name; needs a barrier before the rows are read.
/// The tile, used for the covariances, and the later parts share memory.
template <class Group, class Policy>
struct AdaptiveBlock;
template <template <class> class Group, class Real, class Policy>
struct AdaptiveBlock<Group<Real>, Policy> {
    const BlockWork* work;
    int order;
    SnapshotRows rows;
    SnapshotTile tile;
    Group<Real> group;
    Normalisation<Real>* normalisations;
    WeightTile weights;
    Gain* gains;
    float* forms;
    int* info;
    SolverSpace<Real> space;

    template <class Source>
    __device__ __forceinline__ AdaptiveBlock(const Source& cube, const TrainingPlan& plan,
                                             index_t sets, bool square, const SharedLayout& layout,
                                             unsigned turn = blockIdx.x) {
        unsigned char* memory = core::shared<unsigned char>();
        const index_t set_index = turn % static_cast<unsigned>(sets);
        const int first_bin = static_cast<int>(turn / static_cast<unsigned>(sets)) * Policy::bins;
        const int left = cube.doppler_bins - first_bin;
        const int matrices = left < Policy::bins ? left : Policy::bins;
        const TrainingSet set = training_set(plan, set_index);
        const SetColumns columns{set_index, set.first - plan.data_begin};
        auto* own = reinterpret_cast<BlockWork*>(memory + layout.work);
        if (core::thread_rank() == 0) {
            *own = {set, columns, first_bin, matrices, cube.aligned_pairs(columns)};
        }
        work = own;
        order = cube.channels * Policy::taps;
        tile = {reinterpret_cast<Complex<float>*>(memory + layout.tile), layout.tile_stride,
                layout.channel_stride, cube.channels, Policy::window};
        rows = {reinterpret_cast<const Complex<float>**>(memory + layout.rows),
                reinterpret_cast<unsigned short*>(memory + layout.rows_in_tile), cube.channels,
                Policy::taps};
        find_rows(rows, tile, cube, first_bin - (Policy::taps - 1) / 2, Policy::window, columns);
        normalisations = reinterpret_cast<Normalisation<Real>*>(memory + layout.normalisations);
        place_group(group, reinterpret_cast<Complex<Real>*>(memory + layout.sums), layout,
                    cube.channels, Policy::window, Policy::taps, square);
        group.normalisations = normalisations;
        group.count = matrices;
        weights = {reinterpret_cast<Complex<float>*>(memory + layout.weights), layout.weight_stride,
                   cube.channels, Policy::taps};
        gains = reinterpret_cast<Gain*>(memory + layout.gains);
        forms = reinterpret_cast<float*>(memory + layout.forms);
        info = reinterpret_cast<int*>(memory + layout.info);
        space = {reinterpret_cast<Complex<Real>*>(memory + layout.right_hand_sides),
                 layout.solver_columns, reinterpret_cast<Complex<Real>*>(memory + layout.factors),
                 layout.factor_stride, layout.apart};
    }
};

/// Computes the sums, the normalisations and thereby the covariances of a block's group. With
/// `total`, the sums over all cells, it subtracts the set's cells from them, and the loading is
/// that of all cells. `loading_of(q)` is the loading of matrix q, `relative` whether any depends on
/// a trace.
template <template <class> class Group, class Real, class Policy, class LoadingOf>
__device__ void estimate_group(const AdaptiveBlock<Group<Real>, Policy>& block,
                               const TrainingPlan& plan, const Complex<Real>* total,
                               LoadingOf loading_of, bool relative, const SharedLayout& layout,
                               int splits) {
    __syncthreads();
    const TrainingSet& set = block.work->set;
    const int q = core::thread_rank();
    if (total != nullptr) {
        const int packed = triangle_elements(block.order, false);
        for (int i = core::thread_rank(); i < block.group.count * packed;
             i += core::block_threads()) {
            const ChannelPair entry = channel_pair(i % packed);
            block.group.set_sum(i / packed, entry.row, entry.column,
                                total[block.work->first_bin * static_cast<index_t>(packed) + i]);
        }
        __syncthreads();
        if (q < block.group.count) {
            Loading loading = loading_of(q);
            loading.absolute *= static_cast<double>(plan.range_cells) / set.training_cells;
            block.normalisations[q] =
                normalisation<Real>(block.group, q, set.training_cells, loading);
        }
    }
    const auto normalise = [&] {
        if (q >= block.group.count) return;
        block.normalisations[q] =
            normalisation<Real>(block.group, q, set.training_cells, loading_of(q));
    };
    if (total == nullptr && !relative) normalise();
    for (int begin = 0; begin < set.cells; begin += layout.columns) {
        const int left = set.cells - begin;
        const int columns = left < layout.columns ? left : layout.columns;
        __syncthreads();
        const bool in_pairs = block.work->pairs_of_cells && begin % 2 == 0;
        load_snapshot_tile(block.tile, block.rows, in_pairs, Policy::window, begin, columns);
        int parts = parts_of_tile(in_pairs, columns);
        const int low = set.excluded_begin > begin ? set.excluded_begin - begin : 0;
        const int high = set.excluded_end < begin + columns ? set.excluded_end - begin : columns;
        if (low < high) {
            core::wait_for_copies<0>();
            clear_cells(block.tile, block.rows, Policy::window, low, high);
            parts = 0;
        }
        accumulate_covariance<Policy::taps, Policy::bins>(
            block.tile, parts, columns, block.group,
            Accumulation{total != nullptr || begin > 0, total != nullptr}, splits);
    }
    __syncthreads();
    if (total == nullptr && relative) {
        normalise();
        __syncthreads();
    }
}

}  // namespace aperture::stap::gpu
