// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/block_jordan.cuh"
#include "libdense/gpu/block_left_looking.cuh"
#include "libdense/gpu/block_lu.cuh"
#include "libdense/gpu/block_right_looking.cuh"
#include "libdense/gpu/factor_arguments.cuh"

namespace aperture::dense {

/// Bytes of shared memory before the matrix: RowExchanges, and for Gauss-Jordan elimination a
/// JordanPanel and its rows [panel_width][n].
template <class T>
APERTURE_HD constexpr int elimination_bytes(bool jordan, int n) {
    constexpr int size = static_cast<int>(sizeof(T));
    const int panel =
        panel_width<T> * (2 * n * size + static_cast<int>(sizeof(PivotReciprocal<T>)));
    return RowExchanges<T>::bytes(n) + (jordan ? (panel + 15) / 16 * 16 : 0);
}

/// How a block eliminates a matrix.
enum class BlockElimination { looks_left, looks_right, jordan };

/// Eliminates a general matrix of order up to 32 slots, by LU or by Gauss-Jordan elimination, and
/// computes what the operands ask for; an inverse by the latter.
///
/// Block: one problem after another, its factors in shared or scratch memory
/// (block_left_looking.cuh, block_right_looking.cuh, block_jordan.cuh). Warp: one right-hand side
/// at a time, in registers. Grid: any number of blocks on x. Shared: elimination_bytes and, of rows
/// that are there, [row][panel_row_stride] of T. Bytes per problem: sizeof(T) times the entries of
/// the operands. Flops per problem (times 4 if complex): 2/3 n^3 (Gauss-Jordan n^3, inverse 2 n^3)
/// and 2 n^2 per right-hand side.
template <class T, int slots, MatrixPlace place, BlockElimination how>
__global__ void __launch_bounds__(block_solver_bounds(sizeof(T) == 4 &&
                                                      how == BlockElimination::looks_left))
    lu_in_block(LuArguments<T> p, BlockScratch<T> scratch) {
    constexpr bool jordan = how == BlockElimination::jordan;
    const auto n = static_cast<int>(p.a.extent[1]);
    const bool invert = jordan && !p.inverse.empty();
    const RowExchanges<T> exchanges(core::shared<T>(), n);
    const int* const rows = exchanges.rows;
    const int* const order = exchanges.order;
    unsigned char* const behind = core::shared<unsigned char>();
    T* factors = reinterpret_cast<T*>(behind + RowExchanges<T>::bytes(n));
    T* tile = reinterpret_cast<T*>(behind + elimination_bytes<T>(jordan, n));
    const auto a = block_matrix<place>(WholeRows<T>{panel_row_stride<T>(n)}, tile, scratch);
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (index_t problem = blockIdx.x; problem < p.a.extent[0]; problem += gridDim.x) {
        __syncthreads();
        load_matrix<T>(n, n, false, matrix_of(p.a, problem), a);
        __syncthreads();
        if constexpr (jordan) {
            T* const pivot_rows = factors + panel_width<T> * n;
            const JordanPanel<T> panel{
                n, factors, reinterpret_cast<PivotReciprocal<T>*>(pivot_rows + panel_width<T> * n)};
            if (invert) {
                eliminate_in_block<slots, true>(a, panel, exchanges, pivot_rows);
            } else {
                eliminate_in_block<slots, false>(a, panel, exchanges, pivot_rows);
            }
        } else {
            const bool exchange = p.elimination == GeneralElimination::pivoted_lu;
            if constexpr (how == BlockElimination::looks_left) {
                factor_lu_looking_left<slots>(exchange, n, a, exchanges);
            } else {
                factor_lu_looking_right<slots>(exchange, n, a, exchanges);
            }
        }
        __syncthreads();
        const int info = rows[n];
        if (!p.lu.empty()) {
            store_matrix(n, n, a, matrix_of(p.lu, problem),
                         [](int, int, T entry) { return entry; });
        }
        if (!p.pivots.empty()) {
            for (int k = core::thread_rank(); k < n; k += core::block_threads()) {
                p.pivots(problem, k) = rows[k];
            }
        }
        if (core::thread_rank() == 0) {
            if (!p.info.empty()) p.info(problem) = info;
            if (!p.determinant.empty()) {
                T product = T(RealOf<T>(1));
                for (int k = 0; k < n; ++k) {
                    product = product * a(k, k);
                    if (rows[k] != k) product = -product;
                }
                p.determinant(problem) = product;
            }
        }
        for (index_t r = core::warp_rank(); r < p.x.extent[1]; r += warps) {
            WarpVector<T, slots> x;
            x.for_each(0, n, [&](int i, T& entry) { entry = p.x(problem, r, order[i]); });
            if constexpr (jordan) {
                substitute<Cleared::below_and_above, false>(n, a, x);
            } else {
                substitute<Cleared::below, true>(n, a, x);
                substitute_upper(n, a, x);
            }
            x.for_each(0, n, [&](int i, T& entry) {
                p.x(problem, r, i) = info == 0 ? entry : T(RealOf<T>(0));
            });
        }
        if (invert) {
            copy_entries(
                n, n, p.inverse.stride[1] == 1, [](int, int) { return true; },
                [&](int i, int j) { return info == 0 ? a(i, j) : T(RealOf<T>(0)); },
                [&](int i, int j, T value) { p.inverse(problem, i, order[j]) = value; });
        }
    }
}

/// Solves with LU or Cholesky factors.
///
/// Block: one problem. Warp: one right-hand side at a time. Grid: problems on x. Shared: [n] int.
template <class T>
__global__ void __launch_bounds__(block_solver_threads)
    substitute_in_block(SubstituteArguments<T> p) {
    const auto n = static_cast<int>(p.factor.extent[1]);
    const index_t problem = blockIdx.x;
    int* rows = core::shared<int>();
    for (int k = core::thread_rank(); k < n; k += core::block_threads()) {
        int row = k;
        if (!p.pivots.empty()) {
            row = p.pivots(problem, k);
            // A wrong row must not lead out of the matrix.
            row = row < 0 ? 0 : row < n ? row : n - 1;
        }
        rows[k] = row;
    }
    __syncthreads();
    const BlockMatrix<const T> factor = matrix_of(p.factor, problem);
    const int warps = core::block_threads() / core::warp_size;
    for (index_t r = core::warp_rank(); r < p.x.extent[1]; r += warps) {
        WarpVector<T, order_slots> x;
        x.for_each(0, n, [&](int i, T& entry) { entry = p.x(problem, r, i); });
        if (p.cholesky) {
            solve_cholesky_in_warp(n, factor, x);
        } else {
            solve_lu_in_warp(n, factor, rows, x);
        }
        x.for_each(0, n, [&](int i, T& entry) { p.x(problem, r, i) = entry; });
    }
}

/// Bytes of shared memory before the matrix of `cholesky_in_block`.
inline constexpr int cholesky_bytes = 32;

/// A = G G^H, of the lower triangle, of order up to 32 slots, and solutions by it.
///
/// Block: one problem after another, as in `lu_in_block`. Warp: one right-hand side at a time, in
/// registers. Grid: any number of blocks on x. Shared: Pivots and the triangle's panels of T. Bytes
/// per problem: sizeof(T) times n (n + 1) / 2 and the entries of the outputs. Flops per problem
/// (times 4 if complex): n^3 / 3 and 2 n^2 per right-hand side.
template <class T, int slots, MatrixPlace place>
__global__ void __launch_bounds__(block_solver_bounds(sizeof(T) <= 8))
    cholesky_in_block(CholeskyArguments<T> p, BlockScratch<T> scratch) {
    const T zero = T(RealOf<T>(0));
    const auto n = static_cast<int>(p.a.extent[1]);
    auto* const pivots = core::shared<Pivots<RealOf<T>>>();
    static_assert(sizeof(Pivots<RealOf<T>>) <= cholesky_bytes);
    T* tile = reinterpret_cast<T*>(core::shared<unsigned char>() + cholesky_bytes);
    const auto g = block_matrix<place>(TrianglePanels<T>{n}, tile, scratch);
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (index_t problem = blockIdx.x; problem < p.a.extent[0]; problem += gridDim.x) {
        __syncthreads();
        load_matrix<T>(n, n, true, matrix_of(p.a, problem), g);
        __syncthreads();
        factor_cholesky_in_block<slots, T>(n, g, pivots);
        __syncthreads();
        const int info = pivots->info;
        if (!p.g.empty()) {
            store_matrix(n, n, g, matrix_of(p.g, problem),
                         [&](int i, int j, T entry) { return j <= i ? entry : zero; });
        }
        for (index_t r = core::warp_rank(); r < p.x.extent[1]; r += warps) {
            WarpVector<T, slots> x;
            x.for_each(0, n, [&](int i, T& entry) { entry = p.x(problem, r, i); });
            solve_cholesky_in_warp(n, g, x);
            x.for_each(0, n,
                       [&](int i, T& entry) { p.x(problem, r, i) = info == 0 ? entry : zero; });
        }
        if (core::thread_rank() == 0) {
            p.info(problem) = info;
            if (!p.pivot_ratio.empty()) p.pivot_ratio(problem) = pivots->ratio();
        }
    }
}

}  // namespace aperture::dense
