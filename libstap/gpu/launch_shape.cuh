// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection by problem, shared memory and grids of the adaptive kernels.

#include <type_traits>

#include "libstap/gpu/adaptation.cuh"
#include "libstap/gpu/shared_layout.cuh"
#include "libstap/gpu/tuning.hpp"

namespace aperture::stap::gpu {

template <int taps>
using GenericPolicy =
    AdaptivePolicy<taps, generic_tuning.bins, generic_tuning.threads, generic_tuning.blocks>;

namespace detail {

template <class Visit>
void with_taps(int taps, Visit visit) {
    if (taps == 1) visit(std::integral_constant<int, 1>{});
    if (taps == 3) visit(std::integral_constant<int, 3>{});
    if (taps == 5) visit(std::integral_constant<int, 5>{});
}

/// The type in which the first attempt computes covariances and solutions.
template <class Visit>
void with_real(const Problem& problem, Visit visit) {
    if (starts_in_fp64(problem)) {
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

inline index_t groups_of(int doppler_bins, int bins) { return (doppler_bins + bins - 1) / bins; }

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
inline int splits_of(const Problem& problem, int bins, int columns, int threads) {
    const int taps = problem.parameters.temporal_taps;
    const int part = bins_of_part(bins);
    const int window = part + taps - 1;
    const int channels = channels_of_tile(taps);
    int products = 0;
    for (int u = 0; u < window; ++u) {
        for (int v = 0; v < window; ++v) products += share_a_snapshot(taps, part, u, v);
    }
    const int groups = (static_cast<int>(problem.shape.channels) + channels - 1) / channels;
    const int pairs = groups * (groups + 1) / 2 * (bins / part);
    return covariance_splits(pairs, products * channels * channels, columns, threads);
}

/// One block per set and Doppler bin.
inline core::LaunchConfig generic_config(const Problem& problem, index_t sets,
                                         const SharedLayout& layout) {
    return {core::blocks_for(sets * groups_of(problem.doppler_bins, generic_tuning.bins), 1),
            static_cast<unsigned>(generic_tuning.threads), static_cast<std::size_t>(layout.bytes)};
}

}  // namespace detail

}  // namespace aperture::stap::gpu
