// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/batch_tile.cuh"
#include "libdense/gpu/outer_products.cuh"

#if !defined(__CUDACC_RTC__)
#include <algorithm>

#include "libdense/gpu/batch_view.hpp"
#include "libdense/gpu/tuning.hpp"
#endif

namespace aperture::dense {

inline constexpr int rank_k_tile = 4;

template <class T>
struct RankKArguments {
    RealOf<T> alpha;
    StridedBatch<const T> a;
    RealOf<T> beta;
    StridedBatch<T> c;
    index_t problems;
    index_t samples;
    int order;
    int problems_per_block;
    int samples_per_panel;
    int panel_stride;  ///< elements between samples: order rounded up to the tile, made odd
};

/// C = alpha A A^H + beta C.
///
/// Thread: one 4 x 4 block of the lower triangle of one problem, and its mirror. Block:
/// `problems_per_block` problems, or, for the orders whose lower triangle has more 4 x 4 blocks
/// than the block threads, one problem in several rounds. Grid: ceil(problems /
/// problems_per_block) on x. Shared: [problem][sample][panel_stride] T, `samples_per_panel` samples
/// at a time, transposed from A while loading.
/// Bytes per problem: sizeof(T) (order samples + order^2), and sizeof(T) order (order + 1) / 2
/// where beta is not 0. Flops per problem: order (order + 1) samples (times 4 if complex).
/// Source: Anderson 2014, ch. 4 (covariances as sums of outer products).
template <class T>
__global__ void __launch_bounds__(256) hermitian_rank_k_blocks(RankKArguments<T> p) {
    using R = RealOf<T>;
    constexpr int tile = rank_k_tile;
    T* panel = core::shared<T>();
    const int threads = core::block_threads();
    const int blocks = lower_blocks<tile>(p.order);
    const int problem_panel = p.samples_per_panel * p.panel_stride;
    const index_t first = static_cast<index_t>(blockIdx.x) * p.problems_per_block;
    const int valid = static_cast<int>(
        p.problems - first < p.problems_per_block ? p.problems - first : p.problems_per_block);
    const int all_blocks = p.problems_per_block * blocks;

    APERTURE_NO_UNROLL
    for (int round = 0; round < all_blocks; round += threads) {
        const int mine = round + core::thread_rank();
        const int local = mine / blocks;
        const bool active = mine < all_blocks && local < valid;
        const LowerBlock block = lower_block(active ? mine - local * blocks : 0);
        const T* vectors = panel + (active ? local : 0) * problem_panel;
        T sum[tile][tile];
        clear(sum);
        APERTURE_NO_UNROLL
        for (index_t begin = 0; begin < p.samples; begin += p.samples_per_panel) {
            const index_t left = p.samples - begin;
            const int count =
                static_cast<int>(left < p.samples_per_panel ? left : p.samples_per_panel);
            __syncthreads();
            const int entries = valid * p.order * count;
            for (int i = core::thread_rank(); i < entries; i += threads) {
                int problem, row, sample;
                if (p.a.interleaved()) {
                    problem = i % valid;
                    sample = i / valid % count;
                    row = i / valid / count;
                } else {
                    sample = i % count;
                    row = i / count % p.order;
                    problem = i / count / p.order;
                }
                panel[problem * problem_panel + sample * p.panel_stride + row] =
                    *p.a.address(first + problem, row, begin + sample);
            }
            __syncthreads();
            accumulate_outer_products(sum, vectors + tile * block.row,
                                      vectors + tile * block.column, p.panel_stride, count);
        }
        if (!active) continue;
        for_each_lower_entry(sum, block, p.order, [&](int row, int column, T value) {
            T* lower = p.c.address(first + local, row, column);
            T result = value * p.alpha;
            if (p.beta != R(0)) {
                const T old = *lower;
                result = result + (row == column ? T(core::real_part(old)) : old) * p.beta;
            }
            *lower = result;
            if (row != column) *p.c.address(first + local, column, row) = core::conj(result);
        });
    }
}

#if !defined(__CUDACC_RTC__)

/// `hermitian_rank_k` on a GPU or the SIMT executor.
template <class Executor, class T, class Layout>
void launch_hermitian_rank_k(Executor& executor, Real<T> alpha,
                             MatrixBatch<const T, typename Executor::Space, Layout> a, Real<T> beta,
                             MatrixBatch<T, typename Executor::Space, Layout> c) {
    using E = core::DeviceType<T>;
    core::expects(c.extent[1] == c.extent[2], "hermitian_rank_k: c is ", c.extent[1], " x ",
                  c.extent[2], ", must be square");
    core::expects(c.extent[1] <= max_order, "hermitian_rank_k: order ", c.extent[1], " exceeds ",
                  max_order);
    core::expects(a.extent[0] == c.extent[0] && a.extent[1] == c.extent[1],
                  "hermitian_rank_k: a holds ", a.extent[0], " problems of ", a.extent[1],
                  " rows, c holds ", c.extent[0], " of order ", c.extent[1]);
    RankKArguments<E> arguments{};
    arguments.alpha = alpha;
    arguments.a = strided(a, "a");
    arguments.beta = beta;
    arguments.c = strided(c, "c");
    if (c.empty()) return;
    const int order = static_cast<int>(c.extent[1]);
    const int blocks = lower_blocks<rank_k_tile>(order);
    const int problems =
        std::clamp(tuning::rank_k_threads / blocks, 1, tuning::rank_k_most_problems);
    const int threads = std::min((problems * blocks + 31) / 32 * 32, tuning::rank_k_threads);
    arguments.problems = c.extent[0];
    arguments.samples = a.extent[2];
    arguments.order = order;
    arguments.problems_per_block = problems;
    arguments.panel_stride = (order + rank_k_tile - 1) / rank_k_tile * rank_k_tile + 1;
    const int sample_bytes = problems * arguments.panel_stride * static_cast<int>(sizeof(E));
    const int fitting =
        std::clamp(tuning::rank_k_panel_bytes / sample_bytes, 1, tuning::rank_k_most_samples);
    arguments.samples_per_panel =
        static_cast<int>(std::clamp<index_t>(arguments.samples, 1, fitting));
    core::launch(
        executor, hermitian_rank_k_blocks<E>,
        core::LaunchConfig{dim3(blocks_for(arguments.problems, problems)), dim3(threads),
                           static_cast<std::size_t>(sample_bytes) * arguments.samples_per_panel},
        arguments);
}

#endif

}  // namespace aperture::dense
