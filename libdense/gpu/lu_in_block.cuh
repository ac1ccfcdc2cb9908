// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/block_tiles.cuh"
#include "libdense/gpu/block_workspace.cuh"
#include "libdense/gpu/factor_arguments.cuh"

namespace aperture::dense {

/// Eliminates a general matrix and computes what the operands ask for.
///
/// Block: one problem after another, its factors in shared memory or where BlockWorkspace says.
/// With `tiles` > 0, side x side threads eliminate a matrix of order up to side * tiles in
/// registers (block_tiles.cuh). Warp: one right-hand side or column of the inverse at a time, in
/// registers. Grid: any number of blocks on x. Shared: [n] int, tiles_lines(side * tiles) and, if
/// the matrix is there, [n][n | 1] of T. Bytes per problem: sizeof(T) times the entries of the
/// operands. Flops per problem (times 4 if complex): 2/3 n^3 (Gauss-Jordan n^3) and 2 n^2 per
/// right-hand side.
///
/// With 8 x 8 threads and fp32, room for a fifth block on a multiprocessor costs 20 bytes of spills
/// and is 1.4 times as fast (order 64, H100).
template <class T, int side, int tiles>
__global__ void __launch_bounds__(side* side, side == 8 && sizeof(T) == 4 ? 5 : 1)
    lu_in_block(LuArguments<T> p, BlockWorkspace<T> workspace) {
    const auto n = static_cast<int>(p.a.extent[1]);
    int* rows = core::shared<int>();
    T* lines = reinterpret_cast<T*>(core::shared<unsigned char>() + index_bytes(n));
    T* tile = lines + tiles_lines(side * tiles);
    const int warps = core::block_threads() / core::warp_size;
    APERTURE_NO_UNROLL
    for (index_t problem = blockIdx.x; problem < p.a.extent[0]; problem += gridDim.x) {
        const BlockMatrix<T> a = workspace.matrix(tile, p.lu, problem, n, n);
        __syncthreads();
        int info = 0;
        if constexpr (tiles > 0) {
            info = eliminate_in_tiles<side, tiles, T>(p.elimination, n, matrix_of(p.a, problem), a,
                                                      rows, lines);
            __syncthreads();
        } else {
            copy_matrix(n, n, matrix_of(p.a, problem), a);
            __syncthreads();
            info = p.elimination == GeneralElimination::gauss_jordan
                       ? eliminate_in_block(n, a)
                       : factor_lu_in_block(p.elimination == GeneralElimination::pivoted_lu, n, a,
                                            rows);
        }
        const BlockMatrix<const T> factors = a;
        if (!p.lu.empty() && workspace.place != MatrixPlace::output) {
            copy_matrix(n, n, factors, matrix_of(p.lu, problem));
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
                    product = product * factors(k, k);
                    if (rows[k] != k) product = -product;
                }
                p.determinant(problem) = product;
            }
        }
        const auto solve = [&](WarpVector<T, order_slots>& x) {
            if (p.elimination == GeneralElimination::gauss_jordan) {
                solve_eliminated_in_warp(n, factors, x);
            } else {
                solve_lu_in_warp(n, factors, rows, x);
            }
            x.for_each(0, n, [&](int, T& entry) {
                if (info != 0) entry = T(RealOf<T>(0));
            });
        };
        WarpVector<T, order_slots> x;
        for (index_t r = core::warp_rank(); r < p.x.extent[1]; r += warps) {
            x.for_each(0, n, [&](int i, T& entry) { entry = p.x(problem, r, i); });
            solve(x);
            x.for_each(0, n, [&](int i, T& entry) { p.x(problem, r, i) = entry; });
        }
        for (int c = core::warp_rank(); c < (p.inverse.empty() ? 0 : n); c += warps) {
            x.for_each(0, n, [&](int i, T& entry) { entry = T(RealOf<T>(i == c ? 1 : 0)); });
            solve(x);
            x.for_each(0, n, [&](int i, T& entry) { p.inverse(problem, i, c) = entry; });
        }
    }
}

/// Operands of `substitute_in_block`.
template <class T>
struct SubstituteArguments {
    KernelView<const T, 3> factor;
    KernelView<const int, 2> pivots;  ///< of LU factors; may be empty
    KernelView<T, 3> x;               ///< [problem][right-hand side][n], solved in place
    bool cholesky;
};

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
            const auto divide = [&](int k, T entry) {
                return entry * (RealOf<T>(1) / core::real_part(factor(k, k)));
            };
            substitute_lower(n, factor, divide, x);
            substitute_upper(
                n, factor.transposed(), divide, [](T entry) { return core::conj(entry); }, x);
        } else {
            solve_lu_in_warp(n, factor, rows, x);
        }
        x.for_each(0, n, [&](int i, T& entry) { p.x(problem, r, i) = entry; });
    }
}

/// A = G G^H, right-looking, of the lower triangle.
///
/// Block: one problem after another, as in `lu_in_block`. Grid: any number of blocks on x. Shared:
/// the matrix [n][n | 1] of T. Bytes per problem: sizeof(T) (n (n + 1) / 2 + n^2). Flops per
/// problem: n^3 / 3 (times 4 if complex).
template <class T>
__global__ void __launch_bounds__(block_solver_threads)
    cholesky_in_block(CholeskyArguments<T> p, BlockWorkspace<T> workspace) {
    using R = RealOf<T>;
    const auto n = static_cast<int>(p.a.extent[1]);
    const int thread = core::thread_rank();
    const int threads = core::block_threads();
    APERTURE_NO_UNROLL
    for (index_t problem = blockIdx.x; problem < p.a.extent[0]; problem += gridDim.x) {
        const BlockMatrix<T> g = workspace.matrix(core::shared<T>(), p.g, problem, n, n);
        const BlockMatrix<const T> a = matrix_of(p.a, problem);
        __syncthreads();
        for_each_entry_of(0, n, 0, n, [&](int i, int j) { g(i, j) = j <= i ? a(i, j) : T(R(0)); });
        __syncthreads();
        int info = 0;
        APERTURE_NO_UNROLL
        for (int k = 0; k < n; ++k) {
            R pivot = core::real_part(g(k, k));
            if (!(pivot > R(0)) || pivot > largest_finite<R>) {
                if (info == 0) info = k + 1;
                pivot = R(1);
            }
            const R root = sqrt(pivot);
            const R scale = R(1) / root;
            for (int i = k + 1 + thread; i < n; i += threads) g(i, k) = g(i, k) * scale;
            __syncthreads();
            if (thread == 0) g(k, k) = T(root);
            for_each_entry_of(k + 1, n, k + 1, n, [&](int i, int j) {
                if (j <= i) g(i, j) = core::multiply_add(g(i, j), -g(i, k), core::conj(g(j, k)));
            });
            __syncthreads();
        }
        if (workspace.place != MatrixPlace::output) {
            copy_matrix(n, n, BlockMatrix<const T>(g), matrix_of(p.g, problem));
        }
        if (thread == 0) p.info(problem) = info;
    }
}

}  // namespace aperture::dense
