// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch.hpp"

/// Eigenvalues, singular values and their vectors of small matrices, one for each problem b of a
/// batch (batch.hpp).
///
/// Errors are some eps ||A_b||, whatever the condition. Outputs may be the views of inputs of the
/// same extents; otherwise inputs are not changed and must not overlap outputs. `info` [problem] is
/// 0, or 1 where an entry is not finite or iterations do not converge; all results of such a
/// problem are zero.
namespace aperture::dense {

/// Of square matrices, and of the columns of rectangular ones, which have up to max_rows rows.
inline constexpr int max_spectral_order = 64;
/// Sweeps of Jacobi's method over all pairs of columns. Order 64 takes some 10.
inline constexpr int most_sweeps = 30;

/// A_b = V_b diag(values_b) V_b^H of Hermitian matrices of n x n. Only their lower triangles are
/// read, and the real parts of their diagonals. `values`, [problem][n], ascend; `vectors` has the
/// eigenvectors in its columns, or extents of zero if they are not wanted. Source: Golub & Van Loan
/// 2013, alg. 8.5.3 on CPUs, algs. 8.3.1 and 8.3.3 on GPUs.
template <Scalar T>
void eigen_hermitian(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                     VectorBatch<Real<T>, core::Host> values, MatrixBatch<T, core::Host> vectors,
                     core::View<int, 1, core::Host> info);

/// A_b = U_b diag(values_b) V_b^H of matrices of m x n, m >= n. `values`, [problem][n], descend;
/// `u` is m x n and `v` n x n. Columns of both are orthonormal, also those of values that are zero.
/// Source: Hestenes 1958; Golub & Van Loan 2013, section 8.6.3.
template <Scalar T>
void svd(core::Cpu& cpu, MatrixBatch<const T, core::Host> a, MatrixBatch<T, core::Host> u,
         VectorBatch<Real<T>, core::Host> values, MatrixBatch<T, core::Host> v,
         core::View<int, 1, core::Host> info);

#if APERTURE_CUDA
template <Scalar T>
void eigen_hermitian(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                     VectorBatch<Real<T>, core::Device> values,
                     MatrixBatch<T, core::Device> vectors, core::View<int, 1, core::Device> info);
template <Scalar T>
void svd(core::Gpu& gpu, MatrixBatch<const T, core::Device> a, MatrixBatch<T, core::Device> u,
         VectorBatch<Real<T>, core::Device> values, MatrixBatch<T, core::Device> v,
         core::View<int, 1, core::Device> info);
#endif

}  // namespace aperture::dense
