// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/dense/batch.hpp"

/// Factorisations of small matrices, one for each problem b of a batch (batch.hpp), and what is
/// computed from them.
///
/// Orders are 0 to max_order. Right-hand sides and solutions are [problem][right-hand side][n], any
/// number of them: a row of x is a vector. Outputs may be the views of inputs, where both have the
/// same extents; otherwise inputs are not changed and must not overlap outputs.
///
/// `info` [problem] is 0 or counts, from 1, the first pivot that is zero or not finite (Cholesky:
/// not positive), as in LAPACK. Solutions, inverses and eigenvalues of such a problem are zero, its
/// factor is unspecified, and no other problem is affected.
namespace aperture::dense {

/// How `solve` eliminates. Both work without pivoting, for Hermitian positive definite matrices.
enum class Factorisation {
    cholesky,      ///< A = L D L^H and two triangular sweeps: backward stable
    gauss_jordan,  ///< one sweep that clears above and below the pivot: forward stable
};

/// Which rows an LU factorisation exchanges.
enum class Pivoting {
    none,  ///< for matrices that need no exchange, as diagonally dominant ones
    /// The entry of largest magnitude in the pivot's column: backward stable. Where the pivots are
    /// not returned, a Gpu may take one that is smaller by a part of 2^-13, or a NaN.
    partial,
};

/// Solves A_b X_b = B_b for Hermitian positive definite A_b.
///
/// `a` is [problem][n][n]; only its lower triangle is read. Rows of `x` hold right-hand sides on
/// entry and their solutions on return. `info` counts the order of the first leading minor that is
/// not positive (or holds a NaN or an infinity), as in LAPACK's potrf. On a Gpu a pivot whose
/// reciprocal overflows counts as not positive, too. `pivot_ratio` [problem] receives the ratio of
/// the largest to the smallest pivot of L D L^H, a lower bound of the condition number (infinity if
/// info is not 0); it may be an empty view.
///
/// A Gpu with 99 KiB of shared memory per block solves std::complex<double> up to order 108;
/// above, it throws core::UnfitDevice.
///
/// Source: Anderson 2014, ch. 4 and 6.3; Higham 2002, ch. 10 (Cholesky), ch. 14.4 (Gauss-Jordan).
template <Scalar T>
void solve(core::Cpu& cpu, Factorisation factorisation, MatrixBatch<const T, core::Host> a,
           MatrixBatch<T, core::Host> x, core::View<int, 1, core::Host> info,
           core::View<Real<T>, 1, core::Host> pivot_ratio);

/// Cholesky factors A_b = G_b G_b^H of Hermitian positive definite matrices. Reads the lower
/// triangle of `a`; writes all of `g`, zeros above the diagonal.
template <Scalar T>
void factor_cholesky(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                     MatrixBatch<T, core::Host> g, core::View<int, 1, core::Host> info);

/// Solves G_b G_b^H x = b for the rows of `x`, by factors from `factor_cholesky`.
template <Scalar T>
void substitute_cholesky(core::Cpu& cpu, MatrixBatch<const T, core::Host> g,
                         MatrixBatch<T, core::Host> x);

/// LU factors P_b A_b = L_b U_b of general matrices: L below the diagonal, without its unit
/// diagonal, and U in the rest of `lu`. `pivots` [problem][n] counts rows from 0: step k exchanged
/// rows k and pivots[k]; without pivoting it may be empty. A zero pivot stays in U, so that the
/// determinant of a singular matrix is zero. Source: Golub & Van Loan 2013, alg. 3.2.1 and 3.4.1.
template <Scalar T>
void factor_lu(core::Cpu& cpu, Pivoting pivoting, MatrixBatch<const T, core::Host> a,
               MatrixBatch<T, core::Host> lu, core::View<int, 2, core::Host> pivots,
               core::View<int, 1, core::Host> info);

/// Solves A_b x = b for the rows of `x`, by factors from `factor_lu`. A zero pivot gives infinities
/// and NaN. Empty `pivots`: without pivoting.
template <Scalar T>
void substitute_lu(core::Cpu& cpu, MatrixBatch<const T, core::Host> lu,
                   core::View<const int, 2, core::Host> pivots, MatrixBatch<T, core::Host> x);

/// Solves A_b X_b = B_b for general matrices by LU factors.
template <Scalar T>
void solve_lu(core::Cpu& cpu, Pivoting pivoting, MatrixBatch<const T, core::Host> a,
              MatrixBatch<T, core::Host> x, core::View<int, 1, core::Host> info);

/// Solves A_b X_b = B_b for general matrices by Gauss-Jordan elimination of [A | B] without
/// pivoting; a CPU eliminates below the pivots alone and substitutes back. Source: Anderson 2014,
/// ch. 4.3; Higham 2002, ch. 14.4.
template <Scalar T>
void solve_gauss_jordan(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                        MatrixBatch<T, core::Host> x, core::View<int, 1, core::Host> info);

/// The inverses of general matrices, by LU factors with partial pivoting.
template <Scalar T>
void invert(core::Cpu& cpu, MatrixBatch<const T, core::Host> a, MatrixBatch<T, core::Host> inverse,
            core::View<int, 1, core::Host> info);

/// The determinants of general matrices, by LU factors with partial pivoting. They may overflow.
template <Scalar T>
void determinant(core::Cpu& cpu, MatrixBatch<const T, core::Host> a,
                 core::View<T, 1, core::Host> result);

#if APERTURE_CUDA
template <Scalar T>
void solve(core::Gpu& gpu, Factorisation factorisation, MatrixBatch<const T, core::Device> a,
           MatrixBatch<T, core::Device> x, core::View<int, 1, core::Device> info,
           core::View<Real<T>, 1, core::Device> pivot_ratio);
template <Scalar T>
void factor_cholesky(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                     MatrixBatch<T, core::Device> g, core::View<int, 1, core::Device> info);
template <Scalar T>
void substitute_cholesky(core::Gpu& gpu, MatrixBatch<const T, core::Device> g,
                         MatrixBatch<T, core::Device> x);
template <Scalar T>
void factor_lu(core::Gpu& gpu, Pivoting pivoting, MatrixBatch<const T, core::Device> a,
               MatrixBatch<T, core::Device> lu, core::View<int, 2, core::Device> pivots,
               core::View<int, 1, core::Device> info);
template <Scalar T>
void substitute_lu(core::Gpu& gpu, MatrixBatch<const T, core::Device> lu,
                   core::View<const int, 2, core::Device> pivots, MatrixBatch<T, core::Device> x);
template <Scalar T>
void solve_lu(core::Gpu& gpu, Pivoting pivoting, MatrixBatch<const T, core::Device> a,
              MatrixBatch<T, core::Device> x, core::View<int, 1, core::Device> info);
template <Scalar T>
void solve_gauss_jordan(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                        MatrixBatch<T, core::Device> x, core::View<int, 1, core::Device> info);
template <Scalar T>
void invert(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
            MatrixBatch<T, core::Device> inverse, core::View<int, 1, core::Device> info);
template <Scalar T>
void determinant(core::Gpu& gpu, MatrixBatch<const T, core::Device> a,
                 core::View<T, 1, core::Device> result);
#endif

}  // namespace aperture::dense
