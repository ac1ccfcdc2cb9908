// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The batched functions on a Gpu but those of batch_rank_k.cu and batch_spectral.cu, instantiated
// in one source file per scalar type: the kernels take long to compile.

#include "libdense/batch_instances.hpp"
#include "libdense/gpu/batch_blas.cuh"
#include "libdense/gpu/batch_factor.cuh"
#include "libdense/gpu/change_layout.cuh"
#include "libdense/gpu/solve.cuh"

namespace aperture::dense {

template <Scalar T>
void dot(core::Gpu& gpu, VectorBatch<const T, core::Device> a, VectorBatch<const T, core::Device> c,
         core::View<T, 1, core::Device> result) {
    launch_dot(gpu, a, c, result);
}

template <Scalar T>
void norm(core::Gpu& gpu, VectorBatch<const T, core::Device> a,
          core::View<Real<T>, 1, core::Device> result) {
    launch_norm(gpu, a, result);
}

template <Scalar T>
void axpy(core::Gpu& gpu, T alpha, VectorBatch<const T, core::Device> x,
          VectorBatch<T, core::Device> y) {
    launch_axpy(gpu, alpha, x, y);
}

template <Scalar T>
void gemv(core::Gpu& gpu, Op op, T alpha, MatrixBatch<const T, core::Device> a,
          VectorBatch<const T, core::Device> x, T beta, VectorBatch<T, core::Device> y) {
    launch_gemv(gpu, op, alpha, a, x, beta, y);
}

template <Scalar T>
void gemm(core::Gpu& gpu, Op op_a, Op op_b, T alpha, MatrixBatch<const T, core::Device> a,
          MatrixBatch<const T, core::Device> b, T beta, MatrixBatch<T, core::Device> c) {
    launch_gemm(gpu, op_a, op_b, alpha, a, b, beta, c);
}

template <Scalar T>
void solve(core::Gpu& gpu, Factorisation factorisation, MatrixBatch<const T, core::Device> a,
           MatrixBatch<T, core::Device> x, core::View<int, 1, core::Device> info,
           core::View<Real<T>, 1, core::Device> pivot_ratio) {
    launch_solve(gpu, factorisation, a, x, info, pivot_ratio);
}

template <Scalar T>
void factor_cholesky(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                     MatrixBatch<T, core::Device> g, core::View<int, 1, core::Device> info) {
    launch_factor_cholesky(gpu, a, g, info);
}

template <Scalar T>
void substitute_cholesky(core::Gpu& gpu, MatrixBatch<const T, core::Device> g,
                         MatrixBatch<T, core::Device> x) {
    launch_substitute_cholesky(gpu, g, x);
}

template <Scalar T>
void factor_lu(core::Gpu& gpu, Pivoting pivoting, MatrixBatch<const T, core::Device> a,
               MatrixBatch<T, core::Device> lu, core::View<int, 2, core::Device> pivots,
               core::View<int, 1, core::Device> info) {
    launch_factor_lu(gpu, pivoting, a, lu, pivots, info);
}

template <Scalar T>
void substitute_lu(core::Gpu& gpu, MatrixBatch<const T, core::Device> lu,
                   core::View<const int, 2, core::Device> pivots, MatrixBatch<T, core::Device> x) {
    launch_substitute_lu(gpu, lu, pivots, x);
}

template <Scalar T>
void solve_lu(core::Gpu& gpu, Pivoting pivoting, MatrixBatch<const T, core::Device> a,
              MatrixBatch<T, core::Device> x, core::View<int, 1, core::Device> info) {
    launch_solve_lu(gpu, pivoting, a, x, info);
}

template <Scalar T>
void solve_gauss_jordan(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                        MatrixBatch<T, core::Device> x, core::View<int, 1, core::Device> info) {
    launch_solve_gauss_jordan(gpu, a, x, info);
}

template <Scalar T>
void invert(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
            MatrixBatch<T, core::Device> inverse, core::View<int, 1, core::Device> info) {
    launch_invert(gpu, a, inverse, info);
}

template <Scalar T>
void determinant(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                 core::View<T, 1, core::Device> result) {
    launch_determinant(gpu, a, result);
}

template <Scalar T>
void factor_qr(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
               MatrixBatch<T, core::Device> qr, VectorBatch<T, core::Device> tau) {
    launch_factor_qr(gpu, a, qr, tau);
}

template <Scalar T>
void apply_q(core::Gpu& gpu, bool adjoint, MatrixBatch<const T, core::Device> qr,
             VectorBatch<const T, core::Device> tau, MatrixBatch<T, core::Device> c) {
    launch_apply_q(gpu, adjoint, qr, tau, c);
}

template <Scalar T>
void form_q(core::Gpu& gpu, MatrixBatch<const T, core::Device> qr,
            VectorBatch<const T, core::Device> tau, MatrixBatch<T, core::Device> q) {
    launch_form_q(gpu, qr, tau, q);
}

template <Scalar T>
void least_squares(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                   MatrixBatch<const T, core::Device> b, MatrixBatch<T, core::Device> x,
                   core::View<int, 1, core::Device> info) {
    launch_least_squares(gpu, a, b, x, info);
}

template <Scalar T>
void change_layout(core::Gpu& gpu, MatrixBatch<const T, core::Device> from,
                   MatrixBatch<T, core::Device> to) {
    launch_change_layout(gpu, from, to);
}

}  // namespace aperture::dense

#define APERTURE_BATCH(T)                \
    namespace aperture::dense {          \
    APERTURE_BLAS(core::Gpu, T)          \
    APERTURE_SOLVE(core::Gpu, T)         \
    APERTURE_CHOLESKY(core::Gpu, T)      \
    APERTURE_LU(core::Gpu, T)            \
    APERTURE_QR(core::Gpu, T)            \
    APERTURE_CHANGE_LAYOUT(core::Gpu, T) \
    }
