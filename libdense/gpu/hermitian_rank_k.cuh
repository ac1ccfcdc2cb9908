// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/batch_checks.hpp"
#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/small_products_launch.cuh"
#include "libdense/gpu/tuning.hpp"

namespace aperture::dense {

/// Threads hold square blocks of the lower triangle of C in registers: per sample 2 tile loads from
/// shared memory for tile^2 multiply-adds; with 4 both take about equally long for Complex<float>.
inline constexpr int rank_k_tile = 4;

/// Block row and column, row >= column.
struct LowerBlock {
    int row, column;
};

/// Number of 4 x 4 blocks in the lower triangle.
APERTURE_HD constexpr int lower_blocks(int order) {
    const int side = (order + rank_k_tile - 1) / rank_k_tile;
    return side * (side + 1) / 2;
}

/// Block `t` of the lower triangle, counted row after row.
__device__ __forceinline__ LowerBlock lower_block(int t) {
    int row = static_cast<int>((sqrtf(8.0f * static_cast<float>(t) + 1.0f) - 1.0f) * 0.5f);
    if ((row + 1) * (row + 2) / 2 <= t) ++row;
    if (row * (row + 1) / 2 > t) --row;
    return {row, t - row * (row + 1) / 2};
}

/// sum[i][j] += sum_{s < samples} rows[s stride + i] conj(columns[s stride + j]).
template <int tile, class T>
__device__ __forceinline__ void accumulate_outer_products(T (&sum)[tile][tile], const T* rows,
                                                          const T* columns, int stride,
                                                          int samples) {
    APERTURE_NO_UNROLL
    for (int s = 0; s < samples; ++s) {
        T row[tile], column[tile];
        APERTURE_UNROLL
        for (int i = 0; i < tile; ++i) {
            row[i] = rows[s * stride + i];
            column[i] = columns[s * stride + i];
        }
        APERTURE_UNROLL
        for (int i = 0; i < tile; ++i) {
            APERTURE_UNROLL
            for (int j = 0; j < tile; ++j) {
                sum[i][j] = core::multiply_add_conj(sum[i][j], row[i], column[j]);
            }
        }
    }
}

/// Adds the sums of the lane that differs in the bits `lane_mask`; both lanes get identical
/// results. All lanes of the warp must call.
template <int tile, class T>
__device__ __forceinline__ void add_other_lanes(T (&sum)[tile][tile], int lane_mask) {
    APERTURE_UNROLL
    for (int i = 0; i < tile; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < tile; ++j) sum[i][j] += core::exchange_xor(sum[i][j], lane_mask);
    }
}

/// Calls `store(row, column, value)` for the block's entries with row >= column and row < order;
/// the diagonal's imaginary part is exactly zero.
template <int tile, class T, class Store>
__device__ __forceinline__ void for_each_lower_entry(const T (&sum)[tile][tile], LowerBlock block,
                                                     int order, Store store) {
    APERTURE_UNROLL
    for (int i = 0; i < tile; ++i) {
        APERTURE_UNROLL
        for (int j = 0; j < tile; ++j) {
            const int row = block.row * tile + i;
            const int column = block.column * tile + j;
            if (row >= order || column > row) continue;
            store(row, column, row == column ? T(core::real_part(sum[i][j])) : sum[i][j]);
        }
    }
}

template <class T>
struct RankKArguments {
    RealOf<T> alpha;
    KernelView<const T, 3> a;
    RealOf<T> beta;
    KernelView<T, 3> c;
    int order;
    int problems_per_block;
    int panel_bits;      ///< log2 of the samples in a panel
    int sample_stride;   ///< elements between samples: order rounded up to the tile, made odd
    int problem_stride;  ///< elements between the panels of two problems, odd too
    int splits;          ///< neighbouring lanes that split a block's samples: 1, 2 or 4
};

/// Loads samples [begin, begin + count) of `valid` problems to shared memory, transposed.
template <class T>
__device__ __forceinline__ void load_panels(T* panels, const RankKArguments<T>& p, index_t first,
                                            int valid, index_t begin, int count) {
    const int panel = 1 << p.panel_bits;
    const int entries = valid * p.order << p.panel_bits;
    const bool problem_fastest = interleaved(p.a);
    for (int i = core::thread_rank(); i < entries; i += core::block_threads()) {
        int problem, row, sample;
        if (problem_fastest) {
            const int entry = i / valid;
            problem = i - entry * valid;
            sample = entry & (panel - 1);
            row = entry >> p.panel_bits;
        } else {
            const int entry = i >> p.panel_bits;
            sample = i & (panel - 1);
            problem = entry / p.order;
            row = entry - problem * p.order;
        }
        if (sample >= count) continue;
        panels[problem * p.problem_stride + sample * p.sample_stride + row] =
            p.a(first + problem, row, begin + sample);
    }
}

