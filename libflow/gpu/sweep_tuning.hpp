// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How sweeps are laid over a GPU.

#include <algorithm>

#include "libflow/gpu/sweep_kind.hpp"

namespace aperture::flow::gpu {

/// Rows and columns of a thread's patch: with 4 x 4 as many accesses to shared memory go across as
/// down, three for a pixel.
inline constexpr int patch_extent = 4;
/// Patches side by side in a tile, and its pixels.
inline constexpr int tile_lanes = 16;
inline constexpr int tile_columns = tile_lanes * patch_extent;
/// Shared memory, in bytes, for what a row of patches shows others.
inline constexpr int shared_of_row = 2 * 4 * tile_lanes * 16;

/// Most threads of a block, so that a patch fits the registers: 168 a thread for the five-point
/// block updates, 255 for all that needs more.
constexpr int most_patches(SweepKind kind, Coupling coupling) {
    return coupling == Coupling::five && kind != SweepKind::jacobi ? 384 : 256;
}

/// What the kernels take, in clock cycles of a multiprocessor: what plans are compared by.
struct SweepCosts {
    int stage;      ///< from the first instruction of a stage to its barrier, however few pixels
    int stage_row;  ///< a row of a tile, a stage
    int load_row;   ///< a row of a tile, to be brought from memory with its updates
    int pass;       ///< from one launch to the next
    int exchange;   ///< wait for the grid, write and read what tiles share
};

/// Fitted to block2x2 on an NVIDIA H200, halos of 4, 8 and 12 and tiles of 32 to 96 rows: 0.42 us a
/// sweep of 48 rows and 0.52 of 80, 3.5 us an exchange. 584 x 388 pixels 400 times take 0.26 ms by
/// the persistent plan (halo 12, tiles of 80 rows); 1920 x 1080 pixels 100 times by fused plans,
/// halo and rows of a tile: 8 and 88 0.53 ms, 12 and 96 0.53, 8 and 48 0.57, 8 and 80 0.60, 8 and
/// 72 0.67. Bringing the next tile to shared memory while one is swept took 0.62: it leaves a
/// multiprocessor one block.
inline constexpr SweepCosts sweep_costs{390, 6, 80, 2800, 6200};

/// Tiles of 4 x thread_rows rows, of which `halo` pixels on every side are the neighbours', for
/// `at_once` sweeps each of `rounds` times. No thread rows: nothing fits.
struct TilePlan {
    int thread_rows = 0;
    int halo = 0;
    int at_once = 0;
    int rounds = 0;
    int blocks = 0;  ///< of a launch

    constexpr int tile_rows() const { return thread_rows * patch_extent; }
    constexpr int inner_rows() const { return tile_rows() - 2 * halo; }
    constexpr int inner_columns() const { return tile_columns - 2 * halo; }
    constexpr int tiles_down(long long rows) const {
        return static_cast<int>((rows + inner_rows() - 1) / inner_rows());
    }
    constexpr int tiles_across(long long columns) const {
        return static_cast<int>((columns + inner_columns() - 1) / inner_columns());
    }
};

/// What a plan is made for.
struct SweepWork {
    SweepKind kind;
    Coupling coupling;
    long long rows;
    long long columns;
    int sweeps;  ///< more than 0
    int multiprocessors;
};

namespace detail {

constexpr long long ceiling(long long a, long long b) { return (a + b - 1) / b; }

constexpr long long tiles_of(const SweepWork& work, const TilePlan& plan) {
    return static_cast<long long>(plan.tiles_down(work.rows)) * plan.tiles_across(work.columns);
}

/// Cycles of a multiprocessor for all sweeps of a round on `tiles` tiles, `resident` at a time.
constexpr long long round_cost(const SweepWork& work, const TilePlan& plan, long long tiles,
                               long long resident) {
    const int stages = plan.at_once * stages_of(work.kind, work.coupling);
    return stages * (ceiling(tiles, resident) * sweep_costs.stage +
                     tiles * plan.tile_rows() * sweep_costs.stage_row);
}

constexpr int several_rounds(long long rounds) { return static_cast<int>(std::max(rounds, 2LL)); }

/// The cheapest plan, by cost(plan), of all halos and heights of tiles; plans that cost less than 0
/// are none. The cost is to say what else the plan needs.
template <class Rounds, class Cost>
constexpr TilePlan cheapest_plan(const SweepWork& work, const Rounds& rounds_of, const Cost& cost) {
    constexpr int halo_step = patch_extent;
    constexpr int largest_halo = 16;
    // Whole warps.
    constexpr int rows_step = 32 / tile_lanes;
    const int stages = stages_of(work.kind, work.coupling);
    TilePlan best;
    long long least = -1;
    for (int largest = halo_step; largest <= largest_halo; largest += halo_step) {
        TilePlan plan;
        plan.rounds = rounds_of(ceiling(work.sweeps, largest / stages));
        plan.at_once = static_cast<int>(ceiling(work.sweeps, plan.rounds));
        plan.halo = static_cast<int>(ceiling(plan.at_once * stages, halo_step)) * halo_step;
        const int most_rows = most_patches(work.kind, work.coupling) / tile_lanes;
        for (plan.thread_rows = rows_step; plan.thread_rows <= most_rows;
             plan.thread_rows += rows_step) {
            if (plan.inner_rows() <= 0) continue;
            const long long cycles = cost(plan);
            if (cycles < 0 || (least >= 0 && cycles >= least)) continue;
            least = cycles;
            best = plan;
        }
    }
    return best;
}

}  // namespace detail

/// A launch of fused_sweeps_kernel for each round; two at least, so that they can end where they
/// began.
constexpr TilePlan plan_fused(const SweepWork& work) {
    return detail::cheapest_plan(work, detail::several_rounds, [&](TilePlan& plan) {
        const long long all = detail::tiles_of(work, plan);
        plan.blocks = static_cast<int>(all);
        const long long tiles = detail::ceiling(all, work.multiprocessors);
        const long long load = tiles * plan.tile_rows() * sweep_costs.load_row;
        const long long resident = std::min<long long>(
            tiles, most_patches(work.kind, work.coupling) / (plan.thread_rows * tile_lanes));
        const long long sweep = detail::round_cost(work, plan, tiles, resident);
        // Measured: of blocks that share a multiprocessor, one is hardly loaded while another is
        // swept.
        return plan.rounds * (sweep_costs.pass + load + sweep);
    });
}

/// One launch with a tile for each multiprocessor, an exchange between rounds; no thread rows where
/// the image is too large for that.
constexpr TilePlan plan_persistent(const SweepWork& work) {
    const auto any = [](long long rounds) { return static_cast<int>(rounds); };
    return detail::cheapest_plan(work, any, [&](TilePlan& plan) {
        const long long tiles = detail::tiles_of(work, plan);
        if (tiles > work.multiprocessors) return -1LL;
        plan.blocks = static_cast<int>(tiles);
        return plan.rounds * (sweep_costs.exchange + detail::round_cost(work, plan, 1, 1));
    });
}

}  // namespace aperture::flow::gpu
