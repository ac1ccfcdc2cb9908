// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::stap::gpu {

/// Work partition of the adaptive kernels (docs/notes/stap_gpu.md has the operation counts).
struct AdaptiveTuning {
    int bins;      ///< neighbouring Doppler bins per block; they share outer products
    int threads;   ///< of a block
    int lanes;     ///< threads per matrix in registers; 0: all threads, in shared memory
    int slots;     ///< columns of R, or of [R | v] with Gauss-Jordan, per thread
    int blocks;    ///< intended per multiprocessor
    int head = 0;  ///< rows that neighbouring bins' matrices eliminate together
};

/// Registers of a thread with `slots` columns of `words` 4-byte words, including those for
/// addresses and a pivot row.
constexpr int registers_needed(int slots, int words) {
    const int solver = slots * words + 56;
    return solver < 128 ? 128 : solver;
}

/// Blocks per multiprocessor that spread their warps evenly over its four schedulers, each with 512
/// registers a lane.
constexpr int blocks_of(int threads, int registers) {
    const int warps_of_scheduler = 512 / (registers < 255 ? registers : 255);
    const int blocks = 4 * 32 * warps_of_scheduler / threads;
    return blocks > 8 ? 8 : blocks;
}

/// Neighbouring Doppler bins with products that still fit the registers: 24 of 36 products for T =
/// 3 and four bins, 34 of 50 for T = 5 and two. NVIDIA H200, PERFECT medium / large: four bins 81 /
/// 469 us, two 95 / 688.
constexpr int bins_per_block(int taps) { return taps == 5 ? 2 : 4; }

/// RollingSolver, Cholesky: one column of R per lane, so that the registers allow 16 warps per
/// multiprocessor and all warps of a block eliminate. If a warp has lanes for the columns that two
/// neighbouring matrices do not share, it processes both: eight bins a block. NVIDIA H200, PERFECT
/// medium / large in us, the kernel in a stream of calls: 39.8 / 182 against 53.1 / 274 with a
/// matrix per warp and four bins; docs/notes/stap_gpu.md has the earlier versions.
constexpr AdaptiveTuning rolling_tuning(int order, int taps, bool fp64) {
    if (order > 32) return {1, 128, 0, 0, 2};
    const int lanes = order <= 8 ? 8 : order <= 16 ? 16 : 32;
    const int registers = registers_needed(1, order * (fp64 ? 4 : 2)) + (fp64 ? 40 : 0);
    const int tail = order / taps;
    if (taps == 3 && lanes == 32 && order + tail <= lanes) {
        return {8, 128, lanes, 1, blocks_of(128, registers), order - tail};
    }
    const int bins = bins_per_block(taps);
    const int threads = bins * lanes < 64 ? 64 : bins * lanes;
    return {bins, threads, lanes, 1, blocks_of(threads, registers)};
}

/// RegisterSolver, Gauss-Jordan: sixteen lanes with three columns each process two matrices per
/// warp with three multiply-adds per shuffle; beyond order 24 (16 in fp64) only two columns on 32
/// lanes fit.
constexpr AdaptiveTuning unrolled_tuning(int order, int taps, bool fp64) {
    const int bins = bins_per_block(taps);
    const int words = order * (fp64 ? 4 : 2);
    if (order > (fp64 ? 24 : 32)) return {1, 128, 0, 0, 2};
    int lanes = order <= 8 ? 8 : 16;
    if (order > (fp64 ? 16 : 24)) lanes = 32;
    const int slots = lanes == 32 ? 2 : (order + 16 + lanes - 1) / lanes;
    const int threads = bins * lanes < 64 ? 64 : bins * lanes;
    return {bins, threads, lanes, slots, blocks_of(threads, registers_needed(slots, words))};
}

/// For an order known at compile time; `lanes` = 0 if it does not fit the registers.
constexpr AdaptiveTuning adaptive_tuning(int order, int taps, bool fp64, bool cholesky) {
    return cholesky ? rolling_tuning(order, taps, fp64) : unrolled_tuning(order, taps, fp64);
}

/// Tuning of the kernels for any order.
inline constexpr AdaptiveTuning generic_tuning{1, 128, 0, 0, 2};

/// Turns per block of the kernel that repeats matrices, unless the device can hold more blocks at
/// once. Usually nothing needs repeating, and blocks that wait to find out delay those of the next
/// call. NVIDIA H100, PERFECT medium (512 turns), one block per multiprocessor / three: nothing
/// repeated costs 4.8 us / 5.7 us; 1.6 % repeated cost 67 us / 60 us.
inline constexpr unsigned repetition_turns = 4;

/// Lanes that split the cells of a pair of channels: the power of two up to 8 that issues the
/// fewest instructions. `pairs` of channels need `products` complex multiply-adds for each of
/// `cells` cells; a butterfly step moves and adds each product. NVIDIA H200, PERFECT medium /
/// large: 81 / 469 us against 86 / 534 without splits; 59 / 305 with the four lanes chosen there,
/// 63 / 325 with eight, 61 / 317 with two.
constexpr int covariance_splits(int pairs, int products, int cells, int threads) {
    long long best_cost = -1;
    int best = 1;
    int steps = 0;
    for (int splits = 1; splits <= 8; splits *= 2, ++steps) {
        const long long warps = (static_cast<long long>(pairs) * splits + 31) / 32;
        const long long rounds = (warps * 32 + threads - 1) / threads;
        const long long share = (cells + 2 * splits - 1) / (2 * splits) * 2;
        const long long issue = share * products * 4 + static_cast<long long>(steps) * products * 4;
        const long long cost = (warps + rounds) * issue;
        if (best_cost < 0 || cost < best_cost) {
            best_cost = cost;
            best = splits;
        }
    }
    return best;
}

}  // namespace aperture::stap::gpu
