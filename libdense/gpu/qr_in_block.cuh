// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/block_reflectors.cuh"
#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/warp_vector.cuh"

namespace aperture::dense {

/// Bytes of shared memory before the matrix: the products of a panel's reflectors, its part of R,
/// one of its columns and tau [n] of T, and a number of each warp.
template <class T>
APERTURE_HD constexpr int qr_vector_bytes(int slots, int n) {
    const int panel = 2 * panel_width<T> * panel_width<T> + reflector_column_entries<T>(slots);
    const int bytes = (panel + n) * static_cast<int>(sizeof(T));
    return (bytes + 15) / 16 * 16 + block_solver_threads / 32 * 8;
}

/// QR factors of up to 32 slots rows, and least squares by them.
///
/// Block: one problem after another, its matrix in shared or scratch memory.
/// Warp: a column of the matrix, or a right-hand side in registers. Grid: any number of blocks on
/// x. Shared: qr_vector_bytes and the matrix [m][panel_row_stride] of T.
/// Bytes per problem: sizeof(T) times the entries of the operands. Flops per problem (times 4 if
/// complex): 2 m n^2 - 2/3 n^3, and 4 m n - 2 n^2 + n^2 per right-hand side.
template <class T, int slots, MatrixPlace place>
__global__ void __launch_bounds__(block_solver_bounds(sizeof(T) * slots <= 16))
    qr_in_block(QrArguments<T> p, BlockScratch<T> scratch) {
    using R = RealOf<T>;
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    const int thread = core::thread_rank();
    const int threads = core::block_threads();
    const int warps = threads / core::warp_size;
    T* gram = core::shared<T>();
    T* triangle = gram + panel_width<T> * panel_width<T>;
    T* column = triangle + panel_width<T> * panel_width<T>;
    T* tau = column + reflector_column_entries<T>(slots);
    unsigned char* const behind = core::shared<unsigned char>() + qr_vector_bytes<T>(slots, n);
    R* sums = reinterpret_cast<R*>(behind - block_solver_threads / 32 * 8);
    T* tile = reinterpret_cast<T*>(behind);
    const auto qr = block_matrix<place>(WholeRows<T>{panel_row_stride<T>(n)}, tile, scratch);
    APERTURE_NO_UNROLL
    for (index_t problem = blockIdx.x; problem < p.a.extent[0]; problem += gridDim.x) {
        const BlockMatrix<const T> a = matrix_of(p.a, problem);
        __syncthreads();
        R largest = R(0);
        load_matrix(m, n, false, a, qr,
                    [&](T entry) { largest = core::Maximum()(largest, magnitude(entry)); });
        const R scale = safe_scale(core::block_reduce(largest, sums, core::Maximum()));
        __syncthreads();
        if (scale != R(1)) {
            for_each_entry_of(0, m, 0, n, [&](int i, int j) { qr(i, j) = qr(i, j) * scale; });
            __syncthreads();
        }
        factor_qr_in_block<slots>(m, n, qr, tau, gram, triangle, column);
        __syncthreads();
        if (!p.info.empty()) {
            int info = 0;
            for (int k = n - 1; k >= 0; --k) {
                if (!usable(core::real_part(qr(k, k)))) info = k + 1;
            }
            for (index_t r = core::warp_rank(); r < p.x.extent[1]; r += warps) {
                WarpVector<T, slots> x;
                x.for_each(0, m, [&](int i, T& entry) { entry = p.b(problem, r, i); });
                for (int k = 0; k < n; ++k) reflect(m, k, qr, core::conj(tau[k]), x);
                substitute_upper(n, qr, x);
                x.for_each(0, n, [&](int i, T& entry) {
                    p.x(problem, r, i) = info == 0 ? entry * scale : T(R(0));
                });
            }
            if (thread == 0) p.info(problem) = info;
            continue;
        }
        const R back = R(1) / scale;
        store_matrix(m, n, qr, matrix_of(p.qr, problem), [&](int i, int j, T entry) {
            return j >= i && scale != R(1) ? entry * back : entry;
        });
        for (int k = thread; k < n; k += threads) p.tau(problem, k) = tau[k];
    }
}

/// c := Q^H c or Q c, or the first columns of Q.
///
/// Block: one problem. Warp: one vector at a time, in registers. Grid: problems on x.
template <class T>
__global__ void __launch_bounds__(block_solver_threads) apply_q_in_block(ApplyQArguments<T> p) {
    const auto m = static_cast<int>(p.qr.extent[1]);
    const auto n = static_cast<int>(p.qr.extent[2]);
    const index_t problem = blockIdx.x;
    const int warps = core::block_threads() / core::warp_size;
    const BlockMatrix<const T> qr = matrix_of(p.qr, problem);
    for (index_t r = core::warp_rank(); r < p.vectors(); r += warps) {
        WarpVector<T, row_slots> x;
        x.for_each(0, m, [&](int i, T& entry) {
            entry = p.form ? T(RealOf<T>(i == r ? 1 : 0)) : p.c(problem, r, i);
        });
        APERTURE_NO_UNROLL
        for (int step = 0; step < n; ++step) {
            const int k = p.adjoint ? step : n - 1 - step;
            const T tau = p.tau(problem, k);
            reflect(m, k, qr, p.adjoint ? core::conj(tau) : tau, x);
        }
        x.for_each(0, m, [&](int i, T& entry) {
            (p.form ? p.c(problem, i, r) : p.c(problem, r, i)) = entry;
        });
    }
}

}  // namespace aperture::dense
