// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stationary and coloured sweeps on an executor: which kernels do them, and their workspace.

#include <algorithm>

#include "libcore/gpu/launch.cuh"
#include "libflow/gpu/tiled_sweeps.cuh"

namespace aperture::flow::gpu {

namespace detail {

/// Calls function(std::integral_constant<SweepKind, ...>).
template <class Function>
void with_kind(SweepKind kind, const Function& function) {
    switch (kind) {
        case SweepKind::jacobi:
            return function(std::integral_constant<SweepKind, SweepKind::jacobi>{});
        case SweepKind::block2x2:
            return function(std::integral_constant<SweepKind, SweepKind::block2x2>{});
        case SweepKind::redblack:
            return function(std::integral_constant<SweepKind, SweepKind::redblack>{});
    }
}

/// A block for each tile of the plan.
inline core::LaunchConfig tile_config(Shape shape, const TilePlan& plan,
                                      std::source_location call = std::source_location::current()) {
    const auto rows = static_cast<unsigned>(plan.thread_rows);
    constexpr std::size_t shared_of_row = 2 * RowExchange::cells * sizeof(float4);
    return {dim3(static_cast<unsigned>(plan.tiles_across(shape.columns)),
                 static_cast<unsigned>(plan.tiles_down(shape.rows))),
            dim3(tile_lanes, rows), rows * shared_of_row, call};
}

}  // namespace detail

/// `count` Jacobi sweeps, three kernels each.
template <SweepKind kind, Coupling coupling, class Executor>
void sweep_by_operators(Executor& executor, const SweepProblem& problem, int count,
                        PlaneArray<typename Executor::Space>& x,
                        PlaneArray<typename Executor::Space>& sums) {
    const core::LaunchConfig config = pixel_config(x.shape());
    for (int sweep = 0; sweep < count; ++sweep) {
        for (int unknown : {0, 1}) {
            core::launch(executor, &sum_neighbours_kernel<kind, coupling>, config, problem, unknown,
                         std::as_const(x).planes(), sums.planes());
        }
        core::launch(executor, &update_pixels_kernel<kind, coupling>, config, problem,
                     std::as_const(sums).planes(), x.planes());
    }
}

/// `count` Gauss-Seidel sweeps, a kernel a colour.
template <Coupling coupling, class Executor>
void sweep_by_colours(Executor& executor, const SweepProblem& problem, int count,
                      PlaneArray<typename Executor::Space>& x) {
    const Shape shape = x.shape();
    const index_t rows = coupling == Coupling::nine ? (shape.rows + 1) / 2 : shape.rows;
    const core::LaunchConfig config = pixel_config({rows, (shape.columns + 1) / 2});
    for (int sweep = 0; sweep < count; ++sweep) {
        for (int colour = 0; colour < stages_of(SweepKind::redblack, coupling); ++colour) {
            core::launch(executor, &relax_colour_kernel<coupling>, config, problem, colour,
                         x.planes());
        }
    }
}

/// `count` sweeps as the plan, which is for as many, lays them over fused_sweeps_kernel.
template <SweepKind kind, Coupling coupling, class Executor>
void sweep_fused(Executor& executor, const SweepProblem& problem, const TilePlan& plan, int count,
                 PlaneArray<typename Executor::Space>& x,
                 PlaneArray<typename Executor::Space>& other) {
    core::LaunchConfig config = detail::tile_config(x.shape(), plan);
    for (int round = 0; round < plan.rounds; ++round) {
        const auto until = [&](index_t rounds) { return count * rounds / plan.rounds; };
        const auto now = static_cast<int>(until(round + 1) - until(round));
        const bool there = round % 2 == 0;
        core::launch(executor, &fused_sweeps_kernel<kind, coupling>, config, problem,
                     std::as_const(there ? x : other).planes(), (there ? other : x).planes(),
                     plan.halo, now);
        config.start_early = true;
    }
}

/// `count` sweeps by persistent_sweeps_kernel; as many blocks as the plan has tiles fit the device.
template <SweepKind kind, Coupling coupling, class Executor>
void sweep_persistent(Executor& executor, const SweepProblem& problem, const TilePlan& plan,
                      int count, PlaneArray<typename Executor::Space>& x,
                      PlaneArray<typename Executor::Space>& other) {
    core::launch_cooperative(executor, &persistent_sweeps_kernel<kind, coupling>,
                             detail::tile_config(x.shape(), plan), problem, x.planes(),
                             other.planes(), plan.halo, plan.at_once, count);
}

/// Sweeps of one kind over systems of one shape; holds the workspace.
template <class Executor>
class Sweeps {
  public:
    using Space = typename Executor::Space;

    Sweeps() = default;
    Sweeps(Executor&, Shape shape, SweepKind kind, Implementation implementation)
        : kind_(kind), implementation_(implementation) {
        const bool in_place =
            implementation == Implementation::staged && kind == SweepKind::redblack;
        if (!in_place) workspace_ = PlaneArray<Space>(2, shape);
    }

    /// `count` sweeps on x [2] in place, x += omega (D^-1 (S(x) + b) - x), omega of redblack only
    /// and 1 otherwise. The system's inverse is filled, but for jacobi, which does without.
    /// Asynchronous on a Gpu.
    void run(Executor& executor, const PreparedSystem<Executor>& system, int count, float omega,
             PlaneArray<Space>& x) {
        if (count <= 0) return;
        const SweepProblem problem{system.planes(), system.boundary(), omega};
        detail::with_kind(kind_, [&](auto kind) {
            gpu::with_coupling(system.coupling(), [&](auto coupling) {
                run_as<decltype(kind)::value, decltype(coupling)::value>(executor, problem, count,
                                                                         x);
            });
        });
    }

  private:
    template <SweepKind kind, Coupling coupling>
    void run_as(Executor& executor, const SweepProblem& problem, int count, PlaneArray<Space>& x) {
        if (implementation_ == Implementation::staged) {
            if constexpr (kind == SweepKind::redblack) {
                return sweep_by_colours<coupling>(executor, problem, count, x);
            } else {
                return sweep_by_operators<kind, coupling>(executor, problem, count, x, workspace_);
            }
        }
        const SweepWork work{
            kind, coupling, x.shape().rows, x.shape().columns, count, executor.multiprocessors()};
        if (implementation_ == Implementation::persistent) {
            const TilePlan plan = plan_persistent(work);
            if (plan.thread_rows > 0) {
                return sweep_persistent<kind, coupling>(executor, problem, plan, count, x,
                                                        workspace_);
            }
        }
        sweep_fused<kind, coupling>(executor, problem, plan_fused(work), count, x, workspace_);
    }

    SweepKind kind_ = SweepKind::block2x2;
    Implementation implementation_ = Implementation::fused;
    /// Sums of neighbours where a kernel makes them; else where every other round ends.
    PlaneArray<Space> workspace_;
};

#if defined(__CUDACC__)
extern template class Sweeps<core::Gpu>;
#endif

}  // namespace aperture::flow::gpu
