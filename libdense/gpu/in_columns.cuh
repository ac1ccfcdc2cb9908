// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels with a problem in the registers of `lanes` threads, unrolled to the last index: see
// general_columns.cuh. With lanes = 1 a thread has a problem.
//
// Block, grid and shared memory as in in_rows.cuh, where right-hand sides are rows behind those of
// the matrix. Bytes and flops per problem as in lu_in_block.cuh.
// Source: Anderson 2014, ch. 4 (one problem in the registers of a thread or a group of threads); Ha
// et al. 2013, section III-E.4 (contiguous groups without barriers).

#include "libdense/gpu/general_columns.cuh"
#include "libdense/gpu/warp_tile.cuh"

namespace aperture::dense {

/// Loads the lane's columns of A and of what is behind it; `side(row, r)` is called once all have
/// arrived, of which others may be loaded `by_blocks`.
template <int order, int slots, class T, int lanes, class Side>
__device__ __forceinline__ void load_columns(T (&columns)[slots][order],
                                             const RowsPosition<lanes>& at,
                                             const WarpArea<T>& shared,
                                             const KernelView<const T, 3>& batch, bool by_blocks,
                                             Side side) {
    const StagedMatrices<T, order, order, lanes> a(at, shared, batch);
    a.load(batch);
    wait_for_matrices(by_blocks || a.by_blocks(batch));
    fill_general_columns<lanes, order>(
        columns, at.lane, [&](int row, int column) { return a.row(row)[column]; }, side);
    __syncwarp();
}
template <int order, int slots, class T, int lanes>
__device__ __forceinline__ void load_columns(T (&columns)[slots][order],
                                             const RowsPosition<lanes>& at,
                                             const WarpArea<T>& shared,
                                             const KernelView<const T, 3>& batch) {
    load_columns(columns, at, shared, batch, false, [](int, int) { return T(RealOf<T>(0)); });
}

/// Blocks that are asked for. H100, fp32, percent of the bound of order 16 without and with: 60 68.
template <class T>
constexpr int solve_blocks(int entries) {
    return sizeof(T) == 4 && entries > 64 ? resident_blocks(entries + 32) : 1;
}

/// Solves A X = B of general matrices for up to `sides` right-hand sides.
template <class T, int order, int sides, int lanes, GeneralElimination elimination>
__global__ void __launch_bounds__(rows_threads,
                                  (solve_blocks<T>(((order + sides + lanes - 1) / lanes + 1) *
                                                   order))) solve_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + sides + lanes - 1) / lanes;
    constexpr bool exchange = elimination == GeneralElimination::pivoted_lu;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, order, lanes);
    const StagedMatrices<T, sides, order, lanes> x(
        at,
        warp_area(core::shared<T>() + rows_shared_entries<T>(order, order, lanes), sides, order,
                  lanes),
        p.x);
    x.load(p.x);
    T columns[slots][order];
    load_columns(columns, at, shared, p.a, x.by_blocks(p.x),
                 [&](int row, int r) { return r < sides ? x.row(r)[row] : T(RealOf<T>(0)); });
    int info = 0;
    if constexpr (elimination == GeneralElimination::gauss_jordan) {
        eliminate_general<Elimination::above_and_below, exchange, lanes>(columns, info);
    } else {
        eliminate_general<Elimination::below, exchange, lanes>(columns, info);
        back_substitute<lanes>(columns, at.lane);
    }
    for_each_solution<lanes>(columns, at.lane, [&](int row, int r, T value) {
        if (r < sides) x.row(r)[row] = info == 0 ? value : T(RealOf<T>(0));
    });
    x.store(p.x);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// P A = L U, the determinant, or both.
template <class T, int order, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads) lu_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + lanes - 1) / lanes;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, order, lanes);
    T columns[slots][order];
    load_columns(columns, at, shared, p.a);
    int info = 0;
    const bool reports = at.exists() && at.lane == 0;
    bool odd = false;
    int exchanged[slots] = {};
    factor_lu_in_columns<exchange, lanes>(columns, at.lane, info, [&](int k, int row) {
        odd = odd != (row != k);
        if (at.lane == k % lanes) exchanged[k / lanes] = row;
    });
    if (!p.determinant.empty()) {
        T product = T(RealOf<T>(odd ? -1 : 1));
        APERTURE_UNROLL
        for (int k = 0; k < order; ++k) {
            product = product * core::broadcast<lanes>(columns[k / lanes][k], k % lanes);
        }
        if (reports) p.determinant(at.problem()) = product;
    }
    if (!p.lu.empty()) {
        const StagedMatrices<T, order, order, lanes> lu(at, shared, p.lu);
        for_each_column_entry<lanes, order>(
            columns, at.lane, [&](int row, int column, T value) { lu.row(row)[column] = value; });
        lu.store(p.lu);
    }
    if (!p.pivots.empty()) {
        __syncwarp();
        const auto batch = as_rows(p.pivots);
        static_assert(rows_shared_bytes<int>(1, order, lanes) <=
                      rows_shared_bytes<T>(order, order, lanes));
        const WarpArea<int> its_shared(reinterpret_cast<int*>(core::shared<T>()),
                                       shared.stride * static_cast<int>(sizeof(T) / sizeof(int)));
        const StagedMatrices<int, 1, order, lanes> pivots(at, its_shared, batch);
        APERTURE_UNROLL
        for (int slot = 0; slot < slots; ++slot) {
            const int k = slot * lanes + at.lane;
            if (k < order) pivots.row(0)[k] = exchanged[slot];
        }
        pivots.store(batch);
    }
    if (reports && !p.info.empty()) p.info(at.problem()) = info;
}

/// A^-1, with partial pivoting.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) inverse_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + lanes - 1) / lanes;
    const RowsPosition<lanes> at(p.a.extent[0]);
    const WarpArea<T> shared = warp_area(core::shared<T>(), order, order, lanes);
    T columns[slots][order];
    load_columns(columns, at, shared, p.a);
    int info = 0;
    int rows[order];
    invert_in_columns<lanes>(columns, at.lane, info, rows);
    const StagedMatrices<T, order, order, lanes> inverse(at, shared, p.inverse);
    for_each_column_entry<lanes, order>(columns, at.lane, [&](int row, int column, T value) {
        inverse.row(row)[exchanged_column(rows, column)] = info == 0 ? value : T(RealOf<T>(0));
    });
    inverse.store(p.inverse);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

}  // namespace aperture::dense
