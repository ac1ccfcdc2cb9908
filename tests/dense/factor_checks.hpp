// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/dense/batch_factor.hpp"
#include "tests/dense/batch_runner.hpp"

/// Accuracy checks of factors of general matrices, problem by problem, by the ratios of LAPACK's
/// test programs. T: the scalar type of the problem.
namespace aperture::dense::oracle {

/// General square matrices: well and ill conditioned, badly scaled, singular, not finite.
template <Scalar T>
std::vector<ZooMatrix> general_zoo(int n, unsigned seed);

/// Matrices that need no pivoting, of known condition in the maximum norm, and some that fail.
template <Scalar T>
std::vector<ZooMatrix> dominant_zoo(int n, unsigned seed);

/// POT01: ||A - G G^H|| / (n ||A|| eps); zeros above the diagonal.
template <Scalar T>
void check_cholesky_factor(const ZooMatrix& entry, const Matrix& g, int info);

/// GET01: ||P A - L U|| / (n ||A|| eps), without pivoting times the growth of the entries.
template <Scalar T>
void check_lu_factor(const ZooMatrix& entry, const Matrix& lu, const std::vector<int>& pivots,
                     int info, Pivoting pivoting);

/// GET03: ||A X - I|| / (n ||A|| ||X|| eps); zero if info is not.
template <Scalar T>
void check_inverse(const ZooMatrix& entry, const Matrix& inverse, int info);

/// Zero for a matrix with a zero row or column; else the error relative to eps times the condition,
/// where that is known.
template <Scalar T>
void check_determinant(const ZooMatrix& entry, Complex determinant);

}  // namespace aperture::dense::oracle
