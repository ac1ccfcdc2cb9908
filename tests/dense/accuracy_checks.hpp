// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "aperture/dense/batch_factor.hpp"
#include "tests/dense/batch_runner.hpp"

/// Accuracy checks of batched solvers and rank-k updates, problem by problem. T: their scalar type.
namespace aperture::dense::oracle {

/// Cholesky is backward stable: CPOT02 for every condition. Gauss-Jordan elimination of a definite
/// matrix is forward stable, with a residual up to sqrt(condition) larger (Higham 2002, section
/// 14.4): CPOT02 relaxed by that factor. CGET04 for both, if the condition is known and rounding A
/// has not changed it.
template <Scalar T>
void check_solution(const ZooMatrix& entry, Factorisation factorisation, const Matrix& x,
                    const Matrix& b, const Matrix& exact, int info, Real<T> pivot_ratio);

/// Expects `value` = alpha A A^H + beta `old`: exactly Hermitian, each entry within the rounding of
/// its terms, and at depth 64 with beta = 0 to 130 dB in single precision, 290 dB in double.
template <Scalar T>
void check_rank_k_sum(double alpha, const Matrix& a, double beta, const Matrix& old,
                      const Matrix& value);

}  // namespace aperture::dense::oracle
