// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch.hpp"

/// Products of small matrices and vectors, one for each problem b of a batch (batch.hpp). The order
/// of every sum is fixed by the shape.
namespace aperture::dense {

/// op(A) = A, A^T or A^H.
enum class Op { none, transposed, adjoint };

/// result_b = a_b^H c_b, for vectors of any length.
template <Scalar T>
void dot(core::Cpu& cpu, VectorBatch<const T, core::Host> a, VectorBatch<const T, core::Host> c,
         core::View<T, 1, core::Host> result);

/// result_b = ||a_b||_2, for vectors of any length; without overflow or underflow on the way.
template <Scalar T>
void norm(core::Cpu& cpu, VectorBatch<const T, core::Host> a,
          core::View<Real<T>, 1, core::Host> result);

/// y_b = alpha x_b + y_b, for vectors of any length.
template <Scalar T>
void axpy(core::Cpu& cpu, T alpha, VectorBatch<const T, core::Host> x,
          VectorBatch<T, core::Host> y);

/// y_b = alpha op(A_b) x_b + beta y_b; with beta = 0 the old y is not read. Extents up to max_rows.
template <Scalar T>
void gemv(core::Cpu& cpu, Op op, T alpha, MatrixBatch<const T, core::Host> a,
          VectorBatch<const T, core::Host> x, T beta, VectorBatch<T, core::Host> y);

/// C_b = alpha op(A_b) op(B_b) + beta C_b; with beta = 0 the old C is not read. Extents up to
/// max_rows.
template <Scalar T>
void gemm(core::Cpu& cpu, Op op_a, Op op_b, T alpha, MatrixBatch<const T, core::Host> a,
          MatrixBatch<const T, core::Host> b, T beta, MatrixBatch<T, core::Host> c);

/// Hermitian rank-k update: C_b = alpha A_b A_b^H + beta C_b, with A_b of n x k (any k) and C_b of
/// n x n, n up to max_order. Writes both triangles of C as exact mirror images, with an exactly
/// real diagonal. With beta = 0 the old C is not read.
template <Scalar T>
void hermitian_rank_k(core::Cpu& cpu, Real<T> alpha, MatrixBatch<const T, core::Host> a,
                      Real<T> beta, MatrixBatch<T, core::Host> c);

#if APERTURE_CUDA
template <Scalar T>
void dot(core::Gpu& gpu, VectorBatch<const T, core::Device> a, VectorBatch<const T, core::Device> c,
         core::View<T, 1, core::Device> result);
template <Scalar T>
void norm(core::Gpu& gpu, VectorBatch<const T, core::Device> a,
          core::View<Real<T>, 1, core::Device> result);
template <Scalar T>
void axpy(core::Gpu& gpu, T alpha, VectorBatch<const T, core::Device> x,
          VectorBatch<T, core::Device> y);
template <Scalar T>
void gemv(core::Gpu& gpu, Op op, T alpha, MatrixBatch<const T, core::Device> a,
          VectorBatch<const T, core::Device> x, T beta, VectorBatch<T, core::Device> y);
template <Scalar T>
void gemm(core::Gpu& gpu, Op op_a, Op op_b, T alpha, MatrixBatch<const T, core::Device> a,
          MatrixBatch<const T, core::Device> b, T beta, MatrixBatch<T, core::Device> c);
template <Scalar T>
void hermitian_rank_k(core::Gpu& gpu, Real<T> alpha, MatrixBatch<const T, core::Device> a,
                      Real<T> beta, MatrixBatch<T, core::Device> c);
#endif

}  // namespace aperture::dense
