// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/dense/orthogonal_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aperture/core/error.hpp"

namespace aperture::dense::oracle {
namespace {

/// `size` relative to m eps.
template <Scalar T>
double ratio(double size, Eigen::Index m) {
    return size / (double(std::max<Eigen::Index>(m, 1)) * eps<T>);
}

}  // namespace

template <Scalar T>
std::vector<ZooMatrix> tall_zoo(int m, int n, unsigned seed) {
    if (n == 0) return {{"no columns", Matrix(m, 0), 0, 0}};
    std::mt19937 generator(seed);
    std::vector<ZooMatrix> all;
    const auto with_condition = [&](double condition) {
        const Matrix q = orthonormal(random_matrix<T>(m, n, generator));
        const Matrix v = orthonormal(random_matrix<T>(n, n, generator));
        return rounded<T>(Matrix(q * geometric(n, condition).cast<Complex>().asDiagonal() * v));
    };
    for (double condition : {1.0, 1e2, std::sqrt(0.1 / eps<T>), 1 / eps<T>}) {
        const bool sure = n == 1 || condition <= 0.1 / (m * eps<T>);
        all.push_back({core::text("singular values to ", condition), with_condition(condition),
                       sure ? (n == 1 ? 1 : condition) : 0, sure ? 0 : -1});
    }
    const double middle = n == 1 ? 1 : 100;
    const Matrix good = with_condition(100);
    all.push_back({"upper triangular", good.triangularView<Eigen::Upper>(), 0, -1});
    const int range = std::numeric_limits<Real<T>>::max_exponent - 16;
    all.push_back({"near overflow", std::ldexp(1, range) * good, middle, 0});
    all.push_back({"near underflow", std::ldexp(1, -range + 24) * good, middle, 0});
    Matrix graded = good;
    for (int j = 0; j < n; ++j) graded.col(j) *= std::ldexp(1, -(5 * j) % 37);
    all.push_back({"graded columns", graded, 0, 0});
    Matrix zero_column = good;
    zero_column.col(n / 2).setZero();
    all.push_back({"zero column", zero_column, 0, n / 2 + 1});
    all.push_back({"zero", Matrix::Zero(m, n), 0, 1});
    Matrix spoiled = good;
    spoiled(m - 1, n / 2) = std::nan("");
    all.push_back({"NaN", spoiled, 0, -1});
    spoiled(m - 1, n / 2) = std::numeric_limits<double>::infinity();
    all.push_back({"infinity", spoiled, 0, -1});
    return all;
}

template <Scalar T>
void check_qr_factors(const Matrix& a, const Matrix& qr, const Matrix& q) {
    const Eigen::Index m = a.rows();
    const Eigen::Index n = a.cols();
    const Matrix r = qr.topRows(n).triangularView<Eigen::Upper>();
    for (Eigen::Index k = 0; k < n; ++k) EXPECT_EQ(r(k, k).imag(), 0);
    const double size = one_norm(a);
    EXPECT_LT(size == 0 ? one_norm(r) : ratio<T>(one_norm(a - q * r) / size, m), ratio_limit);
    EXPECT_LT(ratio<T>(one_norm(q.adjoint() * q - Matrix::Identity(n, n)), m), ratio_limit);
}

template <Scalar T>
void check_applied_q(const Matrix& q, const Matrix& c, const Matrix& turned, const Matrix& back) {
    const Eigen::Index n = q.cols();
    const double size = c.norm();
    EXPECT_LT(ratio<T>((q.adjoint() * c - turned.topRows(n)).norm() / size, c.rows()), ratio_limit);
    EXPECT_LT(ratio<T>(std::abs(turned.norm() - size) / size, c.rows()), ratio_limit);
    EXPECT_LT(ratio<T>((back - c).norm() / size, c.rows()), ratio_limit);
}

template <Scalar T>
void check_least_squares_solution(const ZooMatrix& entry, const Matrix& x, const Matrix& b,
                                  int info) {
    if (!entry.a.allFinite()) {
        EXPECT_NE(info, 0);
    } else if (entry.info >= 0) {
        EXPECT_EQ(info, entry.info);
    }
    if (info != 0) {
        EXPECT_TRUE((x.array() == Complex(0)).all());
        return;
    }
    if (!(entry.condition > 0)) return;
    const double size = one_norm(entry.a);
    const Matrix residual = b - entry.a * x;
    // The residual of a backward stable solution is wrong by the condition times eps at most.
    const double gradient = one_norm(entry.a.adjoint() * residual) / (size * one_norm(b));
    EXPECT_LT(ratio<T>(gradient, entry.a.rows()),
              ratio_limit * std::max(1.0, one_norm(x) * size / one_norm(b)));
}

#define APERTURE_INSTANTIATE(T)                                                                   \
    template std::vector<ZooMatrix> tall_zoo<T>(int, int, unsigned);                              \
    template void check_qr_factors<T>(const Matrix&, const Matrix&, const Matrix&);               \
    template void check_applied_q<T>(const Matrix&, const Matrix&, const Matrix&, const Matrix&); \
    template void check_least_squares_solution<T>(const ZooMatrix&, const Matrix&, const Matrix&, \
                                                  int);
APERTURE_INSTANTIATE(float)
APERTURE_INSTANTIATE(double)
APERTURE_INSTANTIATE(std::complex<float>)
APERTURE_INSTANTIATE(std::complex<double>)
#undef APERTURE_INSTANTIATE

}  // namespace aperture::dense::oracle
