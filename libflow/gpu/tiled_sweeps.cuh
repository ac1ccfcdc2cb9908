// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several sweeps over a tile at a time (temporal blocking): a launch for each few sweeps, or one
// launch for all.

#include "libcore/gpu/grid.cuh"
#include "libflow/gpu/sweep_patch.cuh"

namespace aperture::flow::gpu {

/// Tiles of an image, numbered row by row.
struct TileGrid {
    int down;
    int across;

    __device__ __forceinline__ int count() const { return down * across; }
    /// Counts from the last tile if `backwards`.
    __device__ __forceinline__ TilePosition position(int tile, bool backwards) const {
        const int number = backwards ? count() - 1 - tile : tile;
        return {number / across, number % across};
    }
};

/// `sweeps` sweeps from `from` to `to`, which must not overlap. `backwards` reverses the order of
/// the tiles. Consecutive launches alternate it, so that each starts with the data that the
/// previous one left in the L2 cache.
///
/// Thread: a patch of 4 x 4 pixels in registers, 7 values each (8 for jacobi, 9.5 with weights).
/// Warp: two rows of 16 patches, which exchange their columns by shuffles. Block: tile_lanes x
/// thread rows, a tile of 64 x 4 thread rows pixels. Pixels further than `halo` from its edges are
/// valid at the end and stored; `halo` >= stages a sweep times sweeps, a multiple of 4. Grid: a
/// block for each tile. Shared: RowExchange, 2 KiB a thread row.
/// Per pixel of a tile: 28 bytes read (32 with weights), 8 written if valid; 10 flops a sweep (12
/// for redblack, 16 for nine points, 22 with weights); per 32 pixels 3 accesses of a warp to shared
/// memory or shuffles.
/// Source: Horn & Schunck 1981, equation 11; Datta et al. 2009 (time skewing and overlapped tiles).
template <SweepKind kind, Coupling coupling>
__global__ void __launch_bounds__(most_patches(kind, coupling), 1)
    fused_sweeps_kernel(SweepProblem problem, Planes<const float> from, Planes<float> to,
                        TileGrid tiles, int halo, int sweeps, bool backwards) {
    core::let_next_kernel_start();
    Patch<kind, coupling> patch(problem, halo);
    RowExchange exchange;
    patch.move_to(tiles.position(static_cast<int>(blockIdx.x), backwards));
    patch.load_updates(problem);
    // The system was complete before the previous kernel, which may still write `from`.
    core::wait_for_previous_kernel();
    patch.load_unknowns(from);
    patch.sweep(exchange, sweeps);
    if (patch.inner()) patch.store_unknowns(to);
}

/// `sweeps` sweeps on x in place, in a cooperative launch with a block for each tile: `at_once`
/// sweeps between two exchanges of tiles, each with a grid barrier. Threads, warps, blocks and
/// shared memory are those above; updates are loaded once and unknowns stay in registers. After
/// each `at_once` sweeps a block stores its part and loads its halo, alternately in x and `other`.
/// Per pixel of a tile and exchange: up to 8 bytes read and 8 written; flops and accesses as above.
/// Source: Anderson 2014, chapter 7; Zhang et al. 2023 (PERKS: iterations that stay on chip).
template <SweepKind kind, Coupling coupling>
__global__ void __launch_bounds__(most_patches(kind, coupling), 1)
    persistent_sweeps_kernel(SweepProblem problem, Planes<float> x, Planes<float> other,
                             TileGrid tiles, int halo, int at_once, int sweeps) {
    Patch<kind, coupling> patch(problem, halo);
    RowExchange exchange;
    patch.move_to(tiles.position(static_cast<int>(blockIdx.x), false));
    patch.load_updates(problem);
    patch.load_unknowns(x);
    int round = (sweeps + at_once - 1) / at_once;
    // All blocks must load x before one stores it.
    if (round % 2 == 1 && gridDim.x > 1) core::grid_sync();
    // `round` counts the remaining rounds; the last one writes x.
    for (; round > 0; --round) {
        patch.forget_position();
        const int now = min(at_once, sweeps);
        patch.sweep(exchange, now);
        sweeps -= now;
        const Planes<float> to = round % 2 == 1 ? x : other;
        if (patch.inner()) patch.store_unknowns(to);
        if (round == 1) return;
        core::grid_sync();
        if (!patch.inner()) patch.load_unknowns(to);
    }
}

}  // namespace aperture::flow::gpu
