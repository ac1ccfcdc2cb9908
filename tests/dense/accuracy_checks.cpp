// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/accuracy_checks.hpp"

#include <cmath>

namespace aperture::dense::oracle {

template <Scalar T>
void check_solution(const ZooMatrix& entry, Factorisation factorisation, const Matrix& x,
                    const Matrix& b, const Matrix& exact, int info, Real<T> pivot_ratio) {
    SCOPED_TRACE(::testing::Message()
                 << entry.name
                 << (factorisation == Factorisation::cholesky ? ", Cholesky" : ", Gauss-Jordan"));
    if (entry.info >= 0) {
        EXPECT_EQ(info, entry.info);
    }
    if (info != 0) {
        EXPECT_TRUE(std::isinf(pivot_ratio));
        EXPECT_TRUE((x.array() == Complex(0)).all()) << "a failed problem's solution is not 0";
        return;
    }
    EXPECT_GE(pivot_ratio, Real<T>(1) - Real<T>(1e-5));
    if (entry.condition > 0) {
        EXPECT_LE(pivot_ratio, 2 * entry.condition);
        EXPECT_LT(forward_ratio(x, exact, entry.condition, eps<T>), ratio_limit);
    }
    const bool backward_stable = factorisation == Factorisation::cholesky;
    if (backward_stable || entry.condition > 0) {
        const double allowance = backward_stable ? 1 : std::sqrt(entry.condition);
        EXPECT_LT(residual_ratio(entry.a, x, b, eps<T>), ratio_limit * allowance);
    }
}

template <Scalar T>
void check_rank_k_sum(double alpha, const Matrix& a, double beta, const Matrix& old,
                      const Matrix& value) {
    const Matrix exact = hermitian_rank_k(alpha, a, beta, old);
    EXPECT_EQ(value, value.adjoint()) << "not exactly Hermitian";
    // Every term is rounded at most 2 depth + 4 times (Higham 2002, section 3.1).
    const Matrix sizes =
        hermitian_rank_k(std::abs(alpha), a.cwiseAbs(), std::abs(beta), old.cwiseAbs());
    const auto depth = static_cast<double>(a.cols());
    const auto bound = (2 * depth + 4) * eps<T> * sizes.real().array();
    EXPECT_TRUE(((value - exact).array().abs() <= bound).all());
    if (a.cols() == 64 && beta == 0) {
        const double decibels = std::same_as<Real<T>, float> ? 130 : 290;
        EXPECT_GE(snr_db(value, exact), decibels);
    }
}

#define APERTURE_INSTANTIATE(T)                                                                    \
    template void check_solution<T>(const ZooMatrix&, Factorisation, const Matrix&, const Matrix&, \
                                    const Matrix&, int, Real<T>);                                  \
    template void check_rank_k_sum<T>(double, const Matrix&, double, const Matrix&, const Matrix&);
APERTURE_INSTANTIATE(float)
APERTURE_INSTANTIATE(double)
APERTURE_INSTANTIATE(std::complex<float>)
APERTURE_INSTANTIATE(std::complex<double>)
#undef APERTURE_INSTANTIATE

}  // namespace aperture::dense::oracle
