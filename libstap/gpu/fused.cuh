// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one-kernel pipeline: from a Doppler cube to outputs and statistics, without intermediate
// results in global memory.

#include "libstap/gpu/attempts.cuh"
#include "libstap/gpu/rolling_solver.cuh"

namespace aperture::stap::gpu {

template <class Real>
struct AdaptiveArguments {
    DopplerCube cube;
    TrainingPlan plan;
    index_t sets;
    unsigned turns;  ///< (group of Doppler bins, set) pairs; fp64 loops over them with fewer blocks
    Loading loading;
    const Complex<Real>* total;  ///< [k][packed triangle], sums over all cells; TrainingCells::all
    SteeringVectors steering;
    KernelView<Complex<float>, 3> output;  ///< data may be null
    KernelView<float, 3> statistic;        ///< with Statistic only
    Attempts attempts;                     ///< data may be null, as in the following
    KernelView<Complex<float>, 4> covariance;
    KernelView<Complex<float>, 4> weights;
    Detector detector;
    int splits;  ///< lanes that split the cells of a pair of channels
    SharedLayout layout;
};

/// Stores the info of a group: the solver's, or the first cell that cannot be removed (-1-r). One
/// warp per matrix.
template <class Group, class Policy>
__device__ void store_info(const AdaptiveBlock<Group, Policy>& block, const KernelView<int, 2>& to,
                           bool by_warp, bool removes_cells) {
    constexpr int none = 0x7fffffff;
    const MatricesOfWarp own(by_warp, block.work->matrices);
    for (int q = own.begin; q < own.end; q += own.step) {
        int first = none;
        const int outputs = block.work->set.output_end - block.work->set.output_begin;
        if (removes_cells) {
            const float* forms = block.forms + q * outputs;
            const float cells = static_cast<float>(block.work->set.training_cells);
            for (int i = core::lane_rank(); i < outputs && first == none; i += core::warp_size) {
                if (!stays_definite(forms[i] * (1.0f / cells), cells)) first = i;
            }
            first = core::warp_reduce(first, core::Minimum{});
        }
        if (core::lane_rank() != 0 || to.data == nullptr) continue;
        const int begin = static_cast<int>(block.work->set.first) + block.work->set.output_begin;
        const int left = first == none ? 0 : -1 - begin - first;
        to(block.work->first_bin + q, block.work->columns.set) =
            block.info[q] != 0 ? block.info[q] : left;
    }
}

/// Makes the results of the warp, or of the block, visible to its other lanes.
template <bool by_warp>
__device__ __forceinline__ void wait_for_weights() {
    if constexpr (by_warp) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/// One attempt of a block; see adapt_kernel.
template <bool Statistic, class Solver, class Real, class Block, class LoadingOf>
__device__ __forceinline__ void adapt_block(Block& block, const AdaptiveArguments<Real>& p,
                                            LoadingOf loading_of, bool relative) {
    block.group.allow_sharing(!relative);
    estimate_group(block, p.plan, p.total, loading_of, relative, p.layout, p.splits);
    if (p.covariance.data != nullptr) {
        store_covariances(block.group, block.work->first_bin, block.work->columns.set,
                          p.covariance);
        __syncthreads();
    }

    const int vectors = p.steering.count;
    Solver solver;
    const auto rounded = [](Complex<Real> w) {
        return Complex<float>(static_cast<float>(w.re), static_cast<float>(w.im));
    };
    const auto report = [&](int q, const dense::Pivots<Real>& pivots) {
        block.info[q] = pivots.info;
        if (p.attempts.pivot_ratio.data != nullptr) {
            p.attempts.pivot_ratio(block.work->first_bin + q, block.work->columns.set) =
                static_cast<float>(pivots.ratio());
        }
    };
    if constexpr (Solver::computes_forms) {
        // v^H R^-1 v equals w^H v; real and positive.
        solver.solve(
            block.group, p.steering, block.space,
            [&](int q, int tile_row, int d, Complex<Real> w) {
                block.weights.of_tile_row(q, tile_row, d) = rounded(w);
            },
            report,
            [&](int q, int d, Real form) {
                block.gains[q * block.weights.row_stride + d] = {
                    form > Real(0) ? static_cast<float>(Real(1) / form) : 0.0f,
                    static_cast<float>(form)};
            });
        wait_for_weights<Solver::by_warp>();
    } else {
        solver.solve(
            block.group, p.steering, block.space,
            [&](int q, int row, int d, Complex<Real> w) { block.weights(q, row, d) = rounded(w); },
            report);
        __syncthreads();
        compute_gains(block.weights, p.steering, block.order, block.work->matrices, block.gains);
        __syncthreads();
    }
    if (p.weights.data != nullptr) {
        __syncthreads();
        store_weights(block.weights, block.order, vectors, block.work->matrices,
                      block.work->first_bin, block.work->columns.set, p.weights);
    }

    const int outputs = block.work->set.output_end - block.work->set.output_begin;
    if constexpr (Statistic) {
        solver.quadratic_forms(block.group, block.space, block.rows, block.work->set.output_begin,
                               block.work->set.output_end, [&](int q, int cell, Real form) {
                                   block.forms[q * outputs + cell - block.work->set.output_begin] =
                                       static_cast<float>(form);
                               });
        wait_for_weights<Solver::by_warp>();
    }
    const bool removes_cell = Statistic && p.plan.kind == TrainingCells::block;
    store_info(block, p.attempts.info, Solver::by_warp, removes_cell);

    const AdaptedCells to{p.output,
                          p.statistic,
                          p.detector,
                          removes_cell,
                          block.work->set.training_cells,
                          block.forms,
                          outputs,
                          block.gains,
                          block.weights.row_stride};
    const OutputColumns columns{block.work->set.output_begin, block.work->set.output_end,
                                block.work->set.first - p.plan.cell_begin,
                                -block.work->set.output_begin};
    // Wide items need registers that only these kernels have. A warp that works by itself no longer
    // needs its factors; its ring of cells reuses their memory.
    constexpr bool wide = Solver::by_warp && !Statistic;
    apply_weights<Statistic, wide, wide>(
        block.rows, block.weights, vectors, block.work->first_bin,
        MatricesToWeight(Solver::by_warp, block.work->matrices), block.work->pairs_of_cells,
        reinterpret_cast<Complex<float>*>(block.space.factor(2 * core::warp_rank())), to, columns);
}

/// Adaptive processing of a few neighbouring Doppler bins and one training set: covariances,
/// weights, gamma, outputs and, with `Statistic`, detection statistics.
///
/// Block: Policy::bins Doppler bins, one training set. Warp and thread: first products of pairs of
/// channels (accumulate_covariance), then columns of R and v (RollingSolver, RegisterSolver) or
/// entries in shared memory (BlockSolver), then 16 vectors x 32 or 64 cells of the output per warp
/// (apply_weights). Grid: sets x ceil(K / bins) on x, sets fastest; when repeating matrices, fewer
/// blocks that loop over these.
/// Shared: SharedLayout from `plan_shared_memory`.
/// Bytes per bin and set: 8 L (bins + T - 1) / bins N_R read, and 8 n N_R once more through the
/// cache, 8 D N_R written (4 more with a statistic). Flops: 4 n^2 N_R (of which neighbouring bins
/// share a third for T = 3 and 4 bins) + 4/3 n^3 + 8 n^2 D + 8 n D N_R; a statistic adds 4 n^2 N_R.
/// Source: PERFECT suite 2013; Anderson 2014, ch. 4 to 6; Robey et al. 1992.
template <class Real, class Policy, class Solver, bool Statistic>
__global__ void __launch_bounds__(Policy::threads, Policy::blocks)
    adapt_kernel(AdaptiveArguments<Real> p) {
    constexpr bool fp64 = sizeof(Real) == sizeof(double);
    const bool is_total = p.plan.kind == TrainingCells::total;
    // With training on all cells nothing is repeated: cells use the loading found for the sums.
    const bool repeats =
        fp64 && p.attempts.number.data != nullptr && p.plan.kind != TrainingCells::all;
    if (repeats && !is_total) {
        core::let_next_kernel_start();
        core::wait_for_previous_kernel();
        if (!any_needs_another(p.attempts, p.turns, p.sets, p.cube.doppler_bins, Policy::bins,
                               p.cube.channels * Policy::taps))
            return;
    }
    unsigned turn = blockIdx.x;
    do {
        AdaptiveBlock<typename Solver::Group, Policy> block(p.cube, p.plan, p.sets, Solver::square,
                                                            p.layout, turn);
        core::let_next_kernel_start();
        core::wait_for_previous_kernel();
        if (!repeats || start_repetition(block, p.attempts, is_total)) {
            do {
                const KernelView<int, 2> number = fp64 ? p.attempts.number : KernelView<int, 2>{};
                adapt_block<Statistic, Solver>(
                    block, p, [&](int q) { return loading_at(block, number, p.loading, q); },
                    loads_relatively(block, number, p.loading));
            } while (repeats && repeat_failed(block, p.attempts));
        }
        turn += gridDim.x;
        if (fp64) __syncthreads();
    } while (fp64 && turn < p.turns);
}

}  // namespace aperture::stap::gpu
