// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Host side of the adaptive kernels: selection by shape, shared memory, grid.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "aperture/stap/pipeline.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/stage.cuh"
#include "libstap/gpu/fused.cuh"
#include "libstap/gpu/shared_layout.cuh"
#include "libstap/gpu/staged.cuh"
#include "libstap/gpu/tuning.hpp"

namespace aperture::stap::gpu {

/// The part of a cube in memory and the cells of it that a call adapts, both numbered as in the
/// whole cube. Views of results begin at cell `begin` and at the training set that holds it.
struct RangeChunk {
    index_t data_begin = 0;
    index_t begin = 0;
    index_t end = 0;
};

/// Workspace of a problem in the executor's memory, besides cube and results.
template <class Executor>
struct AdaptiveWorkspace {
    using Space = typename Executor::Space;
    core::Array<cfloat, 2, Space> steering;  ///< [n][D]
    core::Array<double, 1, Space> total;     ///< sums over all cells, packed triangles
    core::Array<int, 2, Space> cell_info;    ///< [K][cell]
    core::Array<cfloat, 4, Space> snapshots;
    core::Array<double, 1, Space> covariance;
    core::Array<double, 1, Space> weights;
};

#if defined(__CUDACC__)
template <class T, int Rank>
void upload(core::Gpu& gpu, core::View<const T, Rank, core::Host> from,
            core::View<T, Rank, core::Device> to) {
    core::copy(gpu, from, to);
    gpu.synchronize();
}
#else
template <class T, int Rank>
void upload(core::Simt&, core::View<const T, Rank, core::Host> from,
            core::View<T, Rank, core::Host> to) {
    std::copy(from.data, from.data + from.size(), to.data);
}
#endif
template <class Executor>
auto stage_scope(Executor& executor, core::Timeline* timeline, const char* name, Work work) {
    return core::stage_scope(executor, timeline, name, work.gflop, work.mb);
}

/// Copies the steering vectors [D][n] to [n][D]; synchronous.
template <class Executor>
void set_steering(Executor& executor, AdaptiveWorkspace<Executor>& workspace,
                  core::View<const cfloat, 2, core::Host> steering) {
    core::Array<cfloat, 2> rows({steering.extent[1], steering.extent[0]});
    for (index_t d = 0; d < steering.extent[0]; ++d) {
        for (index_t i = 0; i < steering.extent[1]; ++i) rows(i, d) = steering(d, i);
    }
    workspace.steering.reshape(rows.extent());
    upload<cfloat, 2>(executor, rows.view(), workspace.steering.view());
}

namespace detail {

template <class Visit>
void with_taps(int taps, Visit visit) {
    if (taps == 1) visit(std::integral_constant<int, 1>{});
    if (taps == 3) visit(std::integral_constant<int, 3>{});
    if (taps == 5) visit(std::integral_constant<int, 5>{});
}

/// The type in which the first attempt computes covariances and solutions. With training on all
/// cells, the single factorisation per bin is cheap in fp64.
template <class Visit>
void with_real(const Problem& problem, Visit visit) {
    const Parameters& p = problem.parameters;
    const bool fp64 = p.precision == Precision::mixed ||
                      (p.precision == Precision::automatic && p.training == Training::all);
    if (fp64) {
        visit(double{});
    } else {
        visit(float{});
    }
}

template <class Visit>
void with_solver(dense::Factorisation solver, Visit visit) {
    using dense::Elimination;
    if (solver == dense::Factorisation::cholesky) {
        visit(std::integral_constant<Elimination, Elimination::below>{});
    } else {
        visit(std::integral_constant<Elimination, Elimination::above_and_below>{});
    }
}

inline unsigned grid_of(index_t blocks) {
    core::expects(blocks < (index_t(1) << 31), blocks, " blocks exceed the maximum grid");
    return static_cast<unsigned>(blocks);
}

inline index_t groups_of(int doppler_bins, int bins) { return (doppler_bins + bins - 1) / bins; }

/// Results [vector][Doppler bin][range cell] for kernels; their range cells must be contiguous.
template <class T, class Space>
auto range_rows(const core::View<T, 3, Space>& view) {
    core::expects(view.empty() || view.stride[2] == 1,
                  "range cells of the results must be contiguous; their stride is ",
                  view.stride[2]);
    return core::kernel_view(view);
}

/// Dense matrices [k][set][rows][columns] in workspace, which grows if necessary.
template <class T, class Space>
KernelView<T, 4> matrices_in(core::Array<double, 1, Space>& space, index_t bins, index_t sets,
                             index_t rows, index_t columns) {
    const index_t elements = bins * sets * rows * columns;
    space.reshape({elements * static_cast<index_t>(sizeof(T) / sizeof(double))});
    return {reinterpret_cast<T*>(space.data()), {bins, sets, rows, columns}};
}

template <class Space>
DopplerCube doppler_cube(CubeView<Space> cube) {
    core::expects(cube.stride[2] == 1,
                  "range cells of the cube must be contiguous; their stride is ", cube.stride[2]);
    return {core::kernel_view(cube), static_cast<int>(cube.extent[0]),
            static_cast<int>(cube.extent[1])};
}

inline TrainingPlan training_plan(const Problem& problem, const RangeChunk& chunk) {
    const Parameters& p = problem.parameters;
    TrainingPlan plan{TrainingCells::block, p.training_block, p.guard,    problem.shape.range_cells,
                      chunk.data_begin,     chunk.begin,      chunk.begin};
    if (p.training == Training::sliding) plan.kind = TrainingCells::sliding;
    if (p.training == Training::all) plan.kind = TrainingCells::all;
    if (p.training == Training::block) plan.set_begin = chunk.begin / p.training_block;
    return plan;
}

/// Training sets with cells in a chunk.
inline index_t sets_of(const Problem& problem, const RangeChunk& chunk) {
    const index_t cells = chunk.end - chunk.begin;
    if (problem.parameters.training != Training::block) return cells;
    return (cells + problem.parameters.training_block - 1) / problem.parameters.training_block;
}

/// Columns of a plan's largest training set in shared memory.
inline int set_columns(const TrainingPlan& plan) {
    switch (plan.kind) {
        case TrainingCells::block:
            return plan.block;
        case TrainingCells::sliding:
            return plan.block + 2 * plan.guard + 1;
        case TrainingCells::all:
            return 2 * plan.guard + 1;
        default:
            return 0;
    }
}

/// Cells of a set for which a detector needs quadratic forms.
inline int set_outputs(const TrainingPlan& plan, bool statistic) {
    if (!statistic) return 0;
    return plan.kind == TrainingCells::block ? plan.block : 1;
}

inline SharedNeeds cube_needs(const Problem& problem, const TrainingPlan& plan, int bins,
                              int real_bytes) {
    SharedNeeds needs;
    needs.channels = static_cast<int>(problem.shape.channels);
    needs.window = bins + problem.parameters.temporal_taps - 1;
    needs.bins = bins;
    needs.order = problem.order;
    needs.cells = set_columns(plan);
    needs.real_bytes = real_bytes;
    return needs;
}

template <class Executor>
SharedLayout shared_layout(Executor& executor, const SharedNeeds& needs, int blocks) {
    const int limit = executor.shared_memory_per_block();
    const auto layout = plan_shared_memory(needs, blocks, limit);
    if (!layout) {
        throw core::UnfitDevice(core::text("order ", needs.order, " with ", needs.vectors,
                                           " steering vectors and ", needs.real_bytes * 8,
                                           "-bit covariances exceeds the ", limit,
                                           " bytes of shared memory of this device; use fewer "
                                           "steering vectors, fp32 or cholesky"));
    }
    return *layout;
}

/// Lanes that split the cells of a channel pair in a block of `bins` bins.
template <int Taps>
int splits_of(const Problem& problem, int bins, int columns, int threads) {
    const auto with_part = [&](auto part) {
        using Tile = OuterProductTile<Taps, decltype(part)::value>;
        int products = 0;
        for (int i = 0; i < Tile::rows; ++i) {
            for (int j = 0; j < Tile::rows; ++j) {
                products += Tile::needed(i % Tile::window, j % Tile::window);
            }
        }
        const int groups =
            (static_cast<int>(problem.shape.channels) + Tile::channels - 1) / Tile::channels;
        const int pairs = groups * (groups + 1) / 2 * (bins / decltype(part)::value);
        return covariance_splits(pairs, products, columns, threads);
    };
    if (bins == 1) return with_part(std::integral_constant<int, 1>{});
    return with_part(std::integral_constant<int, bins_per_block(Taps)>{});
}

}  // namespace detail

/// Policy and solver of the register-resident fp32 Cholesky kernel of an order.
template <int order, int taps>
struct RegisterKernel {
    static constexpr AdaptiveTuning tuning = adaptive_tuning(order, taps, false, true);
    using Policy = AdaptivePolicy<taps, tuning.bins, tuning.threads, tuning.blocks>;
    using Solver = RollingSolver<float, order, tuning.lanes, taps, tuning.head>;
};

template <int taps>
using GenericPolicy =
    AdaptivePolicy<taps, generic_tuning.bins, generic_tuning.threads, generic_tuning.blocks>;

namespace detail {

/// One block per set and Doppler bin.
inline core::LaunchConfig generic_config(const Problem& problem, index_t sets,
                                         const SharedLayout& layout) {
    return {grid_of(sets * groups_of(problem.doppler_bins, generic_tuning.bins)),
            static_cast<unsigned>(generic_tuning.threads), static_cast<std::size_t>(layout.bytes)};
}

}  // namespace detail

template <class Real>
using AdaptiveKernel = void (*)(AdaptiveArguments<Real>);

/// Key of the kernel selection.
struct AdaptiveShape {
    int order, taps;
    dense::Factorisation solver;
    bool statistic;
};

namespace detail {

template <int order, int taps>
bool matches(const AdaptiveShape& shape) {
    return shape.order == order && shape.taps == taps;
}

template <int order, int taps>
AdaptiveKernel<float> register_kernel(bool statistic) {
    using Policy = typename RegisterKernel<order, taps>::Policy;
    using Solver = typename RegisterKernel<order, taps>::Solver;
    return statistic ? &adapt_kernel<float, Policy, Solver, true>
                     : &adapt_kernel<float, Policy, Solver, false>;
}

}  // namespace detail

/// The register-resident fp32 Cholesky kernels compiled ahead of time: PERFECT's orders, and
/// spatial adaptation (T = 1) at powers of two. Null for other shapes. A template, so that only the
/// file that launches them compiles them.
template <class Real>
AdaptiveKernel<Real> precompiled_kernel(const AdaptiveShape& shape) {
    if constexpr (std::is_same_v<Real, float>) {
        if (shape.solver != dense::Factorisation::cholesky) return nullptr;
        if (detail::matches<12, 3>(shape)) return detail::register_kernel<12, 3>(shape.statistic);
        if (detail::matches<18, 3>(shape)) return detail::register_kernel<18, 3>(shape.statistic);
        if (detail::matches<24, 3>(shape)) return detail::register_kernel<24, 3>(shape.statistic);
        if (detail::matches<4, 1>(shape)) return detail::register_kernel<4, 1>(shape.statistic);
        if (detail::matches<8, 1>(shape)) return detail::register_kernel<8, 1>(shape.statistic);
        if (detail::matches<16, 1>(shape)) return detail::register_kernel<16, 1>(shape.statistic);
        if (detail::matches<32, 1>(shape)) return detail::register_kernel<32, 1>(shape.statistic);
    }
    return nullptr;
}

#if defined(__CUDACC__)
/// The register-resident kernel of a shape, compiled on first use; empty without a run-time
/// compiler.
template <class Real>
core::SpecialisedKernel<void(AdaptiveArguments<Real>)> specialised_kernel(
    core::Gpu& gpu, const AdaptiveShape& shape);
#else
namespace detail {
template <class Real, int order, bool cholesky>
AdaptiveKernel<Real> kernel_on_host(bool statistic) {
    constexpr AdaptiveTuning t = adaptive_tuning(order, 3, sizeof(Real) == 8, cholesky);
    using Policy = AdaptivePolicy<3, t.bins, t.threads, t.blocks>;
    using Solver = std::conditional_t<cholesky, RollingSolver<Real, order, t.lanes, 3, t.head>,
                                      RegisterSolver<Real, order, t.lanes, t.slots>>;
    return statistic ? &adapt_kernel<Real, Policy, Solver, true>
                     : &adapt_kernel<Real, Policy, Solver, false>;
}
}  // namespace detail
/// The host executor has the run-time compiled kernels of two shapes only.
template <class Real>
AdaptiveKernel<Real> specialised_kernel(core::Simt&, const AdaptiveShape& shape) {
    const bool cholesky = shape.solver == dense::Factorisation::cholesky;
    if (detail::matches<9, 3>(shape)) {
        return cholesky ? detail::kernel_on_host<Real, 9, true>(shape.statistic)
                        : detail::kernel_on_host<Real, 9, false>(shape.statistic);
    }
    if (detail::matches<21, 3>(shape) && cholesky) {
        return detail::kernel_on_host<Real, 21, true>(shape.statistic);
    }
    return nullptr;
}
#endif

namespace detail {

// Launches the kernel of an order, in registers if possible.
template <class Real, class Executor, int Taps>
void launch_adaptive(Executor& executor, const Problem& problem, AdaptiveArguments<Real> arguments,
                     bool statistic, std::integral_constant<int, Taps>) {
    constexpr bool fp64 = sizeof(Real) == sizeof(double);
    const AdaptiveShape shape{problem.order, Taps, problem.parameters.solver, statistic};
    const bool cholesky = shape.solver == dense::Factorisation::cholesky;
    const auto needs_of = [&](const AdaptiveTuning& tuning, bool in_registers) {
        SharedNeeds needs = cube_needs(problem, arguments.plan, tuning.bins, sizeof(Real));
        needs.vectors = arguments.steering.count;
        needs.outputs = set_outputs(arguments.plan, statistic);
        needs.block_solver = !in_registers;
        needs.column_solver = in_registers && cholesky;
        needs.head = tuning.head;
        if (needs.head > 0) needs.paired_taps = Taps;
        needs.square = !in_registers && !cholesky;
        return needs;
    };

    AdaptiveTuning tuning = adaptive_tuning(problem.order, Taps, fp64, cholesky);
    std::optional<SharedLayout> layout;
    if (tuning.lanes > 0) {
        layout = plan_shared_memory(needs_of(tuning, true), tuning.blocks,
                                    executor.shared_memory_per_block());
    }
    const AdaptiveKernel<Real> precompiled = layout ? precompiled_kernel<Real>(shape) : nullptr;
    decltype(specialised_kernel<Real>(executor, shape)) specialised{};
    if (layout && !precompiled) specialised = specialised_kernel<Real>(executor, shape);
    if (!precompiled && !specialised) {
        tuning = generic_tuning;
        layout = shared_layout(executor, needs_of(tuning, false), tuning.blocks);
    }
    arguments.layout = *layout;
    arguments.turns = grid_of(arguments.sets * groups_of(problem.doppler_bins, tuning.bins));
    unsigned blocks = arguments.turns;
    if (arguments.attempts.number.data != nullptr && problem.parameters.training != Training::all) {
        const auto at_once = static_cast<unsigned>(executor.multiprocessors() * tuning.blocks);
        blocks = std::min((arguments.turns + repetition_turns - 1) / repetition_turns, at_once);
    }
    core::LaunchConfig config(blocks, static_cast<unsigned>(tuning.threads),
                              static_cast<std::size_t>(arguments.layout.bytes));
    config.start_early = true;
    arguments.splits =
        splits_of<Taps>(problem, tuning.bins, arguments.layout.columns, tuning.threads);
    if (precompiled) {
        core::launch(executor, precompiled, config, arguments);
        return;
    }
    if (specialised) {
        core::launch(executor, specialised, config, arguments);
        return;
    }
    with_solver(problem.parameters.solver, [&](auto elimination) {
        using Solver = BlockSolver<Real, decltype(elimination)::value>;
        core::launch(executor,
                     statistic ? &adapt_kernel<Real, GenericPolicy<Taps>, Solver, true>
                               : &adapt_kernel<Real, GenericPolicy<Taps>, Solver, false>,
                     config, arguments);
    });
}

}  // namespace detail

}  // namespace aperture::stap::gpu
