// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tile plans and cost model of the sweeps on a GPU.

#include <algorithm>

#include "libflow/solver_model.hpp"

namespace aperture::flow::gpu {

/// Stages of a sweep: its colours, or one. A value propagates by one pixel a stage.
constexpr int stages_of(Solver kind, Coupling coupling) {
    return kind == Solver::redblack ? colours_of(coupling) : 1;
}

/// Rows and columns of a thread's patch. With 4 x 4, as many accesses to shared memory go across as
/// down, three a pixel.
inline constexpr int patch_extent = 4;
/// Patches side by side in a tile, and the tile's columns in pixels.
inline constexpr int tile_lanes = 16;
inline constexpr int tile_columns = tile_lanes * patch_extent;
/// Shared memory, in bytes, for the border rows of one row of patches.
inline constexpr int shared_of_row = 2 * 4 * tile_lanes * 16;

/// Maximum threads of a block, so that a patch fits in registers: 168 a thread for the five-point
/// block updates, 255 for larger ones.
constexpr int most_patches(Solver kind, Coupling coupling) {
    return coupling == Coupling::five && kind != Solver::jacobi ? 384 : 256;
}

/// Kernel costs in clock cycles of a multiprocessor, for comparing plans.
struct SweepCosts {
    int stage;      ///< latency from the start of a stage to its barrier, for any number of pixels
    int stage_row;  ///< a row of a tile, per stage
    int load_row;   ///< loading a row of a tile with its updates
    int pass;       ///< from one launch to the next
    int exchange;   ///< grid barrier, storing and loading what tiles share
};

/// Fitted to block2x2 on an NVIDIA H200, halos of 4, 8 and 12 and tiles of 32 to 96 rows: 0.42 us a
/// sweep of 48 rows and 0.52 of 80, 3.5 us an exchange. 584 x 388 pixels 400 times take 0.26 ms by
/// the persistent plan (halo 12, tiles of 80 rows); 1920 x 1080 pixels 100 times by fused plans,
/// halo and rows of a tile: 8 and 88 0.53 ms, 12 and 96 0.53, 8 and 48 0.57, 8 and 80 0.60, 8 and
/// 72 0.67. Prefetching the next tile into shared memory during a sweep took 0.62: it leaves room
/// for one block a multiprocessor.
inline constexpr SweepCosts sweep_costs{390, 6, 80, 2800, 6200};

/// Tiles of 4 x thread_rows rows that overlap their neighbours by `halo` pixels on every side;
/// `rounds` rounds of `at_once` sweeps. No thread rows: nothing fits.
struct TilePlan {
    int thread_rows = 0;
    int halo = 0;
    int at_once = 0;
    int rounds = 0;
    int blocks = 0;  ///< per launch

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

/// The work that a plan is made for.
struct SweepWork {
    Solver kind;
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

/// The cheapest plan by cost(plan) over all halos and tile heights. A negative cost marks an
/// invalid plan. cost() also sets the rest of the plan.
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

/// A launch of fused_sweeps_kernel for each round. At least two rounds, so that the result ends in
/// the original planes.
constexpr TilePlan plan_fused(const SweepWork& work) {
    return detail::cheapest_plan(work, detail::several_rounds, [&](TilePlan& plan) {
        const long long all = detail::tiles_of(work, plan);
        plan.blocks = static_cast<int>(all);
        const long long tiles = detail::ceiling(all, work.multiprocessors);
        const long long load = tiles * plan.tile_rows() * sweep_costs.load_row;
        const long long resident = std::min<long long>(
            tiles, most_patches(work.kind, work.coupling) / (plan.thread_rows * tile_lanes));
        const long long sweep = detail::round_cost(work, plan, tiles, resident);
        // Measured: blocks that share a multiprocessor hardly overlap the loads of one with the
        // sweeps of another.
        return plan.rounds * (sweep_costs.pass + load + sweep);
    });
}

/// One launch with at most one tile a multiprocessor and an exchange between rounds. No thread rows
/// if the image is too large.
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
