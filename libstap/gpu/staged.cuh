// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kernel per stage (Anderson 2014, ch. 4), each wrapping a stage of the fused kernel, and the sum
// over all range cells for Training::all.

#include "libstap/gpu/attempts.cuh"

namespace aperture::stap::gpu {

/// Covariances of one training set in neighbouring Doppler bins, from the cube or from materialised
/// snapshots (then Policy::bins is 1). Block: Policy::bins bins, one set; threads as in
/// accumulate_covariance. Grid: sets x ceil(K / bins) on x. Shared: tile, sums, normalisations of
/// SharedLayout. Bytes per matrix: 8 n N_R read (8 L N_R (bins + T - 1) / bins from the cube),
/// sizeof(Complex<Real>) n^2 written; flops: 4 n^2 N_R. `attempt`: of the sums over all cells, data
/// may be null. `total`: as in AdaptiveArguments. Source: PERFECT suite, outer products.
template <class Real, class Policy, class Source>
__global__ void __launch_bounds__(Policy::threads, Policy::blocks)
    covariance_kernel(Source source, TrainingPlan plan, index_t sets, Loading loading,
                      KernelView<int, 2> attempt, const Complex<Real>* total,
                      KernelView<Complex<Real>, 4> covariance, int splits, SharedLayout layout) {
    const AdaptiveBlock<CovarianceGroup<Real>, Policy> block(source, plan, sets, false, layout);
    estimate_group(
        block, plan, total, [&](int q) { return loading_at(block, attempt, loading, q); },
        loads_relatively(block, attempt, loading), layout, splits);
    store_covariances(block.group, block.work->first_bin, block.work->columns.set, covariance);
}

/// Sums of outer products over all range cells of a cube or of a piece of it. Block: Policy::bins
/// Doppler bins, tile after tile in order, so that a piece that begins at a multiple of
/// layout.columns continues the sum with identical bits. Grid: ceil(K / bins). Shared: tile and
/// sums of SharedLayout. Bytes per bin: 8 L N (bins + T - 1) / bins read; flops: 4 n^2 N. `plan`
/// has as many cells as the cube has columns; `total` is [k][packed triangle], to which the kernel
/// adds if `keep`.
template <class Real, class Policy>
__global__ void __launch_bounds__(Policy::threads, Policy::blocks)
    total_kernel(DopplerCube cube, TrainingPlan plan, bool keep, Complex<Real>* all_total,
                 int splits, SharedLayout layout) {
    const AdaptiveBlock<CovarianceGroup<Real>, Policy> block(cube, plan, 1, false, layout);
    __syncthreads();
    const index_t packed = triangle_elements(block.order, false);
    Complex<Real>* total = all_total + block.work->first_bin * packed;
    if (keep) {
        for (int i = core::thread_rank(); i < block.work->matrices * packed;
             i += core::block_threads()) {
            block.group.triangles.data[i / packed * layout.triangle_stride + i % packed] = total[i];
        }
    }
    for (index_t begin = 0; begin < plan.range_cells; begin += layout.columns) {
        const index_t left = plan.range_cells - begin;
        const int columns = static_cast<int>(left < layout.columns ? left : layout.columns);
        __syncthreads();
        const bool in_pairs = block.work->pairs_of_cells && begin % 2 == 0;
        load_snapshot_tile(block.tile, block.rows, in_pairs, Policy::window, begin, columns);
        accumulate_covariance<Policy::taps, Policy::bins>(
            block.tile, parts_of_tile(in_pairs, columns), columns, block.group,
            Accumulation{keep || begin > 0, false}, splits);
    }
    __syncthreads();
    for (int i = core::thread_rank(); i < block.work->matrices * packed;
         i += core::block_threads()) {
        total[i] = block.group.triangles.data[i / packed * layout.triangle_stride + i % packed];
    }
}

/// Weights from covariances in global memory. Block: `Bins` Doppler bins of one set, solved by
/// `Solver`. Grid: sets x ceil(K / Bins) on x. Shared: triangles, right-hand sides and
/// normalisations of SharedLayout. Bytes per matrix: sizeof(Complex<Real>) (n^2 / 2 + n D); flops:
/// 4/3 n^3 + 8 n^2 D. Source: Anderson 2014, ch. 4 and 6.3.
template <class Real, class Solver, int Bins, int Threads>
__global__ void __launch_bounds__(Threads)
    weights_kernel(KernelView<const Complex<Real>, 4> covariance, SteeringVectors steering,
                   KernelView<Complex<Real>, 4> weights, KernelView<int, 2> info,
                   KernelView<float, 2> pivot_ratio, SharedLayout layout) {
    unsigned char* memory = core::shared<unsigned char>();
    const auto sets = static_cast<unsigned>(covariance.extent[1]);
    const int order = static_cast<int>(covariance.extent[2]);
    const index_t set = blockIdx.x % sets;
    const int first_bin = static_cast<int>(blockIdx.x / sets) * Bins;
    const int left = static_cast<int>(covariance.extent[0]) - first_bin;
    const int matrices = left < Bins ? left : Bins;
    auto* normalisations = reinterpret_cast<Normalisation<Real>*>(memory + layout.normalisations);
    const CovarianceGroup<Real> group{
        {reinterpret_cast<Complex<Real>*>(memory + layout.sums), Solver::square ? order : 0},
        layout.triangle_stride,
        normalisations,
        order,
        matrices};
    const int entries = order * order;
    for (int i = core::thread_rank(); i < matrices * entries; i += core::block_threads()) {
        const int q = i / entries;
        const int row = i % entries / order;
        const int column = i % order;
        if (column > row) continue;
        group.triangle(q)(row, column) = covariance(first_bin + q, set, row, column);
    }
    // These covariances are already normalised.
    if (core::thread_rank() < matrices) {
        normalisations[core::thread_rank()] = {Real(1), Real(0)};
    }
    __syncthreads();
    Solver solver;
    solver.solve(
        group, steering,
        SolverSpace<Real>{reinterpret_cast<Complex<Real>*>(memory + layout.right_hand_sides),
                          layout.solver_columns, nullptr, 0, true},
        [&](int q, int row, int d, Complex<Real> w) { weights(first_bin + q, set, d, row) = w; },
        [&](int q, const dense::Pivots<Real>& pivots) {
            info(first_bin + q, set) = pivots.info;
            if (pivot_ratio.data != nullptr) {
                pivot_ratio(first_bin + q, set) = static_cast<float>(pivots.ratio());
            }
        });
}

/// Outputs from weights in global memory, rounded to fp32. Block: Policy::bins bins of one set;
/// threads as in apply_weights. Grid: sets x ceil(K / bins) on x. Shared: weights and gains of
/// SharedLayout. Bytes per bin and set: 8 n N_R (or a part of it from the cube) and
/// sizeof(Complex<Real>) n D read, 8 D N_R written; flops: 8 n D N_R. Source: PERFECT suite, inner
/// products.
template <class Real, class Policy, class Source>
__global__ void __launch_bounds__(Policy::threads, Policy::blocks)
    weighting_kernel(Source source, TrainingPlan plan, index_t sets, SteeringVectors steering,
                     KernelView<const Complex<Real>, 4> weights,
                     KernelView<Complex<float>, 3> output, SharedLayout layout) {
    const AdaptiveBlock<CovarianceGroup<float>, Policy> block(source, plan, sets, false, layout);
    __syncthreads();
    const int vectors = steering.count;
    for (int i = core::thread_rank(); i < block.work->matrices * block.order * vectors;
         i += core::block_threads()) {
        const int d = i % vectors;
        const int row = i / vectors % block.order;
        const int q = i / vectors / block.order;
        const Complex<Real> w = weights(block.work->first_bin + q, block.work->columns.set, d, row);
        block.weights(q, row, d) = {static_cast<float>(w.re), static_cast<float>(w.im)};
    }
    __syncthreads();
    compute_gains(block.weights, steering, block.order, block.work->matrices, block.gains);
    __syncthreads();
    const AdaptedCells to{output,
                          {},
                          Detector::none,
                          false,
                          block.work->set.training_cells,
                          nullptr,
                          0,
                          block.gains,
                          block.weights.row_stride};
    const OutputColumns columns{block.work->set.output_begin, block.work->set.output_end,
                                block.work->set.first - plan.cell_begin, 0};
    apply_weights<false, true, false>(block.rows, block.weights, vectors, block.work->first_bin,
                                      MatricesToWeight(false, block.work->matrices),
                                      block.work->pairs_of_cells, nullptr, to, columns);
}

/// Rounds matrices in workspace to fp32 results. Thread: one entry. Grid: ceil(entries / threads)
/// on x. Bytes per entry: sizeof(Complex<Real>) read, 8 written.
template <class Real>
__global__ void __launch_bounds__(128)
    round_matrices_kernel(KernelView<const Complex<Real>, 4> from,
                          KernelView<Complex<float>, 4> to) {
    const index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const index_t entries = to.extent[2] * to.extent[3];
    const index_t b = i / entries % to.extent[1];
    const index_t k = i / entries / to.extent[1];
    if (k >= to.extent[0]) return;
    const index_t row = i % entries / to.extent[3];
    const index_t column = i % to.extent[3];
    const Complex<Real> value = from(k, b, row, column);
    to(k, b, row, column) = {static_cast<float>(value.re), static_cast<float>(value.im)};
}

/// Combines the info of a Doppler bin's cells: if the sum over all cells is good, -1-r for the
/// first cell r without a factor. Block: one bin, a warp. Grid: bins. Bytes: 4 per cell.
template <int Threads>
__global__ void __launch_bounds__(Threads)
    combine_info_kernel(KernelView<const int, 2> cells, index_t count, index_t first_cell,
                        KernelView<int, 2> info, KernelView<int, 2> attempt) {
    static_assert(Threads == core::warp_size);
    constexpr index_t none = 0x7fffffff;
    const index_t k = blockIdx.x;
    index_t first = none;
    for (index_t i = threadIdx.x; i < count && first == none; i += Threads) {
        if (cells(k, i) != 0) first = i;
    }
    const int cell = core::warp_reduce(static_cast<int>(first), core::Minimum{});
    // With training on all cells the first attempt is already in fp64.
    if (threadIdx.x == 0 && attempt.data != nullptr && attempt(k, 0) == fp64_attempt)
        attempt(k, 0) = first_attempt;
    if (threadIdx.x != 0 || cell == none || info(k, 0) != 0) return;
    info(k, 0) = -1 - static_cast<int>(first_cell) - cell;
}

}  // namespace aperture::stap::gpu
