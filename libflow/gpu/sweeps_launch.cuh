// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stationary and coloured sweeps on an executor. Kernels that do several sweeps over a tile at a
// time (temporal blocking): a launch for each few sweeps, or one launch for all. The choice of
// kernels, and the workspace.

#include <algorithm>
#include <array>

#include "libcore/gpu/grid.cuh"
#include "libcore/gpu/launch.cuh"
#include "libflow/gpu/sweep_patch.cuh"

namespace aperture::flow::gpu {

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
template <Solver kind, Coupling coupling>
__global__ void __launch_bounds__(most_patches(kind, coupling), 1)
    fused_sweeps_kernel(SweepProblem problem, Planes<const float> from, Planes<float> to,
                        int tiles_across, int halo, int sweeps, bool backwards) {
    core::let_next_kernel_start();
    const auto block = static_cast<int>(blockIdx.x);
    Patch<kind, coupling> patch(problem, halo);
    RowExchange exchange;
    patch.move_to(backwards ? static_cast<int>(gridDim.x) - 1 - block : block, tiles_across);
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
template <Solver kind, Coupling coupling>
__global__ void __launch_bounds__(most_patches(kind, coupling), 1)
    persistent_sweeps_kernel(SweepProblem problem, Planes<float> x, Planes<float> other,
                             int tiles_across, int halo, int at_once, int sweeps) {
    Patch<kind, coupling> patch(problem, halo);
    RowExchange exchange;
    patch.move_to(static_cast<int>(blockIdx.x), tiles_across);
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

/// Calls function(std::integral_constant<Solver, ...>) for a solver by sweeps.
template <class Function>
void with_kind(Solver kind, const Function& function) {
    if (kind == Solver::jacobi) {
        return function(std::integral_constant<Solver, Solver::jacobi>{});
    }
    if (kind == Solver::block2x2) {
        return function(std::integral_constant<Solver, Solver::block2x2>{});
    }
    function(std::integral_constant<Solver, Solver::redblack>{});
}

inline core::LaunchConfig tile_config(const TilePlan& plan,
                                      std::source_location call = std::source_location::current()) {
    const auto rows = static_cast<unsigned>(plan.thread_rows);
    return {dim3(static_cast<unsigned>(plan.blocks)), dim3(tile_lanes, rows),
            rows * static_cast<std::size_t>(shared_of_row), call};
}

/// `count` Jacobi sweeps, three kernels each.
template <Solver kind, Coupling coupling, class Executor>
void sweep_by_operators(Executor& executor, const SweepProblem& problem, int count,
                        const Planes<float>& x, const Planes<float>& sums) {
    const core::LaunchConfig config = pixel_config({rows_of(x), columns_of(x)});
    for (int sweep = 0; sweep < count; ++sweep) {
        for (int unknown : {0, 1}) {
            core::launch(executor, &sum_neighbours_kernel<kind, coupling>, config, problem, unknown,
                         x, sums);
        }
        core::launch(executor, &update_pixels_kernel<kind, coupling>, config, problem, sums, x);
    }
}

/// `count` Gauss-Seidel sweeps, a kernel a colour.
template <Coupling coupling, class Executor>
void sweep_by_colours(Executor& executor, const SweepProblem& problem, int count,
                      const Planes<float>& x) {
    const index_t rows = coupling == Coupling::nine ? (rows_of(x) + 1) / 2 : rows_of(x);
    const core::LaunchConfig config = pixel_config({rows, (columns_of(x) + 1) / 2});
    for (int sweep = 0; sweep < count; ++sweep) {
        for (int colour = 0; colour < stages_of(Solver::redblack, coupling); ++colour) {
            core::launch(executor, &relax_colour_kernel<coupling>, config, problem, colour, x);
        }
    }
}

/// `count` sweeps in the launches of a plan for as many sweeps.
template <Solver kind, Coupling coupling, class Executor>
void sweep_fused(Executor& executor, const SweepProblem& problem, const TilePlan& plan, int count,
                 const Planes<float>& x,
                 std::array<PlaneArray<typename Executor::Space>, 2>& between) {
    core::LaunchConfig config = tile_config(plan);
    for (int round = 0; round < plan.rounds; ++round) {
        const auto until = [&](index_t rounds) { return count * rounds / plan.rounds; };
        const auto now = static_cast<int>(until(round + 1) - until(round));
        const Planes<float> from = round == 0 ? x : between[(round + 1) % 2].planes();
        const Planes<float> to = round + 1 == plan.rounds ? x : between[round % 2].planes();
        core::launch(executor, &fused_sweeps_kernel<kind, coupling>, config, problem, from, to,
                     plan.tiles_across(columns_of(x)), plan.halo, now, round % 2 == 0);
        config.start_early = true;
    }
}

/// Sweeps of one kind over systems of one shape; holds the workspace.
template <class Executor>
class Sweeps {
  public:
    using Space = typename Executor::Space;

    Sweeps() = default;
    /// All sweeps in one kernel where the image fits on chip, unless staged or not `on_chip`.
    Sweeps(Shape shape, Solver kind, Implementation implementation, bool on_chip = true)
        : kind_(kind),
          staged_(implementation == Implementation::staged),
          on_chip_(on_chip && !staged_) {
        if (!staged_ || kind != Solver::redblack) workspace_[0] = PlaneArray<Space>(2, shape);
        if (!staged_) workspace_[1] = PlaneArray<Space>(2, shape);
    }

    /// `count` sweeps on x [2] in place: x += omega (D^-1 (S(x) + b) - x), with omega = 1 except
    /// for redblack. The system's inverse must be filled, except for jacobi. Asynchronous on a Gpu.
    void run(Executor& executor, const PreparedSystem<Executor>& system, int count, float omega,
             const Planes<float>& x);

  private:
    template <Solver kind, Coupling coupling>
    void run_as(Executor& executor, const SweepProblem& problem, int count,
                const Planes<float>& x) {
        if (staged_) {
            if constexpr (kind == Solver::redblack) {
                return sweep_by_colours<coupling>(executor, problem, count, x);
            } else {
                return sweep_by_operators<kind, coupling>(executor, problem, count, x,
                                                          workspace_[0].planes());
            }
        }
        const SweepWork work{kind,          coupling, rows_of(x),
                             columns_of(x), count,    executor.multiprocessors()};
        if (on_chip_) {
            const TilePlan plan = plan_persistent(work);
            if (plan.thread_rows > 0) {
                return core::launch_cooperative(
                    executor, &persistent_sweeps_kernel<kind, coupling>, tile_config(plan), problem,
                    x, workspace_[0].planes(), plan.tiles_across(columns_of(x)), plan.halo,
                    plan.at_once, count);
            }
        }
        sweep_fused<kind, coupling>(executor, problem, plan_fused(work), count, x, workspace_);
    }

    Solver kind_ = Solver::block2x2;
    bool staged_ = false;
    bool on_chip_ = true;
    /// Sums of neighbours if staged; otherwise the results of all rounds but the last.
    std::array<PlaneArray<Space>, 2> workspace_;
};

// Not inline, so that sweeps.cu alone compiles the kernels.
template <class Executor>
void Sweeps<Executor>::run(Executor& executor, const PreparedSystem<Executor>& system, int count,
                           float omega, const Planes<float>& x) {
    if (count <= 0) return;
    const SweepProblem problem{system.planes(), system.boundary(), omega};
    with_kind(kind_, [&](auto kind) {
        with_coupling(system.coupling(), [&](auto coupling) {
            run_as<decltype(kind)::value, decltype(coupling)::value>(executor, problem, count, x);
        });
    });
}

#if defined(__CUDACC__)
extern template class Sweeps<core::Gpu>;
#endif

}  // namespace aperture::flow::gpu
