// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libdense/gpu/block_workspace.cuh"
#include "libdense/gpu/factor_arguments.cuh"
#include "libdense/gpu/reflector.cuh"
#include "libdense/gpu/warp_vector.cuh"

namespace aperture::dense {

/// A = Q R in place, reflectors below R; `tau` [n] and `sums`, one value a warp, in shared memory.
/// All threads of the block must call, after a barrier; they must wait before they use the factors.
template <class T>
__device__ void factor_qr_in_block(int m, int n, BlockMatrix<T> a, T* tau, RealOf<T>* sums) {
    using R = RealOf<T>;
    const int thread = core::thread_rank();
    const int threads = core::block_threads();
    const int warps = threads / core::warp_size;
    APERTURE_NO_UNROLL
    for (int k = 0; k < n; ++k) {
        R below = R(0);
        for (int i = k + 1 + thread; i < m; i += threads) below = core::add_norm(below, a(i, k));
        const T alpha = a(k, k);
        const Reflector<T> reflector = make_reflector(alpha, core::block_reduce(below, sums));
        for (int i = k + 1 + thread; i < m; i += threads) a(i, k) = a(i, k) * reflector.factor;
        if (thread == 0) {
            a(k, k) = T(reflector.beta);
            tau[k] = reflector.tau;
        }
        __syncthreads();
        const T one = T(R(1));
        for (int j = k + 1 + core::warp_rank(); j < n; j += warps) {
            T sum = T(R(0));
            for (int i = k + core::lane_rank(); i < m; i += core::warp_size) {
                sum = core::multiply_add_conj(sum, a(i, j), i == k ? one : a(i, k));
            }
            sum = core::warp_reduce(sum) * core::conj(reflector.tau);
            for (int i = k + core::lane_rank(); i < m; i += core::warp_size) {
                a(i, j) = core::multiply_add(a(i, j), -sum, i == k ? one : a(i, k));
            }
        }
        __syncthreads();
    }
}

/// Bytes of shared memory before the matrix: tau [n] of T and a sum of each warp.
template <class T>
APERTURE_HD constexpr int qr_vector_bytes(int n) {
    return (n + block_solver_threads / 32) * static_cast<int>(sizeof(T)) + 16;
}

/// QR factors, and least squares by them.
///
/// Block: one problem after another, its matrix in shared memory or where BlockWorkspace says.
/// Warp: a column of the matrix, or a right-hand side in registers. Grid: any number of blocks on
/// x. Shared: [n] T, a real number for each warp, and the matrix [m][n | 1] of T.
/// Bytes per problem: sizeof(T) times the entries of the operands. Flops per problem (times 4 if
/// complex): 2 m n^2 - 2/3 n^3, and 4 m n - 2 n^2 + n^2 per right-hand side.
template <class T>
__global__ void __launch_bounds__(block_solver_threads)
    qr_in_block(QrArguments<T> p, BlockWorkspace<T> workspace) {
    using R = RealOf<T>;
    const auto m = static_cast<int>(p.a.extent[1]);
    const auto n = static_cast<int>(p.a.extent[2]);
    const int thread = core::thread_rank();
    const int threads = core::block_threads();
    const int warps = threads / core::warp_size;
    T* tau = core::shared<T>();
    R* sums = reinterpret_cast<R*>(tau + n);
    T* tile = reinterpret_cast<T*>(core::shared<unsigned char>() + qr_vector_bytes<T>(n) / 16 * 16);
    APERTURE_NO_UNROLL
    for (index_t problem = blockIdx.x; problem < p.a.extent[0]; problem += gridDim.x) {
        const BlockMatrix<T> qr = workspace.matrix(tile, p.qr, problem, m, n);
        const BlockMatrix<const T> a = matrix_of(p.a, problem);
        __syncthreads();
        R largest = R(0);
        for_each_entry_of(0, m, 0, n, [&](int i, int j) {
            const T entry = a(i, j);
            qr(i, j) = entry;
            largest = core::Maximum()(largest, magnitude(entry));
        });
        const R scale = safe_scale(core::block_reduce(largest, sums, core::Maximum()));
        __syncthreads();
        if (scale != R(1)) {
            for_each_entry_of(0, m, 0, n, [&](int i, int j) { qr(i, j) = qr(i, j) * scale; });
            __syncthreads();
        }
        factor_qr_in_block(m, n, qr, tau, sums);
        const BlockMatrix<const T> factors = qr;
        if (!p.info.empty()) {
            int info = 0;
            for (int k = n - 1; k >= 0; --k) {
                if (!usable(core::real_part(factors(k, k)))) info = k + 1;
            }
            for (index_t r = core::warp_rank(); r < p.x.extent[1]; r += warps) {
                WarpVector<T, row_slots> x;
                x.for_each(0, m, [&](int i, T& entry) { entry = p.b(problem, r, i); });
                for (int k = 0; k < n; ++k) reflect(m, k, factors, core::conj(tau[k]), x);
                substitute_upper(
                    n, factors,
                    [&](int k, T entry) { return entry * (R(1) / core::real_part(factors(k, k))); },
                    [](T entry) { return entry; }, x);
                x.for_each(0, n, [&](int i, T& entry) {
                    p.x(problem, r, i) = info == 0 ? entry * scale : T(R(0));
                });
            }
            if (thread == 0) p.info(problem) = info;
            continue;
        }
        const R back = R(1) / scale;
        for_each_entry_of(0, m, 0, n, [&](int i, int j) {
            p.qr(problem, i, j) = j >= i && scale != R(1) ? factors(i, j) * back : factors(i, j);
        });
        for (int k = thread; k < n; k += threads) p.tau(problem, k) = tau[k];
    }
}

/// Operands of `apply_q_in_block`.
template <class T>
struct ApplyQArguments {
    KernelView<const T, 3> qr;
    KernelView<const T, 2> tau;
    KernelView<T, 3> c;  ///< [problem][vector][m]
    bool adjoint;
    bool form;  ///< vectors start as unit vectors
};

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
    for (index_t r = core::warp_rank(); r < p.c.extent[1]; r += warps) {
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
        x.for_each(0, m, [&](int i, T& entry) { p.c(problem, r, i) = entry; });
    }
}

}  // namespace aperture::dense
