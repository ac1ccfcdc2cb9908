// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stationary and coloured sweeps on an executor: choice of kernels, and workspace.

#include <algorithm>
#include <array>

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

inline core::LaunchConfig tile_config(const TilePlan& plan,
                                      std::source_location call = std::source_location::current()) {
    const auto rows = static_cast<unsigned>(plan.thread_rows);
    return {dim3(static_cast<unsigned>(plan.blocks)), dim3(tile_lanes, rows),
            rows * static_cast<std::size_t>(shared_of_row), call};
}

inline TileGrid tiles_of(const TilePlan& plan, const Planes<float>& image) {
    return {plan.tiles_down(rows_of(image)), plan.tiles_across(columns_of(image))};
}

}  // namespace detail

/// `count` Jacobi sweeps, three kernels each.
template <SweepKind kind, Coupling coupling, class Executor>
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
        for (int colour = 0; colour < stages_of(SweepKind::redblack, coupling); ++colour) {
            core::launch(executor, &relax_colour_kernel<coupling>, config, problem, colour, x);
        }
    }
}

/// `count` sweeps in the launches of a plan for as many sweeps.
template <SweepKind kind, Coupling coupling, class Executor>
void sweep_fused(Executor& executor, const SweepProblem& problem, const TilePlan& plan, int count,
                 const Planes<float>& x,
                 std::array<PlaneArray<typename Executor::Space>, 2>& between) {
    core::LaunchConfig config = detail::tile_config(plan);
    for (int round = 0; round < plan.rounds; ++round) {
        const auto until = [&](index_t rounds) { return count * rounds / plan.rounds; };
        const auto now = static_cast<int>(until(round + 1) - until(round));
        const Planes<float> from = round == 0 ? x : between[(round + 1) % 2].planes();
        const Planes<float> to = round + 1 == plan.rounds ? x : between[round % 2].planes();
        core::launch(executor, &fused_sweeps_kernel<kind, coupling>, config, problem, from, to,
                     detail::tiles_of(plan, x), plan.halo, now, round % 2 == 0);
        config.start_early = true;
    }
}

/// `count` sweeps by persistent_sweeps_kernel; all of the plan's blocks must fit the device at
/// once.
template <SweepKind kind, Coupling coupling, class Executor>
void sweep_persistent(Executor& executor, const SweepProblem& problem, const TilePlan& plan,
                      int count, const Planes<float>& x, const Planes<float>& other) {
    core::launch_cooperative(executor, &persistent_sweeps_kernel<kind, coupling>,
                             detail::tile_config(plan), problem, x, other,
                             detail::tiles_of(plan, x), plan.halo, plan.at_once, count);
}

/// Sweeps of one kind over systems of one shape; holds the workspace.
template <class Executor>
class Sweeps {
  public:
    using Space = typename Executor::Space;

    Sweeps() = default;
    /// All sweeps in one kernel where the image fits on chip, unless staged or not `on_chip`.
    Sweeps(Executor&, Shape shape, SweepKind kind, Implementation implementation,
           bool on_chip = true)
        : kind_(kind),
          staged_(implementation == Implementation::staged),
          on_chip_(on_chip && !staged_) {
        if (!staged_ || kind != SweepKind::redblack) workspace_[0] = PlaneArray<Space>(2, shape);
        if (!staged_) workspace_[1] = PlaneArray<Space>(2, shape);
    }

    /// `count` sweeps on x [2] in place: x += omega (D^-1 (S(x) + b) - x), with omega = 1 except
    /// for redblack. The system's inverse must be filled, except for jacobi. Asynchronous on a Gpu.
    void run(Executor& executor, const PreparedSystem<Executor>& system, int count, float omega,
             const Planes<float>& x);

  private:
    template <SweepKind kind, Coupling coupling>
    void run_as(Executor& executor, const SweepProblem& problem, int count, const Planes<float>& x);

    SweepKind kind_ = SweepKind::block2x2;
    bool staged_ = false;
    bool on_chip_ = true;
    /// Sums of neighbours if staged; otherwise the results of all rounds but the last.
    std::array<PlaneArray<Space>, 2> workspace_;
};

template <class Executor>
void Sweeps<Executor>::run(Executor& executor, const PreparedSystem<Executor>& system, int count,
                           float omega, const Planes<float>& x) {
    if (count <= 0) return;
    const SweepProblem problem{system.planes(), system.boundary(), omega};
    detail::with_kind(kind_, [&](auto kind) {
        gpu::with_coupling(system.coupling(), [&](auto coupling) {
            run_as<decltype(kind)::value, decltype(coupling)::value>(executor, problem, count, x);
        });
    });
}

template <class Executor>
template <SweepKind kind, Coupling coupling>
void Sweeps<Executor>::run_as(Executor& executor, const SweepProblem& problem, int count,
                              const Planes<float>& x) {
    if (staged_) {
        if constexpr (kind == SweepKind::redblack) {
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
            return sweep_persistent<kind, coupling>(executor, problem, plan, count, x,
                                                    workspace_[0].planes());
        }
    }
    sweep_fused<kind, coupling>(executor, problem, plan_fused(work), count, x, workspace_);
}

#if defined(__CUDACC__)
extern template class Sweeps<core::Gpu>;
#endif

}  // namespace aperture::flow::gpu
