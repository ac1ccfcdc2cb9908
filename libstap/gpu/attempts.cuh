// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Attempts after the first. A block of the fp64 kernel checks the fp32 kernel's results of many
// matrices. It repeats untrusted ones, together with the other Doppler bins that share their outer
// products, until they can be factored or attempts are used up. Only those that need it are loaded.

#include "aperture/stap/attempts.hpp"
#include "libstap/gpu/adaptive_block.cuh"

namespace aperture::stap::gpu {

/// Arrays of info, pivot ratios and attempts of a launch.
struct Attempts {
    KernelView<int, 2> info;
    KernelView<float, 2> pivot_ratio;
    KernelView<int, 2> number;  ///< data is null if there is only one attempt
};

/// Current attempt number of matrix `q` of a block.
template <class Block>
__device__ int& attempt_of(const Block& block, const KernelView<int, 2>& number, int q) {
    return number(block.work->first_bin + q, block.work->columns.set);
}

/// Whether matrix `q` needs another attempt after number `attempt`.
template <class Block>
__device__ bool needs_another(const Block& block, const Attempts& attempts, int q, int attempt) {
    const int bin = block.work->first_bin + q;
    const index_t set = block.work->columns.set;
    return stap::needs_another(attempt, attempts.info(bin, set), attempts.pivot_ratio(bin, set),
                               block.order);
}

/// The loading of matrix `q` of a block in its current attempt; `wanted` if attempts are not
/// numbered.
template <class Block>
__device__ Loading loading_at(const Block& block, const KernelView<int, 2>& number, Loading wanted,
                              int q) {
    if (number.data == nullptr) return wanted;
    wanted.relative += automatic_loading(attempt_of(block, number, q));
    return wanted;
}

/// Whether the loading of any matrix of a block depends on its trace. Called by all threads.
template <class Block>
__device__ bool loads_relatively(const Block& block, const KernelView<int, 2>& number,
                                 const Loading& wanted) {
    if (number.data == nullptr) return wanted.relative != 0;
    __syncthreads();
    bool any = false;
    for (int q = 0; q < block.work->matrices; ++q)
        any = any || loading_at(block, number, wanted, q).relative != 0;
    return any;
}

/// Sets all matrices of the block's turns to the first attempt and returns whether any needs
/// another. Each of the `turns` is `bins` Doppler bins and a set. One matrix per thread at a time:
/// usually nothing needs repeating, and the cost is the latency of these loads.
__device__ inline bool any_needs_another(const Attempts& attempts, unsigned turns, index_t sets,
                                         int doppler_bins, int bins, int order) {
    int any = 0;
    const auto width = static_cast<unsigned>(bins);
    const unsigned own = (turns - blockIdx.x + gridDim.x - 1) / gridDim.x * width;
    const auto step = static_cast<unsigned>(core::block_threads());
    for (unsigned i = static_cast<unsigned>(core::thread_rank()); i < own; i += step) {
        const unsigned turn = blockIdx.x + i / width * gridDim.x;
        const index_t set = turn % static_cast<unsigned>(sets);
        const int k = static_cast<int>(turn / static_cast<unsigned>(sets) * width + i % width);
        if (k >= doppler_bins) continue;
        const int info = attempts.info(k, set);
        const float pivot_ratio = attempts.pivot_ratio(k, set);
        attempts.number(k, set) = first_attempt;
        any |= stap::needs_another(first_attempt, info, pivot_ratio, order);
    }
    any = core::block_reduce(any, core::shared<int>(), core::Maximum{});
    __syncthreads();
    return any != 0;
}

/// Starts attempt fp64_attempt for the matrices of a block if any of them needs it or if `always`;
/// returns whether it did. Called by all threads.
template <class Block>
__device__ bool start_repetition(const Block& block, const Attempts& attempts, bool always) {
    __syncthreads();
    bool needed = always;
    for (int q = 0; q < block.work->matrices; ++q) {
        needed = needed || needs_another(block, attempts, q, first_attempt);
    }
    const int own = core::thread_rank();
    if (own < block.work->matrices) {
        attempt_of(block, attempts.number, own) = needed ? fp64_attempt : first_attempt;
    }
    return needed;
}

/// Increments the attempt of the matrices that need another; returns false if none does. Called by
/// all threads.
template <class Block>
__device__ bool repeat_failed(const Block& block, const Attempts& attempts) {
    __syncthreads();
    const auto fails = [&](int q) {
        return needs_another(block, attempts, q, attempt_of(block, attempts.number, q));
    };
    bool any = false;
    for (int q = 0; q < block.work->matrices; ++q) any = any || fails(q);
    const int own = core::thread_rank();
    const bool own_fails = own < block.work->matrices && fails(own);
    __syncthreads();
    if (own_fails) ++attempt_of(block, attempts.number, own);
    return any;
}

}  // namespace aperture::stap::gpu
