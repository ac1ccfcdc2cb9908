// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/dense/batch_runner.hpp"

/// Accuracy checks of orthogonal factors, problem by problem, by the ratios of LAPACK's test
/// programs. T: the scalar type of the problem.
namespace aperture::dense::oracle {

/// Matrices of m x n, m >= n: well and ill conditioned, dependent, badly scaled, not finite. `info`
/// is what `least_squares` reports.
template <Scalar T>
std::vector<ZooMatrix> tall_zoo(int m, int n, unsigned seed);

/// QRT01: ||A - Q R|| / (m ||A|| eps) and ||I - Q^H Q|| / (m eps); a real diagonal of R.
template <Scalar T>
void check_qr_factors(const Matrix& a, const Matrix& qr, const Matrix& q);

/// The first n rows of Q^H c are those of the explicit Q, ||Q^H c|| is ||c||, and Q turns it back.
template <Scalar T>
void check_applied_q(const Matrix& q, const Matrix& c, const Matrix& turned, const Matrix& back);

/// QRT17: ||A^H (b - A x)|| / (||A|| ||b|| m eps), of matrices of full rank up to their condition.
template <Scalar T>
void check_least_squares_solution(const ZooMatrix& entry, const Matrix& x, const Matrix& b,
                                  int info);

}  // namespace aperture::dense::oracle
