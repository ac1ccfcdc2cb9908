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

/// Loads the lane's columns of [A | B]; then the tile is free.
template <int order, int sides, int slots, class T, int tile_rows, int lanes>
__device__ __forceinline__ void load_columns(T (&columns)[slots][order],
                                             const WarpTile<T, tile_rows, order, lanes>& tile) {
    fill_general_columns<lanes, order>(
        columns, tile.at.lane, [&](int row, int column) { return tile.row(row)[column]; },
        [&](int row, int r) { return r < sides ? tile.row(order + r)[row] : T(RealOf<T>(0)); });
    __syncwarp();
}

/// Solves A X = B of general matrices for up to `sides` right-hand sides.
template <class T, int order, int sides, int lanes, GeneralElimination elimination>
__global__ void __launch_bounds__(rows_threads) solve_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + sides + lanes - 1) / lanes;
    constexpr bool exchange = elimination == GeneralElimination::pivoted_lu;
    const WarpTile<T, order + sides, order, lanes> tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order>(p.a);
    tile.template load<sides, order>(p.x, order);
    tile.wait();
    T columns[slots][order];
    load_columns<order, sides>(columns, tile);
    int info = 0;
    if constexpr (elimination == GeneralElimination::gauss_jordan) {
        eliminate_general<Elimination::above_and_below, exchange, lanes>(columns, info);
    } else {
        eliminate_general<Elimination::below, exchange, lanes>(columns, info);
        back_substitute<lanes>(columns, at.lane);
    }
    for_each_solution<lanes>(columns, at.lane, [&](int row, int r, T value) {
        if (r < sides) tile.row(order + r)[row] = info == 0 ? value : T(RealOf<T>(0));
    });
    tile.template store<sides, order>(p.x, order);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

/// P A = L U, the determinant, or both.
template <class T, int order, int lanes, bool exchange>
__global__ void __launch_bounds__(rows_threads) lu_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + lanes - 1) / lanes;
    const WarpTile<T, order, order, lanes> tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order>(p.a);
    tile.wait();
    T columns[slots][order];
    load_columns<order, 0>(columns, tile);
    int info = 0;
    const bool reports = at.exists() && at.lane == 0;
    bool odd = false;
    factor_lu_in_columns<exchange, lanes>(columns, at.lane, info, [&](int k, int row) {
        odd = odd != (row != k);
        if (reports && !p.pivots.empty()) p.pivots(at.problem(), k) = row;
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
        for_each_column_entry<lanes, order>(
            columns, at.lane, [&](int row, int column, T value) { tile.row(row)[column] = value; });
        tile.template store<order, order>(p.lu);
    }
    if (reports && !p.info.empty()) p.info(at.problem()) = info;
}

/// A^-1, with partial pivoting.
template <class T, int order, int lanes>
__global__ void __launch_bounds__(rows_threads) inverse_in_columns(LuArguments<T> p) {
    constexpr int slots = (order + lanes - 1) / lanes;
    const WarpTile<T, order, order, lanes> tile(p.a.extent[0]);
    const auto& at = tile.at;
    tile.template load<order, order>(p.a);
    tile.wait();
    T columns[slots][order];
    load_columns<order, 0>(columns, tile);
    int info = 0;
    int rows[order];
    invert_in_columns<lanes>(columns, at.lane, info, rows);
    for_each_column_entry<lanes, order>(columns, at.lane, [&](int row, int column, T value) {
        tile.row(row)[exchanged_column(rows, column)] = info == 0 ? value : T(RealOf<T>(0));
    });
    tile.template store<order, order>(p.inverse);
    if (at.exists() && at.lane == 0) p.info(at.problem()) = info;
}

}  // namespace aperture::dense
