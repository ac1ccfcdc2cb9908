// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <complex>
#include <limits>
#include <vector>

#include "aperture/dense/batch.hpp"

/// Simple double-precision versions of libdense, and the ratios of LAPACK's own solver tests. Real
/// problems are complex ones whose imaginary parts are zero.
namespace aperture::dense::oracle {

using Complex = std::complex<double>;
using Matrix = Eigen::MatrixXcd;

/// Unit roundoff.
template <Scalar T>
constexpr double eps = std::numeric_limits<Real<T>>::epsilon() / 2.0;

template <Scalar T>
T rounded(Complex value) {
    if constexpr (std::same_as<T, Real<T>>) {
        return static_cast<T>(value.real());
    } else {
        return T(static_cast<Real<T>>(value.real()), static_cast<Real<T>>(value.imag()));
    }
}

/// Every entry rounded to T.
template <Scalar T>
Matrix rounded(Matrix a);

Matrix hermitian_rank_k(double alpha, const Matrix& a, double beta, const Matrix& c);

/// The pivots of A = L D L^H up to and including the first that is not positive and finite. Reads
/// the lower triangle and the real parts of the diagonal.
std::vector<double> pivots(const Matrix& a);

/// The order of the first leading minor that is not positive; 0 if all are.
int first_bad_minor(const Matrix& a);

double one_norm(const Matrix& a);

/// Backward error as in LAPACK's CPOT02: the maximum over the right-hand sides (columns) of ||b - A
/// x|| / (n eps ||A|| ||x||) in the 1-norm; NaN if any entry is NaN.
double residual_ratio(const Matrix& a, const Matrix& x, const Matrix& b, double eps_of_type);

/// Forward error as in LAPACK's CGET04: the maximum over the columns of ||x - x*|| / (||x*||
/// condition eps) in the maximum norm.
double forward_ratio(const Matrix& x, const Matrix& exact, double condition, double eps_of_type);

/// 20 log10(||exact|| / ||value - exact||), Frobenius; infinite for equal matrices.
double snr_db(const Matrix& value, const Matrix& exact);

/// Q of A = QR, of the shape of A.
Matrix orthonormal(const Matrix& a);

/// Those of a Hermitian matrix, ascending.
Eigen::VectorXd eigenvalues(const Matrix& a);

/// 2-norm condition of a positive definite matrix, from its eigenvalues.
double condition(const Matrix& a);

}  // namespace aperture::dense::oracle
