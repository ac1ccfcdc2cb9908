// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launches the one-kernel pipeline.

#include <optional>

#include "libstap/gpu/register_kernels.cuh"

namespace aperture::stap::gpu {

/// Launches the kernel of an order, in registers if possible.
template <class Real, class Executor>
void launch_adaptive(Executor& executor, const Problem& problem, AdaptiveArguments<Real> arguments,
                     bool statistic) {
    constexpr bool fp64 = sizeof(Real) == sizeof(double);
    const int taps = problem.parameters.temporal_taps;
    const AdaptiveShape shape{problem.order, taps, problem.parameters.solver, statistic};
    const bool cholesky = shape.solver == dense::Factorisation::cholesky;
    const auto needs_of = [&](const AdaptiveTuning& tuning, bool in_registers) {
        SharedNeeds needs = detail::cube_needs(problem, arguments.plan, tuning.bins, sizeof(Real));
        needs.vectors = arguments.steering.count;
        needs.outputs = detail::set_outputs(arguments.plan, statistic);
        needs.block_solver = !in_registers;
        needs.column_solver = in_registers && cholesky;
        needs.head = tuning.head;
        needs.square = !in_registers && !cholesky;
        return needs;
    };

    AdaptiveTuning tuning = adaptive_tuning(problem.order, taps, fp64, cholesky);
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
        layout = detail::shared_layout(executor, needs_of(tuning, false), tuning.blocks);
    }
    arguments.layout = *layout;
    arguments.turns =
        core::blocks_for(arguments.sets * detail::groups_of(problem.doppler_bins, tuning.bins), 1);
    unsigned blocks = arguments.turns;
    if (arguments.attempts.number.data != nullptr && problem.parameters.training != Training::all) {
        const auto at_once = static_cast<unsigned>(executor.multiprocessors() * tuning.blocks);
        blocks = std::min((arguments.turns + repetition_turns - 1) / repetition_turns, at_once);
    }
    core::LaunchConfig config(blocks, static_cast<unsigned>(tuning.threads),
                              static_cast<std::size_t>(arguments.layout.bytes));
    config.start_early = true;
    arguments.splits =
        detail::splits_of(problem, tuning.bins, arguments.layout.columns, tuning.threads);
    if (precompiled) return core::launch(executor, precompiled, config, arguments);
    if (specialised) return core::launch(executor, specialised, config, arguments);
    detail::with_taps(taps, [&](auto t) {
        detail::with_solver(shape.solver, [&](auto elimination) {
            using Policy = GenericPolicy<decltype(t)::value>;
            using Solver = BlockSolver<Real, decltype(elimination)::value>;
            core::launch(executor,
                         statistic ? &adapt_kernel<Real, Policy, Solver, true>
                                   : &adapt_kernel<Real, Policy, Solver, false>,
                         config, arguments);
        });
    });
}

/// Outputs, and statistics if `statistic`, by the one-kernel pipeline. With `repeats`, only for
/// matrices whose info and pivot ratio show that fp32 does not suffice (Real = double).
template <class Real, class Executor>
void run_fused(const AdaptiveRun<Executor>& run, bool statistic, bool repeats = false) {
    const Results<typename Executor::Space>& results = run.results;
    auto arguments = detail::common_arguments<Real>(run);
    arguments.detector = run.problem.parameters.detector;
    arguments.attempts.info = detail::info_of(run);
    if (!results.output.empty()) arguments.output = detail::range_rows(results.output);
    if (statistic) arguments.statistic = detail::range_rows(results.statistic);
    arguments.attempts.number =
        repeats ? core::kernel_view(results.attempt) : detail::attempt_of_all(run);
    if (!run.trains_on_all()) {
        arguments.attempts.pivot_ratio = core::kernel_view(results.pivot_ratio);
        if (!results.covariance.empty())
            arguments.covariance = core::kernel_view(results.covariance);
        if (!results.weights.empty()) arguments.weights = core::kernel_view(results.weights);
    }
    launch_adaptive<Real>(run.executor, run.problem, arguments, statistic);
}

}  // namespace aperture::stap::gpu
