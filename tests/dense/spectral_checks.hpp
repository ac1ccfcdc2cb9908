// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/dense/batch_runner.hpp"

/// Matrices whose spectra are known or difficult, and accuracy checks of their decompositions,
/// problem by problem, by the ratios of LAPACK's test programs. T: the scalar type of the problem.
namespace aperture::dense::oracle {

/// Hermitian matrices of order n: known spectra up to condition 1/eps, repeated, indefinite,
/// dependent, badly scaled, diagonal, zero, not finite. `info` is what `eigen_hermitian` reports.
template <Scalar T>
std::vector<ZooMatrix> hermitian_zoo(int n, unsigned seed);

/// DST21: ||A V - V diag(values)|| / (n ||A|| eps) and ||V^H V - I|| / (n eps); ascending values as
/// those of Eigen in double precision.
template <Scalar T>
void check_eigen(const Matrix& a, const Matrix& values, const Matrix& v);

/// DBD01: ||A - U diag(values) V^H|| / (m ||A|| eps), ||U^H U - I|| / (m eps) and the same of V;
/// descending values, none negative, as those of Eigen in double precision.
template <Scalar T>
void check_svd(const Matrix& a, const Matrix& u, const Matrix& values, const Matrix& v);

}  // namespace aperture::dense::oracle
