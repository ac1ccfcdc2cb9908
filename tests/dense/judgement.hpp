// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "aperture/dense/batch.hpp"
#include "tests/dense/matrix_zoo.hpp"

/// What a batched solver or rank-k update may give, one problem at a time; T is its scalar type.
namespace aperture::dense::oracle {

/// LAPACK's threshold for all ratios.
inline constexpr double ratio_limit = 30;

/// Cholesky is backward stable: CPOT02 whatever the condition. Gauss-Jordan elimination of a
/// definite matrix has a residual up to sqrt(condition) larger and is forward stable (Higham
/// 2002, section 14.4): CPOT02 relaxed by that factor. CGET04 for both, where a condition is
/// known and rounding A has not changed it.
template <Scalar T>
void judge_solution(const ZooMatrix& entry, Factorisation factorisation, const Matrix& x,
                    const Matrix& b, const Matrix& exact, int info, Real<T> pivot_ratio);

/// `value` = alpha A A^H + beta C with C the matrix `old`: exactly Hermitian, each entry within the
/// rounding of its terms, and at depth 64 without C to 130 dB in single precision.
template <Scalar T>
void judge_rank_k_sum(double alpha, const Matrix& a, double beta, const Matrix& old,
                      const Matrix& value);

}  // namespace aperture::dense::oracle
