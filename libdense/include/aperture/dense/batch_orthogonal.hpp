// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch.hpp"

/// Orthogonal factorisations of small matrices, one for each problem b of a batch (batch.hpp): QR
/// and least squares.
///
/// Matrices are m x n with m >= n, m up to max_rows and n up to max_order. Outputs may be the views
/// of inputs, where both have the same extents; otherwise inputs are not changed and must not
/// overlap outputs. NaN and infinities stay in their problem.
namespace aperture::dense {

/// Householder QR, A_b = Q_b R_b: R on and above the diagonal of `qr`, with a real diagonal, and
/// the reflectors below it, as LAPACK's geqrf stores them: Q = H_0 H_1 ..., H_k = I - tau_k v_k
/// v_k^H. `tau` is [problem][n]. Source: Golub & Van Loan 2013, alg. 5.2.1; Anderson 2014, ch. 4.3.
template <Scalar T>
void factor_qr(core::Cpu& cpu, MatrixBatch<const T, core::Host> a, MatrixBatch<T, core::Host> qr,
               VectorBatch<T, core::Host> tau);

/// c := Q^H c, or Q c if not `adjoint`, for the rows of `c`, [problem][vector][m].
template <Scalar T>
void apply_q(core::Cpu& cpu, bool adjoint, MatrixBatch<const T, core::Host> qr,
             VectorBatch<const T, core::Host> tau, MatrixBatch<T, core::Host> c);

/// The first n columns of Q, m x n.
template <Scalar T>
void form_q(core::Cpu& cpu, MatrixBatch<const T, core::Host> qr,
            VectorBatch<const T, core::Host> tau, MatrixBatch<T, core::Host> q);

/// Minimises ||A_b x - b||_2 by QR, for matrices of full rank. `b` is [problem][right-hand
/// side][m], `x` [problem][right-hand side][n]. `info` [problem] is 0 or counts, from 1, the first
/// entry of R's diagonal that is zero or not finite; the solutions of such a problem are zero.
template <Scalar T>
void least_squares(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                   MatrixBatch<const T, core::Host> b, MatrixBatch<T, core::Host> x,
                   core::View<int, 1, core::Host> info);

#if APERTURE_CUDA
template <Scalar T>
void factor_qr(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
               MatrixBatch<T, core::Device> qr, VectorBatch<T, core::Device> tau);
template <Scalar T>
void apply_q(core::Gpu& gpu, bool adjoint, MatrixBatch<const T, core::Device> qr,
             VectorBatch<const T, core::Device> tau, MatrixBatch<T, core::Device> c);
template <Scalar T>
void form_q(core::Gpu& gpu, MatrixBatch<const T, core::Device> qr,
            VectorBatch<const T, core::Device> tau, MatrixBatch<T, core::Device> q);
template <Scalar T>
void least_squares(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                   MatrixBatch<const T, core::Device> b, MatrixBatch<T, core::Device> x,
                   core::View<int, 1, core::Device> info);
#endif

}  // namespace aperture::dense