/// C = alpha A A^H + beta C.
///
/// Thread: the sum over every `splits`-th sample of one 4 x 4 block of the lower triangle of one
/// problem; `splits` neighbouring lanes then add their sums and store rows of the block and of its
/// mirror image in turn. Block: `problems_per_block` problems; if the lower triangle has more 4 x 4
/// blocks than the block has threads, one problem in several rounds. Grid: ceil(problems /
/// problems_per_block) on x. Shared: [problem][sample][row] T, a panel of samples at a time. Four
/// interleaved sums lose less to rounding than one long sum: for 10,000 fp32 sums of 64 |x|^2 the
/// worst has 133 dB instead of 124.
/// Bytes per problem: sizeof(T) (order samples + order^2), and sizeof(T) order (order + 1) / 2 if
/// beta is not 0. Flops per problem: order (order + 1) samples (times 4 if complex).
/// Source: Anderson 2014, ch. 4 (covariances as sums of outer products).
template <class T>
__global__ void __launch_bounds__(256) hermitian_rank_k_blocks(RankKArguments<T> p) {
    using R = RealOf<T>;
    constexpr int tile = rank_k_tile;
    T* panels = core::shared<T>();
    const int threads = core::block_threads();
    const int blocks = lower_blocks(p.order);
    const index_t first = static_cast<index_t>(blockIdx.x) * p.problems_per_block;
    const index_t left = p.a.extent[0] - first;
    const int valid = static_cast<int>(left < p.problems_per_block ? left : p.problems_per_block);
    const int all_sums = p.problems_per_block * blocks * p.splits;
    const int split = core::thread_rank() & (p.splits - 1);

    APERTURE_NO_UNROLL
    for (int round = 0; round < all_sums; round += threads) {
        const int mine = (round + core::thread_rank()) / p.splits;
        const int local = mine / blocks;
        const bool active = local < valid;
        const LowerBlock block = lower_block(active ? mine - local * blocks : 0);
        const T* vectors =
            panels + (active ? local : 0) * p.problem_stride + split * p.sample_stride;
        T sum[tile][tile] = {};
        APERTURE_NO_UNROLL
        for (index_t begin = 0; begin < p.a.extent[2]; begin += 1 << p.panel_bits) {
            const index_t samples = p.a.extent[2] - begin;
            const int panel = 1 << p.panel_bits;
            const int count = static_cast<int>(samples < panel ? samples : panel);
            __syncthreads();
            load_panels(panels, p, first, valid, begin, count);
            __syncthreads();
            accumulate_outer_products(sum, vectors + tile * block.row,
                                      vectors + tile * block.column, p.splits * p.sample_stride,
                                      (count - split + p.splits - 1) / p.splits);
        }
        APERTURE_NO_UNROLL
        for (int lanes = 1; lanes < p.splits; lanes *= 2) add_other_lanes(sum, lanes);
        if (!active) continue;
        for_each_lower_entry(sum, block, p.order, [&](int row, int column, T value) {
            if ((row & (p.splits - 1)) != split) return;
            T& lower = p.c(first + local, row, column);
            T result = value * p.alpha;
            if (p.beta != R(0)) {
                const T old = lower;
                result = result + (row == column ? T(core::real_part(old)) : old) * p.beta;
            }
            lower = result;
            if (row != column) p.c(first + local, column, row) = core::conj(result);
        });
    }
}

/// `hermitian_rank_k` on a GPU or the SIMT executor.
template <class Executor, class T>
void launch_hermitian_rank_k(Executor& executor, Real<T> alpha,
                             MatrixBatch<const T, typename Executor::Space> a, Real<T> beta,
                             MatrixBatch<T, typename Executor::Space> c) {
    using E = core::DeviceType<T>;
    expects_rank_k(a, c);
    if (c.empty()) return;
    if (detail::update_small(executor, alpha, core::kernel_view(a), beta, core::kernel_view(c))) {
        return;
    }
    const int order = static_cast<int>(c.extent[1]);
    const int blocks = lower_blocks(order);
    const int splits = tuning::rank_k_splits(blocks);
    const int sums = blocks * splits;
    const int problems = std::clamp(tuning::rank_k_threads / sums, 1, tuning::rank_k_most_problems);
    const int threads =
        std::min(core::round_up(problems * sums, core::warp_size), tuning::rank_k_threads);
    RankKArguments<E> arguments{};
    arguments.alpha = alpha;
    arguments.a = core::kernel_view(a);
    arguments.beta = beta;
    arguments.c = core::kernel_view(c);
    arguments.order = order;
    arguments.problems_per_block = problems;
    arguments.splits = splits;
    arguments.sample_stride = core::round_up(order, rank_k_tile) + 1;
    const auto panel_bytes = [&](int bits) {
        return problems * ((arguments.sample_stride << bits) + 1) * static_cast<int>(sizeof(E));
    };
    while (arguments.panel_bits < tuning::rank_k_most_panel_bits &&
           a.extent[2] > 1 << arguments.panel_bits &&
           panel_bytes(arguments.panel_bits + 1) <= tuning::rank_k_panel_bytes) {
        ++arguments.panel_bits;
    }
    arguments.problem_stride = (arguments.sample_stride << arguments.panel_bits) + 1;
    core::launch(executor, hermitian_rank_k_blocks<E>,
                 core::LaunchConfig{dim3(core::blocks_for(c.extent[0], problems)), dim3(threads),
                                    static_cast<std::size_t>(panel_bytes(arguments.panel_bits))},
                 arguments);
}

}  // namespace aperture::dense
